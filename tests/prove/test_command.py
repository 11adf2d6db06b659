"""`make prove` at the terminal: what it says before, after, and when AWS says no."""

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from typer.testing import CliRunner

from proof.prove.command import app
from proof.prove.ledger import Ledger
from proof.prove.report import without_account

RUNNER = CliRunner()


class _UnknownToken(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = b"""<ErrorResponse><Error><Code>InvalidClientTokenId</Code>
            <Message>The security token is invalid.</Message></Error></ErrorResponse>"""
        self.send_response(403)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture(autouse=True)
def somebody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Credentials of nobody, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    for name, value in {
        "AWS_ACCESS_KEY_ID": "nobody",
        "AWS_SECRET_ACCESS_KEY": "nothing",
        "AWS_REGION": "eu-central-1",
        "AWS_CONFIG_FILE": str(tmp_path / "none"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "none"),
        "AWS_MAX_ATTEMPTS": "1",
    }.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def refusing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _UnknownToken) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
        yield
        server.shutdown()


@pytest.mark.usefixtures("refusing")
def test_wrong_credentials_end_in_a_sentence() -> None:
    result = RUNNER.invoke(app, ["--yes"])
    assert result.exit_code == 1
    assert "AWS does not know these credentials (InvalidClientTokenId)." in result.output
    assert "--profile" in result.output


def test_no_network_ends_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    result = RUNNER.invoke(app, ["--yes"])
    assert result.exit_code == 1
    assert "AWS cannot be reached" in result.output


def test_the_emulator_has_no_region() -> None:
    result = RUNNER.invoke(app, ["--local", "--region", "eu-central-1"])
    assert result.exit_code == 1
    assert "is in no region and no profile" in result.output


def test_clean_without_a_run_says_so() -> None:
    assert "No run left anything" in RUNNER.invoke(app, ["--clean"]).output


def test_clean_names_the_runs_it_knows(tmp_path: Path) -> None:
    Ledger.open("once-prove-abc", {"account": "1"}, tmp_path / ".once").release()
    result = RUNNER.invoke(app, ["--clean", "once-prove-xyz"])
    assert result.exit_code == 1
    assert "These did: once-prove-abc." in result.output


@pytest.mark.local
def test_the_report_can_be_pasted_anywhere(tmp_path: Path) -> None:
    result = RUNNER.invoke(app, ["--local", "--json", "report.json"])
    assert result.exit_code == 0, result.output
    text = (tmp_path / "report.json").read_text("utf-8")
    assert not re.search(r"(?<!\d)\d{12}(?!\d)", text + result.output)
    report = json.loads(text)
    assert report["where"] == "the emulator"
    assert set(report["versions"]) >= {"genesys-once", "template.yaml", "dedupe.asl.yaml", "boto3"}
    assert report["counts"]["confirmed"] > 0
    assert list((tmp_path / ".once" / "prove").iterdir()) == []


def test_an_account_number_is_left_out_wherever_it_stands() -> None:
    said = "arn:aws:iam::123456789012:role/x, 1790000000000, 123456789012"
    assert without_account(said) == "arn:aws:iam::ACCOUNT:role/x, 1790000000000, ACCOUNT"
