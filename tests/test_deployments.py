"""Each kind of deployment sends a valid template to CloudFormation, or is refused before that.

The emulator takes almost any template. Here it is translated with real sets of parameters, and
judged by cfn-lint; tests/aws judges the same sets by what AWS says and no linter looks at.
"""

import json
import os
import re
import subprocess
from fnmatch import fnmatchcase
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import cfnlint
import pytest
from cfnlint.api import lint

from proof.definition.asl import ROOT
from proof.template import TEMPLATE, of_type
from proof.translated import ACCOUNT, STACK, Translated
from tests.enrichment.topic_models import MODELS

GENESYS = "aws.partner/genesys.com/cloud/1f0e6a52-0000-4000-8000-00000000000a"
SECRET = f"arn:aws:secretsmanager:eu-central-1:{ACCOUNT}:secret:destination-AbCdEf"
KEY = f"arn:aws:kms:eu-central-1:{ACCOUNT}:key/11111111-2222-4333-8444-555555555555"
OTHER_KEY = f"arn:aws:kms:eu-central-1:{ACCOUNT}:key/99999999-2222-4333-8444-555555555555"
BOUNDARY = f"arn:aws:iam::{ACCOUNT}:policy/contact-centre/boundary"
TARGET_BUS = f"arn:aws:events:eu-central-1:{ACCOUNT}:event-bus/lake"
NO_LIMIT = {"MaxActionsPerMinute": "0"}
OWN_ACTION = f"arn:aws:lambda:eu-central-1:{ACCOUNT}:function:ours"
WEBHOOK = {
    "ActionTarget": "webhook",
    "WebhookUrl": "https://hooks.example.com/genesys",
    "DestinationSecretArn": SECRET,
}
PARTNER = {"EventSourceName": f"{GENESYS}/live"}
OWN_EVENTS = {"SourcePrefix": "contact-centre"}
ON_BUSES: dict[str, dict[str, str]] = {
    "default bus": OWN_EVENTS,
    "a bus of ours": {"EventBusName": "contact-centre"},
    "a source": PARTNER,
    "another suffix": {"EventSourceName": f"{GENESYS}/second"},
    "a source that has its bus": {"EventBusName": f"{GENESYS}/live"},
}
SETS: dict[str, dict[str, str]] = {
    **ON_BUSES,
    "webhook": WEBHOOK,
    "genesys": {
        "ActionTarget": "genesys",
        "GenesysHost": "mypurecloud.de",
        "DestinationSecretArn": SECRET,
    },
    "a bus": {"ActionTarget": "eventbridge", "TargetBusArn": TARGET_BUS},
    "a function of ours": {"ActionTarget": "webhook", "ActionFunctionArn": OWN_ACTION},
    "a limit": {**WEBHOOK, "MaxActionsPerMinute": "300", "MaxConcurrentActions": "20"},
    "a key": {**WEBHOOK, "KmsKeyArn": KEY},
    "another key": {**WEBHOOK, "KmsKeyArn": OTHER_KEY, "FormerKmsKeyArn": KEY},
    "the key removed": {**WEBHOOK, "FormerKmsKeyArn": KEY},
    "two topics": {
        "EventSourceName": f"{GENESYS}/live",
        "DetailTypes": "v2.users.{id}.presence,v2.detail.events.conversation.{id}.customer.end",
    },
    "a filter": {"EventFilter": '{"eventBody": {"mediaType": ["VOICE"]}}'},
    "a filter of two topics, and an archive": {
        "EventFilter": '{"eventBody": {"mediaType": ["VOICE"]}}',
        "DetailTypes": "v2.users.{id}.presence,v2.detail.events.conversation.{id}.customer.end",
        "ArchiveDays": "14",
    },
    "the claims of a stack before": {"ClaimTableName": "once-ClaimTable-1A2B3C"},
    "a published schema": {"PublishSchemas": "true"},
    "an archive": {"ArchiveDays": "14"},
    "an archive of a source": {
        "ArchiveDays": "3650",
        "EventSourceName": f"{GENESYS}/live",
        "DetailTypes": "v2.users.{id}.presence",
        "KmsKeyArn": KEY,
    },
    "kept long and told loudly": {
        "ClaimDays": "400",
        "LogLevel": "ERROR",
        "LogRetentionDays": "365",
        "AlarmEmail": "on-call@example.com",
    },
    "a permissions boundary": {"PermissionsBoundaryArn": BOUNDARY},
    "roles below a path": {"RolePath": "/contact-centre/genesys/"},
    "silence in shifts": {"QuietMinutes": "15", "OpeningHours": "7-4/18-1"},
    "never silent": {"QuietMinutes": "0"},
    "for little money": {
        "BatchWindowSeconds": "5",
        "ExecutionLogClass": "INFREQUENT_ACCESS",
    },
    "for trying things": {"Timing": "fast", "LogPayloads": "true", "PythonRuntime": "python3.11"},
}
DEPLOYMENTS = {name: Translated(OWN_EVENTS | parameters) for name, parameters in SETS.items()}
RULES_QUEUES = ("EventQueue", "RuleDeadLetters")

