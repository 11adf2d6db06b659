"""A boto3 session for the local stack: it reads neither the caller's profile nor configuration."""

import os
from typing import Any

import boto3
import botocore.session


def open_anonymous_session() -> Any:
    unread = (None, None, os.devnull, None)
    session = botocore.session.Session(
        {"profile": (None, None, None, None), "config_file": unread, "credentials_file": unread}
    )
    return boto3.session.Session(botocore_session=session)
