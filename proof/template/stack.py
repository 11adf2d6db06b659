"""Checks the resources of a stack for what AWS refuses, or never tells."""

import json
from collections.abc import Iterator
from typing import Any

from proof.template.check import GITHUB, Deployed, check, drop, put
from proof.template.metrics import DOCUMENTED, metrics_of, written_metrics
from proof.template.translated import STACK

# The longest name of a stack that leaves room for the rule's: samconfig.toml.
LONGEST_STACK = 57
_MOST_CHARACTERS = {
    ("AWS::Events::Rule", "Name"): 64,
    ("AWS::Events::EventBus", "Name"): 256,
    ("AWS::Pipes::Pipe", "Name"): 64,
    ("AWS::StepFunctions::StateMachine", "StateMachineName"): 80,
    ("AWS::CloudWatch::Alarm", "AlarmName"): 255,
    ("AWS::CloudWatch::Dashboard", "DashboardName"): 255,
    ("AWS::Logs::LogGroup", "LogGroupName"): 512,
}
# They end in Name, and name what is not made here.
_OF_OTHERS = {"EventBusName", "EventSourceName", "MetricName", "DisplayName"}


@check(
    "eventbridge/latest/APIReference/API_PutRule.html",
    "eventbridge/latest/pipes-reference/API_CreatePipe.html",
    "step-functions/latest/apireference/API_CreateStateMachine.html",
    "AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html",
    # A role's name came to 69 characters: cfn-lint let it pass, the stack failed.
    f"{GITHUB}aws-samples/sample-auto-map-tagger/pull/43",
    long_rule=put("EventRule", "Name", f"{STACK}-of-genesys-cloud"),
    unknown_name=put("PipeRole", "RoleName", f"{STACK}-pipe"),
)
def names_fit(deployed: Deployed) -> Iterator[str]:
    """AWS takes a name of ours as it is, and refuses a long one when half the stack stands."""
    for logical_id, resource in deployed.resources.items():
        for field, name in resource.get("Properties", {}).items():
            if not field.endswith("Name") or field in _OF_OTHERS or not isinstance(name, str):
                continue
            most = _MOST_CHARACTERS.get((resource["Type"], field), 0)
            longest = name.replace(STACK, "s" * LONGEST_STACK, 1)
            if len(longest) > most:
                yield f"{logical_id}: a {field} has at most {most} characters, not {len(longest)}"


@check(
    "AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html",
    ten_days=put("ParkedAgeingAlarm", "EvaluationPeriods", 240),
    two_days_of_minutes=put("EventsSilentAlarm", "EvaluationPeriods", 2 * 24 * 60),
    ninety_seconds=put("EventsParkedAlarm", "Period", 90),
)
def alarms_look_back_a_week_at_most(deployed: Deployed) -> Iterator[str]:
    """An alarm looks back for a day, or a week if its period is an hour or more. A period is a
    multiple of 60 seconds."""
    for name, alarm in deployed.of_type("AWS::CloudWatch::Alarm").items():
        stats = [query["MetricStat"] for query in alarm.get("Metrics", []) if "MetricStat" in query]
        for period in (int(part["Period"]) for part in stats or [alarm]):
            most = 7 * 86_400 if period >= 3_600 else 86_400
            if period % 60 or period * int(alarm["EvaluationPeriods"]) > most:
                yield f"{name} looks at {alarm['EvaluationPeriods']} periods of {period} s"
        if int(alarm.get("DatapointsToAlarm", 1)) > int(alarm["EvaluationPeriods"]):
            yield f"{name} wants more data points than it looks at"


def _without_bus(deployed: Deployed) -> None:
    deployed.properties("RuleLosesEventsAlarm")["Dimensions"].pop()


def _renamed_metric(deployed: Deployed) -> None:
    (line,) = deployed.task("putLogEvents")["Arguments"]["LogEvents"]
    line["Message"] = line["Message"].replace("'BREAKER_SECONDS'", "'OPEN_SECONDS'")