each_deployment = pytest.mark.parametrize("deployed", DEPLOYMENTS.values(), ids=DEPLOYMENTS)


def faults(deployed: Translated) -> list[str]:
    template = {"AWSTemplateFormatVersion": "2010-09-09", "Resources": deployed.resources}
    found = lint(json.dumps(template), regions=[deployed.region])
    return [f"{match.rule.id} {match.path}: {match.message}" for match in found]


@pytest.mark.thorough
@each_deployment
def test_deployed_template_passes_cfn_lint(deployed: Translated) -> None:
    assert deployed.refusals == []
    assert faults(deployed) == []


def test_deployed_template_passes_cfn_lint_in_china() -> None:
    deployed = Translated({"EventBusName": "contact-centre"}, region="cn-north-1")
    assert deployed.refusals == []
    assert faults(deployed) == []
    assert "arn:aws:" not in json.dumps(deployed.resources)


def test_a_stack_may_have_a_name_of_57_characters() -> None:
    """samconfig.toml says so; a rule's name has 64 (eventbridge API, PutRule)."""
    everything = {**WEBHOOK, "PublishSchemas": "true", "EventSourceName": f"{GENESYS}/live"}
    assert faults(Translated(everything, stack="s" * 57)) == []
    assert any("EventRule" in fault for fault in faults(Translated(everything, stack="s" * 58)))
    assert "57 characters" in (ROOT / "samconfig.toml").read_text()


# The rule and its bus.


def rule_arn(deployed: Translated, *, account: str = ACCOUNT) -> str:
    """Returns the ARN of the rule, which names no bus if that is the default one."""
    rule = deployed.resources["EventRule"]["Properties"]
    bus = rule["EventBusName"]
    if isinstance(bus, dict):
        bus = deployed.resources[bus["Ref"]]["Properties"]["Name"]
    path = rule["Name"] if bus == "default" else f"{bus}/{rule['Name']}"
    return f"arn:aws:events:{deployed.region}:{account}:rule/{path}"


def admits(deployed: Translated, queue: str, arn: str) -> bool:
    """Each of the six components by itself, with * and ?: IAM, "ARN condition operators"."""
    (statement,) = [
        statement
        for policy in deployed.of_type("AWS::SQS::QueuePolicy").values()
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Allow" and policy["Queues"] == [{"Ref": queue}]
    ]
    assert statement["Principal"] == {"Service": "events.amazonaws.com"}
    assert statement["Action"] == "sqs:SendMessage"
    patterns = statement["Condition"]["ArnLike"]["aws:SourceArn"]
    return any(
        all(map(fnmatchcase, arn.split(":", 5), pattern.split(":", 5))) for pattern in patterns
    )


