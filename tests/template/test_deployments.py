"""Each kind of deployment sends a valid template to CloudFormation, and moves without a loss.

The emulator takes almost any template. Here it is translated with real sets of parameters, and
judged by cfn-lint; test_checks.py judges the same sets by what AWS says and no linter looks at.
"""

import json
import os
import re
import subprocess
from fnmatch import fnmatchcase
from functools import cache
from itertools import product

import pytest

from proof.definition.asl import ROOT
from proof.template import TEMPLATE
from proof.template.translated import ACCOUNT, STACK, Translated
from tests.enrichment.sdk import MODELS
from tests.template.deployments import (
    DEPLOYMENTS,
    KEY,
    ON_BUSES,
    OWN_EVENTS,
    SETS,
    WEBHOOK,
)
from tests.template.test_permissions import statements_of

QUEUES = ("EventQueue", "DeadLetters")
LONGEST_STACK = 57  # so that the name of its rule has 64 characters


def faults(parameters: dict[str, str], **where: str) -> list[str]:
    from cfnlint.api import lint  # takes long, and most processes do not need it

    deployed = Translated(OWN_EVENTS | parameters, **where)
    template = {"AWSTemplateFormatVersion": "2010-09-09", "Resources": deployed.resources}
    found = lint(json.dumps(template), regions=[deployed.region])
    return [f"{match.rule.id} {match.path}: {match.message}" for match in found]


QUICK = "archive of a source"
OTHERS = [pytest.param(name, marks=pytest.mark.thorough) for name in SETS if name != QUICK]


@pytest.mark.parametrize("name", [QUICK, *OTHERS])
def test_deployed_template_passes_cfn_lint(name: str) -> None:
    assert DEPLOYMENTS[name].refusals == []
    assert faults(SETS[name], stack="s" * LONGEST_STACK) == []


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "page"),
    [("bus-rules", "data-action"), ("capture-firehose", "audit"), ("capture-log-group", "audit")],
)
def test_example_template_passes_cfn_lint_and_is_named_in_the_docs(name: str, page: str) -> None:
    from cfnlint.api import lint_file

    docs, example = ROOT / "docs", f"examples/{name}.yaml"
    assert [str(match) for match in lint_file(docs / example)] == []
    assert example in (docs / f"{page}.md").read_text()


def test_deployed_template_names_no_other_partition_in_china() -> None:
    deployed = Translated({"EventBusName": "contact-centre"}, region="cn-north-1")
    assert deployed.refusals == []
    assert "arn:aws:" not in json.dumps(deployed.resources)


@pytest.mark.thorough
def test_name_of_a_stack_is_at_most_57_characters() -> None:
    """A rule's name has 64 (eventbridge API, PutRule)."""
    too_long = faults(SETS["source"], stack="s" * (LONGEST_STACK + 1))
    assert any("EventRule" in fault for fault in too_long)
    assert f"{LONGEST_STACK} characters" in (ROOT / "samconfig.toml").read_text()


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
    """Compares each of the six components by itself: IAM, "ARN condition operators"."""
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


@pytest.mark.parametrize(("before", "after"), list(product(ON_BUSES, ON_BUSES)))
def test_queues_take_both_rules_while_a_stack_moves_to_another_bus(before: str, after: str) -> None:
    for queue in QUEUES:
        assert admits(DEPLOYMENTS[before], queue, rule_arn(DEPLOYMENTS[after]))


@cache
def rules_of_other_stacks() -> list[str]:
    names = (f"my-{STACK}", f"{STACK}-2", f"{STACK}-events", f"{STACK}-source", "x")
    return [rule_arn(Translated(on, stack=name)) for name in names for on in ON_BUSES.values()]


@pytest.mark.parametrize("bus", ON_BUSES)
@pytest.mark.parametrize("queue", QUEUES)
def test_no_other_stack_region_or_account_gets_into_the_queues(bus: str, queue: str) -> None:
    ours = DEPLOYMENTS[bus]
    for arn in rules_of_other_stacks():
        assert not admits(ours, queue, arn), arn
    assert not admits(ours, queue, rule_arn(Translated(SETS[bus], region="eu-west-1")))
    assert not admits(ours, queue, rule_arn(ours, account="999999999999"))


@pytest.mark.parametrize(("before", "after"), list(product(ON_BUSES, ON_BUSES)))
def test_the_rule_changes_its_name_between_a_bus_of_the_stack_and_another(
    before: str, after: str
) -> None:
    """CloudFormation, AWS::Events::Rule, Name: with a custom name no update can replace it, and
    EventBusName is an update that does."""
    renamed = ("EventSourceName" in SETS[before]) != ("EventSourceName" in SETS[after])
    names = [DEPLOYMENTS[n].resources["EventRule"]["Properties"]["Name"] for n in (before, after)]
    assert (names[0] != names[1]) == renamed


