"""A pipe tries its role's rights when it is created; a policy that is attached as a resource of its
own may come later.

The creation then fails or not, by chance. So the role has its policies inline.
"""

from collections.abc import Iterator

from proof.aws.check import issue, page
from proof.aws.deployed import Deployed

SOURCES = (
    page(
        "eventbridge/latest/userguide/eb-pipes-permissions.html",
        "SQS: ReceiveMessage, DeleteMessage, GetQueueAttributes.",
    ),
    issue(
        "terraform-aws-modules/terraform-aws-eventbridge/pull/133",
        "The pipe was created before its role had the policy, and failed.",
    ),
    issue("aws/aws-cdk/issues/31664", "The same in a CDK stack."),
)
_SEPARATE = ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy", "AWS::IAM::RolePolicy")
_READS_THE_QUEUE = {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"}


def findings(deployed: Deployed) -> Iterator[str]:
    for name, pipe in deployed.of_type("AWS::Pipes::Pipe").items():
        role = pipe["RoleArn"]["Fn::GetAtt"][0]
        inline = {
            action
            for policy in deployed.properties(role).get("Policies", [])
            for statement in policy["PolicyDocument"]["Statement"]
            for action in statement["Action"]
        }
        for action in sorted(_READS_THE_QUEUE - inline):
            yield f"{role} of {name} has no {action} when the pipe is created"
        for kind in _SEPARATE:
            for policy, body in deployed.of_type(kind).items():
                if role in str(body):
                    yield f"{policy} gives {role} rights that {name} may come before"


def _attached_later(deployed: Deployed) -> None:
    (document, *_) = deployed.properties("PipeRole").pop("Policies")
    deployed.resources["PipePolicy"] = {
        "Type": "AWS::IAM::Policy",
        "Properties": {**document, "Roles": [{"Ref": "PipeRole"}]},
    }


BROKEN = {"a policy that is attached later": _attached_later}