@pytest.mark.parametrize("queue", RULES_QUEUES)
@pytest.mark.parametrize(("before", "after"), list(product(ON_BUSES, ON_BUSES)))
def test_while_a_stack_moves_to_another_bus_its_queues_take_what_both_rules_send(
    before: str, after: str, queue: str
) -> None:
    assert admits(DEPLOYMENTS[before], queue, rule_arn(DEPLOYMENTS[after]))


@cache
def rules_of_other_stacks() -> list[str]:
    names = (f"my-{STACK}", f"{STACK}-2", f"{STACK}-events", f"{STACK}-source", "x")
    return [rule_arn(Translated(on, stack=name)) for name in names for on in ON_BUSES.values()]


@pytest.mark.parametrize("bus", ON_BUSES)
@pytest.mark.parametrize("queue", RULES_QUEUES)
def test_no_other_stack_region_or_account_gets_into_the_queues(bus: str, queue: str) -> None:
    ours = DEPLOYMENTS[bus]
    for arn in rules_of_other_stacks():
        assert not admits(ours, queue, arn), arn
    assert not admits(ours, queue, rule_arn(Translated(SETS[bus], region="eu-west-1")))
    assert not admits(ours, queue, rule_arn(ours, account="999999999999"))


def test_only_the_rule_is_let_in_from_outside_the_account() -> None:
    allowed = {
        policy["Queues"][0]["Ref"]
        for policy in DEPLOYMENTS["a source"].of_type("AWS::SQS::QueuePolicy").values()
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Allow"
    }
    assert allowed == set(RULES_QUEUES)


@pytest.mark.parametrize(("before", "after"), list(product(ON_BUSES, ON_BUSES)))
def test_between_a_bus_of_the_stack_and_another_the_rule_changes_its_name(
    before: str, after: str
) -> None:
    """Another bus means another rule: CloudFormation replaces none that keeps its name.

    "If you specify a name, you cannot perform updates that require replacement of this resource":
    CloudFormation, AWS::Events::Rule, Name; there EventBusName is one that does.
    """
    renamed = ("EventSourceName" in SETS[before]) != ("EventSourceName" in SETS[after])
    names = [DEPLOYMENTS[n].resources["EventRule"]["Properties"]["Name"] for n in (before, after)]
    assert (names[0] != names[1]) == renamed


# The archive. eventbridge API, CreateArchive: a name of at most 48 characters, a pattern of 4,096;
# "You cannot change the source event bus once an archive is created": eventbridge, "Archiving and
# replaying events".


@each_deployment
def test_an_archive_is_kept_where_it_was_asked_for(deployed: Translated) -> None:
    archives = deployed.of_type("AWS::Events::Archive")
    assert bool(archives) == ("ArchiveDays" in deployed.parameters)
    for archive in archives.values():
        assert archive["RetentionDays"] == int(deployed.parameters["ArchiveDays"])
        assert "ArchiveName" not in archive, "else CloudFormation could not move it to another bus"


@pytest.mark.parametrize("name", ["an archive", "an archive of a source"])
def test_the_archive_keeps_what_the_rule_hands_on_and_nothing_else(name: str) -> None:
    deployed = DEPLOYMENTS[name]
    rule, archive = (deployed.resources[n]["Properties"] for n in ("EventRule", "EventArchive"))
    assert archive["EventPattern"] == rule["EventPattern"]
    bus = rule["EventBusName"]
    ours = {"Fn::GetAtt": [bus["Ref"], "Arn"]} if isinstance(bus, dict) else None
    default = f"arn:aws:events:{deployed.region}:{ACCOUNT}:event-bus/default"
    assert archive["SourceArn"] == (ours or default)


