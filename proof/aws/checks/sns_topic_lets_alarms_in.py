"""An alarm's topic lets CloudWatch publish, in its policy and in the policy of its key; the key
alias/aws/sns does not.

A policy of one's own replaces the default one, which let CloudWatch in. The alarm then fires, and
its history alone says that nobody heard of it.
"""

from collections.abc import Iterator

from proof.aws.check import Source, page
from proof.aws.deployed import Deployed

SOURCES = (
    Source(
        "page",
        "https://repost.aws/knowledge-center/cloudwatch-receive-sns-for-alarm-trigger",
        "The statement that lets cloudwatch.amazonaws.com publish.",
    ),
    Source(
        "page",
        "https://repost.aws/knowledge-center/cloudwatch-configure-alarm-sns",
        "With the default key alias/aws/sns an alarm's action fails, and that key's policy cannot "
        "be changed.",
    ),
    page(
        "sns/latest/dg/sns-access-policy-use-cases.html",
        "Allow CloudWatch alarms to publish to a topic.",
    ),
)
_ALARMS = "cloudwatch.amazonaws.com"
_ALARMS_OF = ("AWS::CloudWatch::Alarm", "AWS::CloudWatch::CompositeAlarm")


def findings(deployed: Deployed) -> Iterator[str]:
    topics = {
        action["Ref"]
        for kind in _ALARMS_OF
        for alarm in deployed.of_type(kind).values()
        for action in alarm.get("AlarmActions", [])
        if "Ref" in action
    }
    for name in sorted(topics):
        if str(deployed.properties(name).get("KmsMasterKeyId", "")).endswith("alias/aws/sns"):
            yield f"{name} is encrypted with alias/aws/sns, which CloudWatch may not use"
        policies = [
            policy["PolicyDocument"]["Statement"]
            for policy in deployed.of_type("AWS::SNS::TopicPolicy").values()
            if {"Ref": name} in policy["Topics"]
        ]
        allowed = [
            statement
            for statements in policies
            for statement in statements
            if statement["Effect"] == "Allow" and statement["Principal"] == {"Service": _ALARMS}
        ]
        if policies and not allowed:
            yield f"{name} has a policy that does not let {_ALARMS} publish"


def _aws_key(deployed: Deployed) -> None:
    deployed.properties("PageTopic")["KmsMasterKeyId"] = "alias/aws/sns"


def _only_tls(deployed: Deployed) -> None:
    del deployed.properties("AlarmTopicPolicy")["PolicyDocument"]["Statement"][0]


BROKEN = {"AWS's own key": _aws_key, "a policy that only asks for TLS": _only_tls}
