"""The destination's credentials: read once per environment, and again when they are refused."""

import contextlib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from .errors import NotConfigured, NotNow
from .replies import json_object
from .steps import Clock

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient

# How long a refusal is taken for granted, so that not each event asks again.
REMEMBERED_MS = 30_000

_TEXT = re.compile(r"[ -~]+")


@dataclass
class Secret:
    """A JSON object of texts in Secrets Manager."""

    arn: str
    fields: tuple[str, ...]
    client: "SecretsManagerClient"
    now_ms: Clock
    _values: dict[str, str] | None = field(default=None, init=False, repr=False)
    _unchanged_until_ms: int = field(default=0, init=False)

    def values(self) -> dict[str, str]:
        if self._values is None:
            self._values = self._read()
        return self._values

    def has_changed(self) -> bool:
        """Reads it again after its values were refused, unless that was in vain a moment ago."""
        now_ms = self.now_ms()
        if now_ms < self._unchanged_until_ms:
            return False
        before = self._values
        # If it cannot be read now, it is what it was.
        with contextlib.suppress(NotNow):
            self._values = self._read()
        if self._values == before:
            self._unchanged_until_ms = now_ms + REMEMBERED_MS
        return self._values != before

    def _read(self) -> dict[str, Any]:
        try:
            response = self.client.get_secret_value(SecretId=self.arn)
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
        content = json_object(response.get("SecretString"))
        values = {name: content.get(name) for name in self.fields}
        if not all(isinstance(value, str) and _TEXT.fullmatch(value) for value in values.values()):
            wanted = ", ".join(f'"{name}": "..."' for name in self.fields)
            raise NotConfigured(
                f"the destination's secret is not JSON text of the form {{{wanted}}} in plain "
                "ASCII",
                for_all=True,
            )
        return values
