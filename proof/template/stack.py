"""Checks the resources of a stack for what AWS refuses, or never tells."""

from collections.abc import Iterator

from proof.template.check import GITHUB, Deployed, Edit, check, drop, put
from proof.template.metrics import DOCUMENTED, metrics_of, written_metrics
from proof.template.translated import STACK


@check(
    "AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html",
    ten_days=put("ParkedAgeingAlarm", "EvaluationPeriods", 240),
    two_days_of_minutes=put("EventsSilentAlarm", "EvaluationPeriods", 2 * 24 * 60),
)
def alarms_look_back_a_week_at_most(deployed: Deployed) -> Iterator[str]:
    """An alarm looks back for a day, or a week if its period is an hour or more."""
    for name, alarm in deployed.of_type("AWS::CloudWatch::Alarm").items():
        stats = [query["MetricStat"] for query in alarm.get("Metrics", []) if "MetricStat" in query]
        for period in (int(part["Period"]) for part in stats or [alarm]):
            most = 7 * 86_400 if period >= 3_600 else 86_400
            if period * int(alarm["EvaluationPeriods"]) > most:
                yield f"{name} looks at {alarm['EvaluationPeriods']} periods of {period} s"


def _without_bus(deployed: Deployed) -> None:
    deployed.properties("RuleLosesEventsAlarm")["Dimensions"].pop()


def _line(old: str, new: str) -> Edit:
    def edit(deployed: Deployed) -> None:
        (line,) = deployed.task("putLogEvents")["Arguments"]["LogEvents"]
        assert old in line["Message"], old
        line["Message"] = line["Message"].replace(old, new)

    return edit


@check(
    "AmazonCloudWatch/latest/monitoring/cloudwatch_concepts.html",
    "AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html",
    "eventbridge/latest/userguide/eb-monitoring.html",
    # The page on dead-letter queues spells the metric with DLQ, and CloudWatch does not.
    other_capitals=put("RuleLosesEventsAlarm", "MetricName", "InvocationsFailedToBeSentToDLQ"),
    no_bus=_without_bus,
    other_rule=put("EventRule", "Name", f"{STACK}-events-2"),
    not_written=_line("'BREAKER_SECONDS'", "'OPEN_SECONDS'"),
    not_embedded=_line("'_aws'", "'aws'"),
)
def alarms_watch_what_is_sent(deployed: Deployed) -> Iterator[str]:
    """An alarm sees a metric only under its exact name with exactly its dimensions, and log lines
    are metrics only in the embedded metric format. Otherwise the alarm is silent for ever."""
    written = written_metrics(deployed.task("putLogEvents"))
    rule = deployed.properties("EventRule")
    watched = {"RuleName": rule["Name"], "EventBusName": rule["EventBusName"]}
    if rule["EventBusName"] == "default":
        del watched["EventBusName"]
    for name, alarm in deployed.of_type("AWS::CloudWatch::Alarm").items():
        for metric in metrics_of(alarm):
            dimensions = {each["Name"]: each["Value"] for each in metric["Dimensions"]}
            key = (metric["Namespace"], metric["MetricName"], frozenset(dimensions))
            known = DOCUMENTED.get(key[0], {}).get(key[1], set())
            if key not in written and key[2] not in known:
                yield f"{name}: nothing sends {key[0]} {key[1]} by {', '.join(dimensions)}"
            if key[0] == "AWS/Events" and dimensions != watched:
                yield f"{name} looks at another rule: {dimensions}"


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


def _two_queues(deployed: Deployed) -> None:
    deployed.properties("EventQueuePolicy")["Queues"].append({"Ref": "DeadLetters"})


def _two_arns(deployed: Deployed) -> None:
    statement = deployed.properties("EventQueuePolicy")["PolicyDocument"]["Statement"][0]
    statement["Resource"] = [statement["Resource"], {"Fn::GetAtt": ["DeadLetters", "Arn"]}]


@check(
    # "Each policy must cover only a single queue", in the guide of API version 2011-10-01.
    f"{GITHUB}remind101/stacker_blueprints/pull/71",
    two_queues=_two_queues,
    two_arns=_two_arns,
)
def queue_policy_covers_one_queue(deployed: Deployed) -> Iterator[str]:
    """A queue policy names one queue. Linters and emulators accept more."""
    for name, policy in deployed.of_type("AWS::SQS::QueuePolicy").items():
        queues = [queue["Ref"] for queue in policy["Queues"]]
        if len(queues) != 1:
            yield f"{name} covers {len(queues)} queues"
        for statement in policy["PolicyDocument"]["Statement"]:
            if statement["Resource"] != {"Fn::GetAtt": [queues[0], "Arn"]}:
                yield f"{name}, {statement['Sid']}: Resource is not its queue alone"


@check(
    "AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html",
    received_often=put("EventQueue", "RedrivePolicy.maxReceiveCount", 1_001),
)
def queue_moves_messages_after_1000_receives(deployed: Deployed) -> Iterator[str]:
    """A queue moves a message to its dead-letter queue after 1,000 receives at most."""
    for name, queue in deployed.of_type("AWS::SQS::Queue").items():
        if int(queue.get("RedrivePolicy", {}).get("maxReceiveCount", 1)) > 1_000:
            yield f"{name}: maxReceiveCount is over 1,000"


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


@check(
    "eventbridge/latest/userguide/eb-pipes-error-troubleshooting.html",
    "eventbridge/latest/userguide/eb-pipes-sqs.html",
    fire_and_forget=put(
        "Pipe",
        "TargetParameters.StepFunctionStateMachineParameters.InvocationType",
        "FIRE_AND_FORGET",
    ),
    standard=put("StateMachine", "StateMachineType", "STANDARD"),
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
    "step-functions/latest/dg/choosing-workflow-type.html",
    ten_minutes=lambda deployed: deployed.definition.update(TimeoutSeconds=600),
    slow_enrichment=put("EnrichmentFunction", "Timeout", 200),
)
def pipe_gives_up_after_five_minutes(deployed: Deployed) -> Iterator[str]:
    """An Express machine runs for at most five minutes. Enrichment and target together may take no
    longer: then the pipe gives the message up while the machine may still act."""
    enrichment = int(deployed.properties("EnrichmentFunction")["Timeout"])
    if enrichment + int(deployed.definition.get("TimeoutSeconds", 300)) >= 300:
        yield f"the enrichment may take {enrichment} s"


@check(
    "step-functions/latest/dg/cw-logs.html",
    unprefixed=drop("PipeLogGroup", "LogGroupName"),
)
def delivered_logs_have_the_prefix(deployed: Deployed) -> Iterator[str]:
    """A log group outside /aws/vendedlogs/ uses up the 5,120 characters that all log deliveries of
    a Region share."""
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