@pytest.mark.parametrize("name", ["a filter", "a filter of two topics, and an archive"])
def test_a_filter_is_in_the_rule_beside_its_topics_and_not_in_the_archive(name: str) -> None:
    """A string is taken for a rule's pattern, and refused for an archive's:
    aws-cloudformation/cloudformation-coverage-roadmap, issue 1414."""
    deployed = DEPLOYMENTS[name]
    pattern = json.loads(deployed.resources["EventRule"]["Properties"]["EventPattern"])
    assert pattern.pop("detail") == json.loads(deployed.parameters["EventFilter"])
    unfiltered = Translated(
        {one: value for one, value in deployed.parameters.items() if one != "EventFilter"}
    )
    assert pattern == unfiltered.resources["EventRule"]["Properties"]["EventPattern"]
    for archive in deployed.of_type("AWS::Events::Archive").values():
        assert archive["EventPattern"] == pattern


def test_the_archive_is_encrypted_with_the_key_of_the_stack() -> None:
    """eventbridge API, CreateArchive, KmsKeyIdentifier."""
    archive = DEPLOYMENTS["an archive of a source"].resources["EventArchive"]["Properties"]
    assert archive["KmsKeyIdentifier"] == KEY
    assert (
        "KmsKeyIdentifier" not in DEPLOYMENTS["an archive"].resources["EventArchive"]["Properties"]
    )


def test_the_longest_topics_fit_into_a_rule_as_often_as_the_description_says() -> None:
    """2,048 characters: eventbridge, "Amazon EventBridge quotas", Event pattern size."""
    said = re.search(r"any (\d+) topics fit", TEMPLATE["Parameters"]["DetailTypes"]["Description"])
    assert said
    longest_first = sorted(MODELS, key=len, reverse=True)

    def characters(topics: int) -> int:
        deployed = Translated({"DetailTypes": ",".join(longest_first[:topics])})
        pattern = deployed.resources["EventRule"]["Properties"]["EventPattern"]
        return len(json.dumps(pattern, separators=(",", ":")))

    assert characters(int(said[1])) <= 2048 < characters(int(said[1]) + 1)


# A key that is changed or removed. "The consumer must have kms:Decrypt permissions for any keys
# used to encrypt the messages": AWSSimpleQueueService, "Key management".


def keys_read(deployed: Translated, role: str) -> set[str]:
    return {
        statement["Resource"]
        for policy in deployed.resources[role]["Properties"]["Policies"]
        for statement in policy["PolicyDocument"]["Statement"]
        if "kms:Decrypt" in statement["Action"] and "Condition" not in statement
    }


@pytest.mark.parametrize("role", ["PipeRole", "StateMachineRole", "DataActionRole", "PacingRole"])
def test_readers_may_still_use_the_former_key(role: str) -> None:
    assert keys_read(DEPLOYMENTS["webhook"], role) == set()
    assert keys_read(DEPLOYMENTS["a key"], role) == {KEY}
    assert keys_read(DEPLOYMENTS["another key"], role) == {KEY, OTHER_KEY}
    assert keys_read(DEPLOYMENTS["the key removed"], role) == {KEY}


def test_nothing_is_written_under_the_key_before() -> None:
    for changed in ("another key", "the key removed"):
        resources = dict(DEPLOYMENTS[changed].resources)
        for role in DEPLOYMENTS[changed].of_type("AWS::IAM::Role"):
            granted = json.dumps(resources.pop(role))
            assert f'"kms:GenerateDataKey"], "Resource": "{KEY}"' not in granted, role
        assert KEY not in json.dumps(resources)


def test_a_secret_under_a_key_of_its_owners_can_be_read_and_nothing_else_under_that_key() -> None:
    """secretsmanager, "Secret encryption and decryption": Permissions for the KMS key, and the
    encryption context; kms, "kms:ViaService"."""
    owner = "444455556666"
    theirs = SECRET.replace(ACCOUNT, owner)
    deployed = Translated({**WEBHOOK, "DestinationSecretArn": theirs})
    (decrypt,) = [
        statement
        for policy in deployed.resources["DataActionRole"]["Properties"]["Policies"]
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Action"] == "kms:Decrypt"
    ]
    assert decrypt["Resource"] == f"arn:aws:kms:eu-central-1:{owner}:key/*"
    assert decrypt["Condition"] == {
        "StringEquals": {
            "kms:ViaService": "secretsmanager.eu-central-1.amazonaws.com",
            "kms:EncryptionContext:SecretARN": theirs,
        }
    }


