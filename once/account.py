"""`make deploy` runs this before it builds: which AWS account and region would it deploy to?"""

import sys

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from once.project import read_samconfig

_CONFIG = Config(connect_timeout=5, retries={"total_max_attempts": 2})


def main() -> int:
    """Prints account and region, or what to set first."""
    configured = read_samconfig()
    session = boto3.session.Session(profile_name=configured.get("profile"))
    region = configured.get("region") or session.region_name
    if region is None:
        return _fail("No region is set. For example: export AWS_REGION=eu-central-1")
    if session.get_credentials() is None:
        return _fail(
            "No AWS credentials were found. For example: aws configure sso, or AWS_PROFILE"
        )
    try:
        account = session.client("sts", region, config=_CONFIG).get_caller_identity()["Account"]
    except (BotoCoreError, ClientError) as error:
        return _fail(f"AWS does not accept the credentials: {error}")
    print(f"Deploying to account {account} in {region}.")
    return 0


def _fail(why: str) -> int:
    print(why, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
