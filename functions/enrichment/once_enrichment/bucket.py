"""Writes to the overflow bucket. boto3 is loaded only when a batch is too large."""

import os
from functools import cache
from typing import Any

from once_enrichment.contract import RetryReason
from once_enrichment.overflow import WriteError
from once_enrichment.settings import Settings


@cache
def _client() -> Any:
    import boto3
    from botocore.config import Config

    # The whole enrichment has seconds, and the message returns to the queue anyway.
    config = Config(connect_timeout=2, read_timeout=5, retries={"total_max_attempts": 2})
    return boto3.client("s3", config=config)


def write(key: str, content: bytes) -> dict[str, str]:
    """Puts an object under a key that a redelivery computes again, so it overwrites itself."""
    bucket = Settings.read(os.environ).overflow_bucket
    if not bucket:
        raise WriteError(
            RetryReason.OVERFLOW_NOT_CONFIGURED,
            "The batch is too large for the state machine and OVERFLOW_BUCKET is not set.",
        )
    try:
        _client().put_object(Bucket=bucket, Key=key, Body=content)
    except Exception as error:  # botocore's classes would cost its import on every cold start
        raise WriteError(
            RetryReason.OVERFLOW_FAILED,
            f"{bucket} did not take {key}: {type(error).__name__}.",
        ) from error
    return {"bucket": bucket, "key": key}