def test_events_may_be_put_on_the_target_bus_alone() -> None:
    """Service Authorization Reference, "Amazon EventBridge": both are about an event bus."""

    def rights_on_buses(name: str) -> list[dict[str, Any]]:
        policies = DEPLOYMENTS[name].resources["DataActionRole"]["Properties"]["Policies"]
        statements = [s for policy in policies for s in policy["PolicyDocument"]["Statement"]]
        return [s for s in statements if "events:" in json.dumps(s["Action"])]

    (statement,) = rights_on_buses("a bus")
    assert statement == {
        "Effect": "Allow",
        "Action": ["events:DescribeEventBus", "events:PutEvents"],
        "Resource": TARGET_BUS,
    }
    assert rights_on_buses("webhook") == []


def test_no_bus_of_a_partner_can_be_the_target() -> None:
    """Names of partner buses have slashes, those of others have none: CreateEventBus, Name."""
    pattern = TEMPLATE["Parameters"]["TargetBusArn"]["AllowedPattern"]
    assert re.search(pattern, TARGET_BUS)
    for name in (f"{GENESYS}/live", "", "*"):
        assert not re.search(pattern, TARGET_BUS.replace("lake", name))


@pytest.mark.parametrize(
    ("parameters", "limit"),
    [
        ({}, "0"),
        (WEBHOOK, "0"),
        ({"ActionTarget": "genesys", "DestinationSecretArn": SECRET}, "300"),
        ({"ActionTarget": "eventbridge", "TargetBusArn": TARGET_BUS}, "0"),
        ({"ActionFunctionArn": OWN_ACTION}, "0"),
        ({"MaxActionsPerMinute": "20"}, "20"),
        ({"ActionTarget": "genesys", "DestinationSecretArn": SECRET} | NO_LIMIT, "0"),
    ],
)
def test_the_limit_is_resolved_alike_for_all_who_need_it(
    parameters: dict[str, str], limit: str
) -> None:
    deployed = Translated(OWN_EVENTS | parameters)
    functions = deployed.resources
    environment = functions["PacingFunction"]["Properties"]["Environment"]["Variables"]
    filled_in = functions["StateMachine"]["Properties"]["DefinitionSubstitutions"]
    assert environment["MAX_ACTIONS_PER_MINUTE"] == limit
    assert filled_in["MaxActionsPerMinute"] == limit
    assert deployed.outputs["MaxActionsPerMinute"]["Value"] == limit


# What costs less.


def test_a_pipe_gathers_only_where_a_window_is_set() -> None:
    """A window of 0 would still be one in the request: the pipe must not get it at all."""

    def queue_parameters(name: str) -> dict[str, object]:
        pipe = DEPLOYMENTS[name].resources["Pipe"]["Properties"]
        found: dict[str, object] = pipe["SourceParameters"]["SqsQueueParameters"]
        return found

    assert queue_parameters("default bus").keys() == {"BatchSize"}
    assert queue_parameters("for little money")["MaximumBatchingWindowInSeconds"] == 5


def test_another_log_class_is_another_group_and_the_log_of_outcomes_keeps_its_own() -> None:
    """ "After a log group is created, its log class can't be changed", and Infrequent Access has
    neither EMF nor FilterLogEvents: AmazonCloudWatch, "Log classes"."""
    before, after = (
        DEPLOYMENTS[name].of_type("AWS::Logs::LogGroup")
        for name in ("default bus", "for little money")
    )
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"StateMachineLogGroup"}
    names = {one["StateMachineLogGroup"]["LogGroupName"] for one in (before, after)}
    assert len(names) == 2
    assert after["StateMachineLogGroup"]["LogGroupClass"] == "INFREQUENT_ACCESS"


