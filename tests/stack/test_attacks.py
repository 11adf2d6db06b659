"""Attacks on the servers of the local stack: by a web page, by DNS rebinding, by another user."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode

import pytest

from once.genesys.server import ALWAYS, KEY_HEADER, RECEIVED, RULES
from once.local.aws import ACCOUNT
from once.stack.running import FOLDER
from proof.shared_stack import SharedStack

TOKEN = "X-Amz-Security-Token"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
OF_PAGES = (
    {"Origin": "http://127.0.0.1:9"},
    {"Origin": "null"},
    {"Referer": "https://example.com/"},
    {"Sec-Fetch-Site": "none"},
)
FOREIGN_HOSTS = ("rebind.example:{port}", "localhost:{port}", "127.0.0.1:1", "")


def create_queue(name: str) -> str:
    return urlencode({"Action": "CreateQueue", "QueueName": name})


def queues(local: SharedStack) -> list[str]:
    urls = local.client("sqs").list_queues(QueueNamePrefix="by-").get("QueueUrls", [])
    return [url.rpartition("/")[2] for url in urls]


def port_of(address: str) -> int:
    return int(address.rpartition(":")[2])


def ask(
    port: int, headers: Mapping[str, str], method: str = "POST", path: str = "/", body: str = ""
) -> int:
    """Sends these headers, and of its own only Content-Length and, if it is left out, Host."""
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.putrequest(method, path, "Host" in headers, skip_accept_encoding=True)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            connection.putheader(name, value)
        connection.endheaders(body.encode())
        return connection.getresponse().status
    finally:
        connection.close()


def test_page_host_and_stranger_are_refused_by_the_emulator(local: SharedStack) -> None:
    port, key = port_of(local.up.endpoint), {TOKEN: local.up.key}
    hosts = [{**key, "Host": host.format(port=port)} for host in FOREIGN_HOSTS]
    pages = [{**key, **headers} for headers in OF_PAGES]
    strangers = [{}, {TOKEN: ""}, {TOKEN: "guessed"}, {"Authorization": ACCOUNT}]
    for headers in [*hosts, *pages, *strangers]:
        status = ask(port, {**FORM, **headers}, body=create_queue("by-attack"))
        assert status == 403, headers
    assert ask(port, {**FORM, **key}, path=f"/?{urlencode({TOKEN: 'guessed'})}") == 403
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        **key,
    }
    assert ask(port, upgrade, "GET", "/_aws/execute-api/any/stage") == 403
    for path in ("/health", "/_ministack/reset", "/_aws/x"):
        assert ask(port, {}, "POST", path) == 403
    assert ask(port, {}, "GET", "/_ministack/health") == 200
    assert ask(port, {**FORM, **key}, body=create_queue("by-owner")) == 200
    assert "by-attack" not in queues(local)
    assert "by-owner" in queues(local)


def test_destination_is_controlled_with_its_key_alone(local: SharedStack) -> None:
    port, key = port_of(local.up.genesys), {KEY_HEADER: local.up.genesys_key}
    hosts = [{**key, "Host": host.format(port=port)} for host in FOREIGN_HOSTS]
    pages = [{**key, **headers} for headers in OF_PAGES]
    for method, path in (("GET", RECEIVED), ("GET", ALWAYS), ("PUT", ALWAYS), ("PUT", RULES)):
        for headers in [{}, {KEY_HEADER: "guessed"}, *hosts, *pages]:
            assert ask(port, headers, method, path, '"reset"') == 403, headers
    assert ask(port, key, "GET", ALWAYS) == 200


@pytest.mark.skipif(
    os.getuid() != 0 or shutil.which("curl") is None,
    reason="acting as another user takes root, and curl",
)
def test_another_user_is_refused_and_cannot_read_the_keys(local: SharedStack) -> None:
    curl = ["curl", "-s", "--noproxy", "*", "-o", "/dev/null", "-w", "%{http_code}"]
    said = subprocess.run(
        [*curl, local.up.endpoint, "-d", create_queue("by-nobody")],
        capture_output=True,
        text=True,
        timeout=30,
        user="nobody",
    )
    assert said.stdout == "403"
    assert "by-nobody" not in queues(local)
    local.folder.chmod(0o755)
    (local.folder / FOLDER).chmod(0o755)  # the file alone must keep them out
    read = subprocess.run(
        ["sh", "-c", f"cat {local.folder}/.once/stack.json /proc/[0-9]*/environ"],
        capture_output=True,
        user="nobody",
    )
    assert b"Permission denied" in read.stderr
    for key in (local.up.key, local.up.genesys_key):
        assert key.encode() not in read.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="reads arguments from /proc")
def test_no_key_is_in_an_argument(local: SharedStack) -> None:
    arguments = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline")]
    assert any(b"server.py" in line for line in arguments)
    assert not any(local.up.key.encode() in line for line in arguments)


def test_function_has_an_empty_home(local: SharedStack) -> None:
    code = "import os\ndef handler(*_):\n    home = os.path.expanduser('~')\n"
    code += "    return [home, os.listdir(home)]\n"
    local.create_function("by-home", code)
    answer = local.client("lambda").invoke(FunctionName="by-home")
    home, files = json.load(answer["Payload"])
    assert files == []
    assert home != os.path.expanduser("~")
