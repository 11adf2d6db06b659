"""A cold start loads little, and the package that it loads it from is small."""

import io
import json
import statistics
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from once_enrichment import handler

from bench.enrichment import ONE_MODEL
from proof.deployed import DeployedStack
from tests.enrichment.examples import conversation, presence, snapshot
from tests.enrichment.sending import element, record

PACKAGE = Path(handler.__file__).parents[1]
MOST_IMPORT_RATIO = 2
MOST_ZIPPED_BYTES = 4 * 1024 * 1024
PRINT = "print(sorted({'boto3', 'botocore', 'pydantic'} & set(sys.modules)))"


def run(code: str, text: str = "") -> str:
    """Returns what a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=text,
        env={"PYTHONPATH": str(PACKAGE)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def loaded_by(*batch: object) -> str:
    """Which heavy packages are there once a batch is enriched."""
    code = "import json, sys, once_enrichment.handler as h; h.handler(json.load(sys.stdin), 0)"
    return run(f"{code}; {PRINT}", json.dumps(batch))


def test_events_load_no_boto3_and_an_overflow_does() -> None:
    some = [conversation("user.start"), presence(), snapshot(), "no event", element(presence())]
    assert loaded_by(*(record(event, str(n)) for n, event in enumerate(some))) == "['pydantic']"
    code = f"import sys, once_enrichment.bucket as b; b._client(); {PRINT}"
    assert "boto3" in run(f"import os; os.environ['AWS_DEFAULT_REGION'] = 'eu-central-1'; {code}")


def test_import_costs_less_than_twice_that_of_pydantic_with_one_model() -> None:
    """By processor time, of interpreters in turns; bench/enrichment.py records the time itself."""

    def seconds(statements: str) -> float:
        clock = "time.process_time()"
        return float(run(f"import time; at = {clock}\n{statements}\nprint({clock} - at)"))

    both = (ONE_MODEL, "import once_enrichment.handler")
    ratios = [ours / theirs for theirs, ours in [map(seconds, both) for _ in range(6)][1:]]
    assert statistics.median(ratios) <= MOST_IMPORT_RATIO, ratios


@pytest.mark.local
def test_the_built_package_is_small(local: DeployedStack) -> None:
    folder = local.stack.built / "EnrichmentFunction"
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in folder.rglob("*"):
            archive.write(path, path.relative_to(folder))
    assert "pydantic_core/__init__.py" in archive.namelist()
    assert len(zipped.getvalue()) <= MOST_ZIPPED_BYTES