# An account that demands more.


@pytest.mark.parametrize("name", ["a permissions boundary", "roles below a path", "default bus"])
def test_every_role_is_bounded_and_lies_where_the_account_wants_it(name: str) -> None:
    """Those that SAM would make by itself included: there are none."""
    roles = DEPLOYMENTS[name].of_type("AWS::IAM::Role")
    assert sorted(roles) == sorted(of_type("AWS::IAM::Role"))
    for role in roles.values():
        assert role.get("PermissionsBoundary") == SETS[name].get("PermissionsBoundaryArn")
        assert role["Path"] == SETS[name].get("RolePath", "/")


# What is refused at once. Rules: CloudFormation, "Rules syntax" and "Rule functions".


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({}, "Set EventSourceName"),
        (PARTNER | WEBHOOK | {"WebhookUrl": ""}, "needs WebhookUrl"),
        (PARTNER | WEBHOOK | {"DestinationSecretArn": ""}, "need DestinationSecretArn"),
        (PARTNER | {"ActionTarget": "genesys"}, "need DestinationSecretArn"),
        (PARTNER | {"ActionTarget": "eventbridge"}, "needs TargetBusArn"),
        (PARTNER | {"KmsKeyArn": KEY, "FormerKmsKeyArn": KEY}, "Give it the former key"),
        (PARTNER | {"Timing": "fast", "BatchWindowSeconds": "1"}, "or Timing=production"),
    ],
)
def test_impossible_parameters_are_refused_with_a_remedy(
    parameters: dict[str, str], said: str
) -> None:
    (refusal,) = Translated(parameters).refusals
    assert said in refusal


@pytest.mark.parametrize(
    ("name", "is_taken"),
    [
        ("destination-AbCdEf", True),
        ("genesys/live-destination-x1Y2z3", True),
        ("destination", False),
        ("live-destination", False),
        ("destination-??????", False),
        ("destination-AbCdEf:clientId", False),
    ],
)
def test_a_secret_is_named_by_its_whole_arn_as_calls_to_it_match_no_other(
    name: str, is_taken: bool
) -> None:
    """secretsmanager, "GetSecretValue", SecretId: a partial ARN may name another secret; and the
    encryption context of its key is the whole one."""
    pattern = TEMPLATE["Parameters"]["DestinationSecretArn"]["AllowedPattern"]
    assert re.fullmatch(pattern, "")
    arn = f"arn:aws:secretsmanager:eu-central-1:{ACCOUNT}:secret:{name}"
    assert bool(re.fullmatch(pattern, arn)) == is_taken


def test_a_region_is_refused_if_it_has_no_pipes_and_only_then() -> None:
    """cfn-lint knows each region's resource types from CloudFormation's registry."""
    folder = Path(cfnlint.__file__).parent / "data" / "schemas" / "providers"
    known = {path.stem: path.read_text() for path in folder.glob("*-*-*.json")}
    assert len(known) > 30
    for region, types in known.items():
        refusals = Translated(PARTNER, region=region).refusals
        assert [("EventBridge Pipes" in refusal) for refusal in refusals] == (
            [] if '"AWS::Pipes::Pipe"' in types else [True]
        ), region


# The way to a deployment.


def deploy_command(*arguments: str) -> str:
    done = subprocess.run(
        ["make", "--dry-run", "deploy", *arguments],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    (line,) = [line for line in done.stdout.splitlines() if "sam deploy" in line]
    return line


def test_make_deploy_asks_first_unless_told_that_nobody_is_there() -> None:
    assert "--no-confirm-changeset" not in deploy_command()
    assert "--no-confirm-changeset" in deploy_command("CONFIRM=no")
    assert "confirm_changeset = true" in (ROOT / "samconfig.toml").read_text()


def test_make_deploy_does_not_fail_where_nothing_has_changed() -> None:
    assert "fail_on_empty_changeset = false" in (ROOT / "samconfig.toml").read_text()
