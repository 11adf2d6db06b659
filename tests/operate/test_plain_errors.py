"""One message that says what to do, where credentials, region, profile or stack are wrong."""

from pathlib import Path
from typing import Any

import botocore.exceptions as aws
import pytest

from once.operate import running
from once.operate.refusals import plain
from once.operate.stack import Stack
from proof.deployed import DeployedStack
from tests.operate.conftest import once

VARIABLES = (
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_PROFILE",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
)


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine on which nothing of AWS is configured, and nothing is reached."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.chdir(tmp_path)


def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "123456789012")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")


def refusal(*command: str) -> str:
    answer = once(*command)
    assert answer.code == 1
    assert answer.out == ""
    assert "Traceback" not in answer.err
    return answer.err


def test_without_a_region() -> None:
    said = refusal("status", "--stack", "ours")
    assert "No region is set" in said
    assert "--region eu-central-1" in said
    assert "No local stack" not in said, "a deployed one is meant"


def test_without_the_local_stack_that_was_up() -> None:
    assert "No local stack is up in this folder, and on AWS: No region is set" in refusal("status")


def test_with_a_region_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    credentials(monkeypatch)
    assert "written like eu-central-1" in refusal("status", "--region", "eu central 1")


def test_without_credentials() -> None:
    assert "--profile" in refusal("status", "--region", "eu-central-1")


def test_with_a_profile_that_does_not_exist() -> None:
    said = refusal("status", "--profile", "nobodys")
    assert "nobodys" in said
    assert "aws configure list-profiles" in said


def test_without_a_way_to_aws(monkeypatch: pytest.MonkeyPatch) -> None:
    credentials(monkeypatch)
    assert "cannot be reached" in refusal("status", "--region", "eu-central-1")


def test_the_stack_of_samconfig_is_meant_and_its_region(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "samconfig.toml").write_text(
        '[default.global.parameters]\nstack_name = "ours"\n'
        '[default.deploy.parameters]\nregion = "eu-west-1"\n'
    )
    credentials(monkeypatch)
    stack = Stack.find(None, None, None)
    assert (stack.name, stack.client("sqs").meta.region_name) == ("ours", "eu-west-1")
    other = Stack.find("theirs", "eu-north-1", None)
    assert (other.name, other.client("sqs").meta.region_name) == ("theirs", "eu-north-1")


def test_a_samconfig_that_is_no_toml(tmp_path: Path) -> None:
    (tmp_path / "samconfig.toml").write_text("stack_name: ours")
    assert "is not TOML" in refusal("status")


def test_the_local_stack_has_neither_region_nor_profile() -> None:
    assert "leave them out" in refusal("status", "--stack", "local", "--region", "eu-west-1")
    assert running.find() is None


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("ExpiredToken", "have expired"),
        ("ExpiredTokenException", "have expired"),
        ("RequestExpired", "have expired"),
        ("InvalidClientTokenId", "does not know these credentials"),
        ("UnrecognizedClientException", "does not know these credentials"),
        ("SignatureDoesNotMatch", "does not know these credentials"),
        ("InvalidSignatureException", "does not know these credentials"),
        ("AuthFailure", "does not know these credentials"),
        ("AccessDenied", "operator-policy.json"),
        ("AccessDeniedException", "operator-policy.json"),
        ("AuthorizationError", "operator-policy.json"),
        ("UnauthorizedOperation", "operator-policy.json"),
        ("KMS.AccessDeniedException", "operator-policy.json"),
        ("ValidationError", "AWS refused DescribeStacks: why (ValidationError)"),
        ("ThrottlingException", "AWS refused DescribeStacks: why (ThrottlingException)"),
    ],
)
def test_what_aws_refuses(code: str, said: str) -> None:
    error = aws.ClientError({"Error": {"Code": code, "Message": "why"}}, "DescribeStacks")
    assert said in str(plain(error, is_local=False))


@pytest.mark.parametrize(
    "error",
    [
        aws.SSOTokenLoadError(profile_name="work", error_msg="the token has expired"),
        aws.TokenRetrievalError(provider="sso", error_msg="it has expired"),
        aws.PartialCredentialsError(provider="env", cred_var="AWS_SECRET_ACCESS_KEY"),
    ],
)
def test_a_login_that_is_over(error: Any) -> None:
    assert "aws sso login" in str(plain(error, is_local=False))


def test_a_local_stack_that_hangs_is_told_from_aws() -> None:
    said = str(plain(aws.EndpointConnectionError(endpoint_url="http://127.0.0.1:1"), True))
    assert "once down, once up" in said


@pytest.mark.local
def test_with_a_stack_that_does_not_exist_or_is_not_ours(
    local: DeployedStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    credentials(monkeypatch)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "000000000000")
    monkeypatch.setenv("AWS_ENDPOINT_URL", local.stack.aws.endpoint)
    monkeypatch.setenv("AWS_SESSION_TOKEN", local.stack.aws.key)
    said = refusal("status", "--stack", "no-such-stack", "--region", "eu-central-1")
    assert "no-such-stack does not exist" in said
    assert "--profile" in said
    template = '{"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}}'
    local.client("cloudformation").create_stack(StackName="theirs", TemplateBody=template)
    said = refusal("status", "--stack", "theirs", "--region", "eu-central-1")
    assert "is not one of genesys-once" in said
    answer = once("status", "--stack", "once", "--region", "eu-central-1")
    assert "the stack once in eu-central-1, account 000000000000" in answer.out


@pytest.mark.local
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "Cannot read events.jsonl: there is no such file"),
        ("\n\n", "holds no events"),
        ("\x00", "it is no text"),
    ],
)
def test_with_a_file_of_events_that_cannot_be_sent(
    operated: DeployedStack,  # noqa: ARG001
    content: str | None,
    said: str,
) -> None:
    if content is not None:
        Path("events.jsonl").write_text(content)
    assert said in refusal("send", "events.jsonl", "--yes")