@check(
    "AmazonCloudWatch/latest/monitoring/cloudwatch_concepts.html",
    "eventbridge/latest/userguide/eb-monitoring.html",
    # The page on dead-letter queues spells the metric with DLQ, and CloudWatch does not.
    other_capitals=put("RuleLosesEventsAlarm", "MetricName", "InvocationsFailedToBeSentToDLQ"),
    no_bus=_without_bus,
    other_rule=put("EventRule", "Name", f"{STACK}-events-2"),
    not_written=_renamed_metric,
)
def alarms_watch_what_is_sent(deployed: Deployed) -> Iterator[str]:
    """An alarm sees a metric only under its exact name with exactly its dimensions; on any other it
    is silent for ever."""
    written = written_metrics(deployed.task("putLogEvents"))
    rule = deployed.properties("EventRule")
    for name, alarm in deployed.of_type("AWS::CloudWatch::Alarm").items():
        for metric in metrics_of(alarm):
            dimensions = {each["Name"]: each["Value"] for each in metric["Dimensions"]}
            key = (metric["Namespace"], metric["MetricName"], frozenset(dimensions))
            known = DOCUMENTED.get(key[0], {}).get(key[1], set())
            if key not in written and key[2] not in known:
                yield f"{name}: nothing sends {key[0]} {key[1]} by {', '.join(dimensions)}"
            if key[0] == "AWS/Events" and dimensions != {
                "RuleName": rule["Name"],
                **({} if rule["EventBusName"] == "default" else _bus(rule)),
            }:
                yield f"{name} looks at another rule: {dimensions}"


def _bus(rule: dict[str, Any]) -> dict[str, Any]:
    return {"EventBusName": rule["EventBusName"]}


