"""`make deploy` names what it lacks before it builds anything."""

import os
import subprocess
from pathlib import Path

import pytest

from proof.definition.asl import ROOT

CREDENTIALS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (CREDENTIALS, "No region is set."),
        ({"AWS_REGION": "eu-central-1"}, "No AWS credentials were found."),
        (
            {**CREDENTIALS, "AWS_REGION": "eu-central-1", "AWS_ENDPOINT_URL": "http://127.0.0.1:9"},
            "AWS does not accept the credentials",
        ),
    ],
)
def test_deploy_asks_for_region_and_credentials_first(
    given: dict[str, str], said: str, tmp_path: Path
) -> None:
    nowhere = str(tmp_path / "none")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": nowhere,
        "AWS_SHARED_CREDENTIALS_FILE": nowhere,
        **given,
    }
    make = ["make", "-s", "-o", ".venv/.ready", "deploy"]
    answer = subprocess.run(make, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert answer.returncode
    assert said in answer.stderr
    assert "sam build" not in answer.stdout + answer.stderr
