"""The body of an event, from the event or, where it was too large for it, from the bucket."""

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from .errors import NotConfigured, Rejected, TooLate

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_REFUSED = {"AccessDenied", "NoSuchBucket", "PermanentRedirect", "InvalidAccessKeyId"}


class Bodies:
    """Reads from one bucket only, whatever an event names. The client is made when needed."""

    def __init__(self, bucket: str, client: Callable[[], "S3Client"]) -> None:
        self._bucket = bucket
        self._client = client

    def of(self, event: Mapping[str, Any]) -> Any:
        if "body" in event:
            return event["body"]
        reference = event["bodyRef"]
        if not self._bucket or reference.get("bucket") != self._bucket:
            raise NotConfigured("the event's body is not in this stack's overflow bucket")
        try:
            answer = self._client().get_object(Bucket=self._bucket, Key=reference["key"])
            return json.loads(answer["Body"].read())
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if code == "NoSuchKey":
                raise Rejected("the event's body is no longer in the overflow bucket") from None
            if code in _REFUSED:
                raise NotConfigured(f"the overflow bucket could not be read ({code})") from None
            raise TooLate("the overflow bucket could not answer: nothing was sent") from None
        except BotoCoreError:
            raise TooLate("the overflow bucket was not reached: nothing was sent") from None
        except (KeyError, ValueError, RecursionError):
            raise Rejected("the event's body in the overflow bucket is not JSON") from None