@check(
    "sns/latest/dg/sns-access-policy-use-cases.html",
    "https://repost.aws/knowledge-center/cloudwatch-configure-alarm-sns",
    aws_key=put("PageTopic", "KmsMasterKeyId", "alias/aws/sns"),
    only_tls=put("AlarmTopicPolicy", "PolicyDocument.Statement", []),
)
def topics_let_alarms_in(deployed: Deployed) -> Iterator[str]:
    """A topic's own policy replaces the default one, which let CloudWatch in, and CloudWatch may
    not use the key alias/aws/sns: the alarm fires, and nobody hears of it."""
    (policy,) = deployed.of_type("AWS::SNS::TopicPolicy").values()
    allowed = any(
        statement["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
        and statement["Effect"] == "Allow"
        for statement in policy["PolicyDocument"]["Statement"]
    )
    for name, topic in deployed.of_type("AWS::SNS::Topic").items():
        if {"Ref": name} not in policy["Topics"] or not allowed:
            yield f"{name} does not let CloudWatch publish"
        if topic.get("KmsMasterKeyId") == "alias/aws/sns":
            yield f"{name} has a key that CloudWatch may not use"


def _unordered(deployed: Deployed) -> None:
    deployed.resources["EventRule"]["DependsOn"].remove("EventQueuePolicy")


def _closed(deployed: Deployed) -> None:
    del deployed.properties("DeadLettersPolicy")["PolicyDocument"]["Statement"][0]


@check(
    "eventbridge/latest/userguide/eb-use-resource-based.html",
    "eventbridge/latest/userguide/eb-rule-dlq.html",
    unordered=_unordered,
    closed=_closed,
)
def rule_may_send_before_it_is_there(deployed: Deployed) -> Iterator[str]:
    """EventBridge sends to a queue only if the queue's policy lets the rule in, and what it may not
    send is lost: the rule depends on the policies of its queue and its dead-letter queue."""
    policies = {
        policy["Queues"][0]["Ref"]: name
        for name, policy in deployed.of_type("AWS::SQS::QueuePolicy").items()
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Allow"
        and statement["Principal"] == {"Service": "events.amazonaws.com"}
    }
    (target,) = deployed.properties("EventRule")["Targets"]
    for arn in (target["Arn"], target["DeadLetterConfig"]["Arn"]):
        queue = arn["Fn::GetAtt"][0]
        if policies.get(queue) not in deployed.resources["EventRule"]["DependsOn"]:
            yield f"the rule may be there before {queue} lets it in"


def pattern_characters(deployed: Deployed) -> int:
    pattern = deployed.properties("EventRule")["EventPattern"]
    return len(json.dumps(pattern, separators=(",", ":")))


@check(
    "eventbridge/latest/userguide/eb-quota.html",
    many_topics=put(
        "EventRule", "EventPattern.detail-type", [f"v2.users.{n}.presence" for n in range(100)]
    ),
)
def event_pattern_fits(deployed: Deployed) -> Iterator[str]:
    """An event pattern has at most 2,048 characters."""
    if (characters := pattern_characters(deployed)) > 2_048:
        yield f"the pattern has {characters} characters"


def _two_queues(deployed: Deployed) -> None:
    deployed.properties("EventQueuePolicy")["Queues"].append({"Ref": "DeadLetters"})


def _two_arns(deployed: Deployed) -> None:
    statement = deployed.properties("EventQueuePolicy")["PolicyDocument"]["Statement"][0]
    statement["Resource"] = [statement["Resource"], {"Fn::GetAtt": ["DeadLetters", "Arn"]}]


def _eight_actions(deployed: Deployed) -> None:
    statement = deployed.properties("EventQueuePolicy")["PolicyDocument"]["Statement"][0]
    statement["Action"] = [f"sqs:Action{number}" for number in range(8)]


@check(
    # "Each policy must cover only a single queue", in the guide of API version 2011-10-01.
    f"{GITHUB}remind101/stacker_blueprints/pull/71",
    "AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-policies.html",
    two_queues=_two_queues,
    two_arns=_two_arns,
    eight_actions=_eight_actions,
)
def queue_policy_covers_one_queue(deployed: Deployed) -> Iterator[str]:
    """A queue policy names one queue, and a statement has at most seven actions. IAM has no such
    limits, so linters and emulators accept more."""
    for name, policy in deployed.of_type("AWS::SQS::QueuePolicy").items():
        queues = [queue["Ref"] for queue in policy["Queues"]]
        if len(queues) != 1:
            yield f"{name} covers {len(queues)} queues"
        for statement in policy["PolicyDocument"]["Statement"]:
            if statement["Resource"] != {"Fn::GetAtt": [queues[0], "Arn"]}:
                yield f"{name}, {statement['Sid']}: Resource is not its queue alone"
            if isinstance(statement["Action"], list) and len(statement["Action"]) > 7:
                yield f"{name}, {statement['Sid']}: {len(statement['Action'])} actions"


_BOUNDS = {
    "MessageRetentionPeriod": (60, 1_209_600),
    "VisibilityTimeout": (0, 43_200),
    "maxReceiveCount": (1, 1_000),
}


@check(
    "AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html",
    "AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html",
    received_often=put("EventQueue", "RedrivePolicy.maxReceiveCount", 1_001),
    kept_long=put("DeadLetters", "MessageRetentionPeriod", 15 * 86_400),
)
def queue_settings_are_within_limits(deployed: Deployed) -> Iterator[str]:
    """A queue keeps messages for 14 days, hides them for 12 hours and moves them after 1,000
    receives at most. CloudFormation's schema has no bounds for these."""
    for name, queue in deployed.of_type("AWS::SQS::Queue").items():
        settings = {**queue, **queue.get("RedrivePolicy", {})}
        for setting, (least, most) in _BOUNDS.items():
            if not least <= int(settings.get(setting, least)) <= most:
                yield f"{name}: {setting} is {settings[setting]}, not from {least} to {most}"


@check(
    "AWSSimpleQueueService/latest/APIReference/API_StartMessageMoveTask.html",
    "AWSSimpleQueueService/latest/SQSDeveloperGuide/troubleshooting-dlq-redrive.html",
    no_source=drop("EventQueue", "RedrivePolicy"),
    closed=put("DeadLetters", "RedriveAllowPolicy", {"redrivePermission": "denyAll"}),
)
def dead_letter_queue_can_be_redriven(deployed: Deployed) -> Iterator[str]:
    """StartMessageMoveTask takes messages only from a queue that is the dead-letter queue of
    another one, which the redrive policy of that other queue says and its own must allow."""
    machines = deployed.substitution("DeadLetterQueueUrl")
    (target,) = deployed.properties("EventRule")["Targets"]
    redriven = deployed.properties("EventQueue").get("RedrivePolicy", {})
    if redriven.get("deadLetterTargetArn") != {"Fn::GetAtt": ["DeadLetters", "Arn"]}:
        yield "DeadLetters is the dead-letter queue of no queue"
    if target["DeadLetterConfig"]["Arn"] != {"Fn::GetAtt": ["DeadLetters", "Arn"]}:
        yield "the rule has another dead-letter queue"
    if machines != str({"Ref": "DeadLetters"}):
        yield f"the machine parks in {machines}"
    allow = deployed.properties("DeadLetters").get("RedriveAllowPolicy", {})
    if allow.get("redrivePermission", "allowAll") != "allowAll":
        yield "DeadLetters does not allow the event queue to name it"


@check(
    "eventbridge/latest/userguide/eb-pipes-error-troubleshooting.html",
    "eventbridge/latest/userguide/eb-pipes-event-filtering.html",
    batch=put("Pipe", "SourceParameters.SqsQueueParameters.BatchSize", 10),
    window=put("Pipe", "SourceParameters.SqsQueueParameters.MaximumBatchingWindowInSeconds", 5),
    filtered=put("Pipe", "SourceParameters.FilterCriteria", {"Filters": [{"Pattern": "{}"}]}),
)
def pipe_takes_each_message_by_itself(deployed: Deployed) -> Iterator[str]:
    """A batching window replaces the queue's visibility timeout by 450 seconds and the window, and
    a pipe deletes what its filter does not match, without a word."""
    source = deployed.properties("Pipe")["SourceParameters"]
    if source["SqsQueueParameters"] != {"BatchSize": 1}:
        yield f"the pipe gathers messages: {source['SqsQueueParameters']}"
    if "FilterCriteria" in source:
        yield "the pipe has a filter"


def _standard(deployed: Deployed) -> None:
    deployed.properties("StateMachine")["StateMachineType"] = "STANDARD"


@check(
    "eventbridge/latest/userguide/eb-pipes-error-troubleshooting.html",
    "eventbridge/latest/userguide/eb-pipes-sqs.html",
    fire_and_forget=put(
        "Pipe",
        "TargetParameters.StepFunctionStateMachineParameters.InvocationType",
        "FIRE_AND_FORGET",
    ),
    standard=_standard,
)
def pipe_waits_for_the_machine(deployed: Deployed) -> Iterator[str]:
    """A pipe deletes a message when its execution succeeds only if it waits for an Express machine.
    AWS creates a pipe that waits for a Standard one, and stops it later."""
    target = deployed.properties("Pipe")["TargetParameters"]["StepFunctionStateMachineParameters"]
    if target["InvocationType"] != "REQUEST_RESPONSE":
        yield f"the pipe invokes by {target['InvocationType']}"
    if deployed.properties("StateMachine")["StateMachineType"] != "EXPRESS":
        yield "the machine is not EXPRESS"


@check(
    "eventbridge/latest/userguide/eb-pipes-batching-concurrency.html",
    slow_enrichment=put("EnrichmentFunction", "Timeout", 200),
)
def pipe_gives_up_after_five_minutes(deployed: Deployed) -> Iterator[str]:
    """Enrichment and target together take at most five minutes; then the pipe gives the message up
    while the machine may still act."""
    enrichment = int(deployed.properties("EnrichmentFunction")["Timeout"])
    if enrichment + int(deployed.definition.get("TimeoutSeconds", 300)) >= 300:
        yield f"the enrichment may take {enrichment} s"


@check(
    "AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-visibility-timeout.html",
    sqs_default=put("EventQueue", "VisibilityTimeout", 30),
)
def visibility_outlives_the_lease(deployed: Deployed) -> Iterator[str]:
    """A message whose execution died comes back when its visibility timeout ends. If the lease of
    its claim is not over by then, it finds a claim in progress."""
    hidden = int(deployed.properties("EventQueue")["VisibilityTimeout"])
    held = int(deployed.properties("EnrichmentFunction")["Timeout"])
    held += int(deployed.substitution("LeaseSeconds"))
    if hidden <= held:
        yield f"a message is hidden for {hidden} s, and its claim may be held for {held} s"


def _attached_later(deployed: Deployed) -> None:
    (document, *_) = deployed.properties("PipeRole").pop("Policies")
    deployed.resources["PipePolicy"] = {"Type": "AWS::IAM::Policy", "Properties": document}
    deployed.properties("PipeRole")["Policies"] = []


@check(
    "eventbridge/latest/userguide/eb-pipes-permissions.html",
    f"{GITHUB}terraform-aws-modules/terraform-aws-eventbridge/pull/133",
    f"{GITHUB}aws/aws-cdk/issues/31664",
    attached_later=_attached_later,
)
def pipe_role_is_complete(deployed: Deployed) -> Iterator[str]:
    """A pipe tries its role's permissions when it is created, and a policy that is a resource of
    its own may come later. So the role has them inline."""
    inline = {
        action
        for policy in deployed.properties("PipeRole")["Policies"]
        for statement in policy["PolicyDocument"]["Statement"]
        for action in statement["Action"]
    }
    for action in ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"):
        if action not in inline:
            yield f"PipeRole has no {action} when the pipe is created"


LOG_DELIVERY = {
    "logs:CreateLogDelivery",
    "logs:GetLogDelivery",
    "logs:UpdateLogDelivery",
    "logs:DeleteLogDelivery",
    "logs:ListLogDeliveries",
    "logs:PutResourcePolicy",
    "logs:DescribeResourcePolicies",
    "logs:DescribeLogGroups",
}


def _no_delivery(deployed: Deployed) -> None:
    for policy in deployed.properties("StateMachineRole")["Policies"]:
        statements = policy["PolicyDocument"]["Statement"]
        statements[:] = [entry for entry in statements if entry["Resource"] != "*"]


@check(
    "step-functions/latest/dg/cw-logs.html",
    f"{GITHUB}aws/serverless-application-model/issues/1610",
    no_delivery=_no_delivery,
    unprefixed=drop("PipeLogGroup", "LogGroupName"),
)
def machine_logs_are_delivered(deployed: Deployed) -> Iterator[str]:
    """A machine's role may create log deliveries, which SAM does not add. A log group outside
    /aws/vendedlogs/ uses up the 5,120 characters that all log deliveries of a Region share."""
    allowed = {
        action
        for policy in deployed.properties("StateMachineRole")["Policies"]
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Resource"] == "*"
        for action in statement["Action"]
    }
    for action in sorted(LOG_DELIVERY - allowed):
        yield f"the machine may not {action}"
    for group in ("StateMachineLogGroup", "PipeLogGroup"):
        if not deployed.properties(group).get("LogGroupName", "").startswith("/aws/vendedlogs/"):
            yield f"{group} is not below /aws/vendedlogs/"


@check(
    "lambda/latest/dg/invocation-recursion.html",
    detected=drop("EnrichmentFunction", "RecursiveLoop"),
)
def functions_may_see_a_message_again(deployed: Deployed) -> Iterator[str]:
    """Lambda stops a function that its own messages have invoked 16 times, and a waiting event
    comes back more often."""
    for name, function in deployed.of_type("AWS::Lambda::Function").items():
        if function.get("RecursiveLoop") != "Allow":
            yield f"{name} may be stopped as a loop"
