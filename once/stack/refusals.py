"""Says what AWS, or the connection to it, refused, and what to do next."""

from botocore import exceptions as aws

from once.errors import OnceError
from once.model import words
from once.model.findings import KINDS, OPERATOR_POLICY

_UNKNOWN = "AWS does not know these credentials."
_EXPIRED = "These credentials have expired."
_OF_CREDENTIALS = {
    "InvalidClientTokenId": _UNKNOWN,
    "UnrecognizedClientException": _UNKNOWN,
    "SignatureDoesNotMatch": _UNKNOWN,
    "InvalidSignatureException": _UNKNOWN,
    "AuthFailure": _UNKNOWN,
    "ExpiredToken": _EXPIRED,
    "ExpiredTokenException": _EXPIRED,
    "RequestExpired": _EXPIRED,
}
_NOT_ALLOWED = {
    "AccessDenied",
    "AccessDeniedException",
    "AuthorizationError",
    "UnauthorizedOperation",
    "KMS.AccessDeniedException",
}
_OF_THE_TABLE = {"GetItem", "Query", "UpdateItem", "DeleteItem", "TransactWriteItems"}
_LOG_IN = "Log in (for SSO: aws sso login), or name another profile with --profile."


def explain_refusal(error: aws.BotoCoreError | aws.ClientError, is_local: bool) -> OnceError:
    """Says what a person at the terminal can do about an error of AWS."""
    if isinstance(error, aws.ClientError):
        return OnceError(_describe_refused(error))
    if is_local:
        return OnceError(
            f"The local stack does not answer: {error}\nStart it again with: once down, once up"
        )
    return OnceError(_describe_unreached(error))


def lacks_permission(error: aws.ClientError) -> bool:
    return error.response.get("Error", {}).get("Code") in _NOT_ALLOWED


def _describe_refused(error: aws.ClientError) -> str:
    refused = error.response.get("Error", {})
    code, message = str(refused.get("Code", "")), refused.get("Message", str(error))
    if code in _OF_CREDENTIALS:
        return f"{_OF_CREDENTIALS[code]}\n{_LOG_IN}"
    if lacks_permission(error):
        return (
            f"These credentials lack a permission: {message}\n"
            f"The policy that the commands need is {OPERATOR_POLICY}."
        )
    if code == "ValidationError" and "does not exist" in message:
        return (
            f"{message}.\nName the stack with --stack, its region with --region, and whose account "
            "with --profile."
        )
    refusal = f"AWS refused {error.operation_name}: {message} ({code})."
    if error.operation_name in _OF_THE_TABLE:
        kind = KINDS["TABLE_UNREADABLE"]
        refusal = f"{refusal}\n{words.capitalise(kind.remedy)}: docs/runbook.md#{kind.page}"
    return refusal


def _describe_unreached(error: aws.BotoCoreError) -> str:
    match error:
        case aws.NoRegionError():
            return (
                "No region is set. Add --region, e.g. --region eu-central-1, or set AWS_REGION.\n"
                "To try the commands on this machine first: once up"
            )
        case aws.ProfileNotFound():
            return (
                f"{error}.\nThe profiles of this machine are listed by: aws configure list-profiles"
            )
        case aws.ConnectionError() | aws.HTTPClientError():
            return f"AWS cannot be reached: {error}\nIs the region spelled right, the network up?"
    # What is left of botocore's own errors is a login: SSO, a role, a process, or none at all.
    return f"{str(error).rstrip('.')}.\n{_LOG_IN}"