def test_the_longest_topics_fit_into_a_rule_as_often_as_the_description_says() -> None:
    """2,048 characters: eventbridge, "Amazon EventBridge quotas", Event pattern size."""
    said = re.search(r"Any (\d+) topics fit", TEMPLATE["Parameters"]["DetailTypes"]["Description"])
    assert said
    longest_first = sorted(MODELS, key=len, reverse=True)

    def characters(topics: int) -> int:
        deployed = Translated({"DetailTypes": ",".join(longest_first[:topics])})
        pattern = deployed.resources["EventRule"]["Properties"]["EventPattern"]
        return len(json.dumps(pattern, separators=(",", ":")))

    assert characters(int(said[1])) <= 2048 < characters(int(said[1]) + 1)


# The archive, the redrive and the replay.


@pytest.mark.parametrize("name", ["source", "archive", "archive of a source"])
def test_an_archive_is_kept_only_if_asked_for_and_has_what_the_rule_matches(name: str) -> None:
    """ "You cannot change the source event bus once an archive is created": eventbridge, "Archiving
    and replaying events". So it has no name of ours, else CloudFormation could not move it."""
    deployed = DEPLOYMENTS[name]
    archives = deployed.of_type("AWS::Events::Archive")
    assert bool(archives) == ("ArchiveDays" in deployed.parameters)
    for archive in archives.values():
        assert "ArchiveName" not in archive
        assert archive["RetentionDays"] == int(deployed.parameters["ArchiveDays"])
        rule = deployed.resources["EventRule"]["Properties"]
        assert archive["EventPattern"] == rule["EventPattern"]
        assert archive.get("KmsKeyIdentifier") == deployed.parameters.get("KmsKeyArn")


def command(name: str, output: str) -> str:
    value = DEPLOYMENTS[name].outputs[output]["Value"]["Fn::Sub"]
    return str(value if isinstance(value, str) else value[0])


def options(line: str) -> set[str]:
    return set(re.findall(r"--([a-z-]+)", line))


def test_the_redrive_command_names_the_event_queue_as_its_destination() -> None:
    """Messages that were sent to a dead-letter queue directly have no source to go back to:
    AWSSimpleQueueService, "Troubleshooting dead-letter queue redrive"."""
    line = command("source", "RedriveCommand")
    assert line.startswith("aws sqs start-message-move-task ")
    assert "--source-arn ${DeadLetters.Arn} --destination-arn ${EventQueue.Arn}" in line
    assert options(line) == {"region", "source-arn", "destination-arn"}


def test_the_replay_command_sends_the_archive_to_the_rule_on_its_own_bus() -> None:
    """eventbridge API, StartReplay, ReplayDestination: only the bus that was archived."""
    line = command("archive", "ReplayCommand")
    given = {"event-source-arn", "event-start-time", "event-end-time", "replay-name"}
    assert options(line) == given | {"region", "destination"}
    (destination,) = re.findall(r"--destination '(.+)'", line)
    bus = f"arn:aws:events:eu-central-1:{ACCOUNT}:event-bus/default"
    assert json.loads(destination) == {"Arn": bus, "FilterArns": ["${EventRule.Arn}"]}


# A key that is given, changed or removed.


def test_nothing_is_kept_under_the_former_key() -> None:
    for changed in ("another key", "key removed"):
        kept = {
            name: body
            for name, body in DEPLOYMENTS[changed].resources.items()
            if body["Type"] != "AWS::IAM::Role"
        }
        assert KEY not in json.dumps(kept)


def test_a_secret_under_a_key_of_its_owner_can_be_read_and_nothing_else_under_that_key() -> None:
    """secretsmanager, "Secret encryption and decryption"; kms, "kms:ViaService"."""
    owner = "444455556666"
    theirs = WEBHOOK["DestinationSecretArn"].replace(ACCOUNT, owner)
    deployed = Translated({**WEBHOOK, "DestinationSecretArn": theirs})
    statements = statements_of("DataActionRole", deployed)
    (decrypt,) = [one for one in statements if one["Action"] == "kms:Decrypt"]
    assert decrypt["Resource"] == f"arn:aws:kms:eu-central-1:{owner}:key/*"
    assert decrypt["Condition"] == {
        "StringEquals": {
            "kms:ViaService": "secretsmanager.eu-central-1.amazonaws.com",
            "kms:EncryptionContext:SecretARN": theirs,
        }
    }


# The command that deploys.


def make(*arguments: str) -> str:
    return subprocess.run(
        ["make", "--dry-run", *arguments],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_make_deploy_confirms_unless_told_not_to_and_passes_parameters() -> None:
    assert "--no-confirm-changeset" not in make("deploy")
    line = make("deploy", "CONFIRM=no", "PARAMETERS=ArchiveDays=7 LogLevel=ERROR")
    assert "--no-confirm-changeset" in line
    assert '--parameter-overrides "ArchiveDays=7 LogLevel=ERROR"' in line
    assert "confirm_changeset = true" in (ROOT / "samconfig.toml").read_text()
