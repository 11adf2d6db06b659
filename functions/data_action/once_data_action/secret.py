"""The destination's credentials: read once per environment, and again when they are refused."""

import contextlib
import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from .errors import NotConfigured, NotNow

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient

# How long a refusal is taken for granted, so that not each event asks again.
REMEMBERED_MS = 30_000

_TEXT = re.compile(r"[ -~]+")


class Secret:
    """A JSON object of texts in Secrets Manager."""

    def __init__(
        self,
        arn: str,
        fields: tuple[str, ...],
        client: "SecretsManagerClient",
        now_ms: Callable[[], int],
    ) -> None:
        self._arn = arn
        self._fields = fields
        self._client = client
        self._now_ms = now_ms
        self._values: dict[str, str] | None = None
        self._unchanged_until_ms = 0

    def values(self) -> dict[str, str]:
        if self._values is None:
            self._values = self._read()
        return self._values

    def has_changed(self) -> bool:
        """Reads it again after its values were refused, unless that was in vain a moment ago."""
        now_ms = self._now_ms()
        if now_ms < self._unchanged_until_ms:
            return False
        before = self._values
        # If it cannot be read now, it is what it was.
        with contextlib.suppress(NotNow):
            self._values = self._read()
        if self._values == before:
            self._unchanged_until_ms = now_ms + REMEMBERED_MS
        return self._values != before

    def _read(self) -> dict[str, str]:
        try:
            text = self._client.get_secret_value(SecretId=self._arn)["SecretString"]
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if (
                code == "ThrottlingException"
                or error.response["ResponseMetadata"]["HTTPStatusCode"] >= 500
            ):
                raise NotNow("Secrets Manager could not answer: nothing was sent") from None
            raise NotConfigured(
                f"the destination's secret could not be read ({code}); "
                "check DestinationSecretArn and the function's role",
                for_all=True,
            ) from None
        except BotoCoreError:
            raise NotNow("Secrets Manager was not reached: nothing was sent") from None
        except KeyError:
            raise self._malformed() from None
        try:
            content = json.loads(text)
        except (ValueError, RecursionError):
            raise self._malformed() from None
        if not isinstance(content, dict):
            raise self._malformed()
        values = {}
        for name in self._fields:
            value = content.get(name)
            if not isinstance(value, str) or not _TEXT.fullmatch(value):
                raise self._malformed()
            values[name] = value
        return values

    def _malformed(self) -> NotConfigured:
        wanted = ", ".join(f'"{name}": "..."' for name in self._fields)
        return NotConfigured(
            f"the destination's secret is not JSON text of the form {{{wanted}}} in plain ASCII",
            for_all=True,
        )
