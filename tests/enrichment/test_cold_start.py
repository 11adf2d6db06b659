"""A cold start loads little, and the package that it loads it from is small."""

import io
import json
import statistics
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from enrichment import handler

from proof.embedded import Embedded
from tests.enrichment.examples import conversation, presence, snapshot
from tests.enrichment.sending import element, record

PACKAGE = Path(handler.__file__).parents[1]
MOST_IMPORT_RATIO = 1.5
MOST_ZIPPED_BYTES = 4 * 1024 * 1024
PRINT = "print(sorted({'boto3', 'botocore', 'pydantic'} & set(sys.modules)))"


def run(code: str, text: str = "") -> str:
    """What a fresh interpreter prints."""
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
    code = f"import json, sys, enrichment.handler as h; h.handler(json.load(sys.stdin), 0); {PRINT}"
    return run(code, json.dumps(batch))


def test_usual_events_load_neither_boto3_nor_pydantic() -> None:
    usual = [conversation("user.start"), presence(), snapshot(), "no event"]
    assert loaded_by(*(record(event, str(n)) for n, event in enumerate(usual))) == "[]"


def test_a_replayed_element_loads_pydantic_and_an_overflow_boto3() -> None:
    assert loaded_by(record(element(presence()))) == "['pydantic']"
    code = f"import sys, enrichment.bucket as b; b._client(); {PRINT}"
    assert "boto3" in run(f"import os; os.environ['AWS_DEFAULT_REGION'] = 'eu-central-1'; {code}")


def test_importing_it_costs_little_more_than_pydantic() -> None:
    """By processor time, of interpreters in turns; bench/enrichment.py records the time itself."""

    def seconds(module: str) -> float:
        clock = "time.process_time()"
        return float(run(f"import time; at = {clock}; import {module}; print({clock} - at)"))

    modules = ("pydantic", "enrichment.handler")
    ratios = [ours / theirs for theirs, ours in [map(seconds, modules) for _ in range(6)][1:]]
    assert statistics.median(ratios) <= MOST_IMPORT_RATIO, ratios


@pytest.mark.embedded
def test_the_built_package_is_small(embedded: Embedded) -> None:
    folder = embedded.stack.built / "EnrichmentFunction"
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in folder.rglob("*"):
            archive.write(path, path.relative_to(folder))
    assert "pydantic_core/__init__.py" in archive.namelist()
    assert len(zipped.getvalue()) <= MOST_ZIPPED_BYTES
