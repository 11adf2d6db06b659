"""Does CloudFormation take the template? A change set is made and never run."""

import json
from collections.abc import Iterator
from typing import Any

from botocore.exceptions import ClientError

from proof.prove.files import template
from proof.prove.question import Question
from proof.prove.site import Site

Json = Any
_POLL_SECONDS = 2.0


def questions() -> Iterator[Question]:
    yield Question(
        name="change set",
        guards="CloudFormation takes the template with its conditions and its transform",
        ask=_takes_the_template,
        expected={"taken": True},
    )
    yield Question(
        name="change set without what ActionTarget=webhook needs",
        guards="the template's rules refuse what could never work",
        ask=_refuses_by_a_rule,
        expected={"taken": False},
    )


def _takes_the_template(site: Site, broken: bool) -> Json:
    body = _packaged(site.bucket())
    if broken:
        body["Resources"]["Pipe"]["Properties"]["Source"] = {"Fn::GetAtt": ["NoSuchQueue", "Arn"]}
    return _change_set(site, f"{site.run}-{'broken' if broken else 'whole'}", body)


def _refuses_by_a_rule(site: Site, broken: bool) -> Json:
    body = _packaged(site.bucket())
    if broken:
        del body["Rules"]
    name = f"{site.run}-{'unruled' if broken else 'ruled'}"
    return _change_set(site, name, body, ActionTarget="webhook")


def _change_set(site: Site, name: str, body: Json, **parameters: str) -> Json:
    text = json.dumps(body).encode()
    site.client("s3").put_object(Bucket=site.bucket(), Key=f"{name}.json", Body=text)
    site.ledger.creating("stack", name)
    try:
        site.client("cloudformation").create_change_set(
            StackName=name,
            ChangeSetName=name,
            ChangeSetType="CREATE",
            Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
            TemplateURL=f"{site.client('s3').meta.endpoint_url}/{site.bucket()}/{name}.json",
            Parameters=[
                {"ParameterKey": parameter, "ParameterValue": value}
                for parameter, value in parameters.items()
            ],
        )
    except ClientError as refusal:
        if refusal.response["Error"]["Code"] != "ValidationError":
            raise
        return {"taken": False, "because": refusal.response["Error"]["Message"]}
    return _settled(site, name)


def _settled(site: Site, name: str) -> Json:
    cloudformation = site.client("cloudformation")
    while True:
        answer = cloudformation.describe_change_set(StackName=name, ChangeSetName=name)
        if answer["Status"] not in ("CREATE_PENDING", "CREATE_IN_PROGRESS"):
            break
        site.wait(_POLL_SECONDS)
    if answer["Status"] != "CREATE_COMPLETE":
        return {"taken": False, "because": answer.get("StatusReason", answer["Status"])}
    return {"taken": True, "resources": len(answer["Changes"])}


def _packaged(bucket: str) -> Json:
    """With what SAM builds and uploads named as if it had been. CloudFormation looks at none of it
    before it creates something."""
    whole = template()
    for name, resource in whole["Resources"].items():
        for field in ("CodeUri", "DefinitionUri"):
            if field in resource.get("Properties", {}):
                resource["Properties"][field] = f"s3://{bucket}/{name}"
    return whole
