"""Attacks on the servers of the local stack: by a web page, by DNS rebinding, by another user."""

import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import ProxyHandler, build_opener

import pytest
from playwright.sync_api import Browser, Page

from once.genesys.server import KEY_HEADER, GenesysServer
from once.local.aws import ACCOUNT, Emulator
from once.operate.running import Running, kept
from proof.console import chromium

pytestmark = pytest.mark.local

TOKEN = "X-Amz-Security-Token"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
OF_PAGES = (
    {"Origin": "http://127.0.0.1:9"},
    {"Origin": "null"},
    {"Referer": "https://example.com/"},
    {"Sec-Fetch-Site": "none"},
    {"Sec-Fetch-Mode": "no-cors"},
)
FOREIGN_HOSTS = ("rebind.example:{port}", "rebind.example", "localhost:{port}", "127.0.0.1:1", "")


def create_queue(name: str) -> str:
    return urlencode({"Action": "CreateQueue", "QueueName": name})


@pytest.fixture(scope="module")
def aws() -> Iterator[Emulator]:
    with Emulator.start() as running:
        yield running


def queues(aws: Emulator) -> list[str]:
    urls: list[str] = aws.client("sqs").list_queues().get("QueueUrls", [])
    return [url.rpartition("/")[2] for url in urls]


def ask(
    port: int, headers: Mapping[str, str], method: str = "POST", path: str = "/", body: str = ""
) -> tuple[int, bytes]:
    """Sends these headers, and of its own only Content-Length and, if it is left out, Host."""
    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.putrequest(method, path, "Host" in headers, skip_accept_encoding=True)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            connection.putheader(name, value)
        connection.endheaders(body.encode())
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_a_request_with_the_key_is_answered_in_header_and_query(aws: Emulator) -> None:
    body = create_queue("mine")
    assert ask(aws.port, {**FORM, TOKEN: aws.key}, body=body)[0] == 200
    assert ask(aws.port, FORM, path=f"/?{urlencode({TOKEN: aws.key})}", body=body)[0] == 200
    assert "mine" in queues(aws)


def test_a_presigned_request_is_answered(aws: Emulator) -> None:
    s3 = aws.client("s3")
    s3.create_bucket(
        Bucket="mine", CreateBucketConfiguration={"LocationConstraint": s3.meta.region_name}
    )
    s3.put_object(Bucket="mine", Key="k", Body=b"content")
    url = s3.generate_presigned_url("get_object", Params={"Bucket": "mine", "Key": "k"})
    assert TOKEN in url
    with build_opener(ProxyHandler({})).open(url, timeout=20) as answer:
        assert answer.read() == b"content"


@pytest.mark.parametrize("headers", OF_PAGES, ids=str)
def test_the_header_of_a_page_is_refused_even_with_the_key(
    aws: Emulator, headers: dict[str, str]
) -> None:
    given = {**FORM, TOKEN: aws.key, **headers}
    status, said = ask(aws.port, given, body=create_queue("by-page"))
    assert (status, "web page" in json.loads(said)["message"]) == (403, True)
    assert "by-page" not in queues(aws)


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
def test_a_foreign_host_is_refused_even_with_the_key(aws: Emulator, host: str) -> None:
    given = {**FORM, TOKEN: aws.key, "Host": host.format(port=aws.port)}
    assert ask(aws.port, given, body=create_queue("by-host"))[0] == 403
    assert "by-host" not in queues(aws)


@pytest.mark.parametrize("token", [{}, {TOKEN: ""}, {TOKEN: "guessed"}, {"Authorization": ACCOUNT}])
def test_a_request_without_the_key_is_refused(aws: Emulator, token: dict[str, str]) -> None:
    assert ask(aws.port, {**FORM, **token}, body=create_queue("by-guess"))[0] == 403
    assert "by-guess" not in queues(aws)


def test_two_keys_are_refused(aws: Emulator) -> None:
    path = f"/?{urlencode({TOKEN: 'guessed'})}"
    assert ask(aws.port, {**FORM, TOKEN: aws.key}, path=path)[0] == 403


@pytest.mark.parametrize("path", ["/health", "/_ministack/ready", "/_ministack/reset", "/_aws/x"])
def test_only_the_health_path_needs_no_key(aws: Emulator, path: str) -> None:
    assert ask(aws.port, {}, "GET", "/_ministack/health")[0] == 200
    assert ask(aws.port, OF_PAGES[0], "GET", "/_ministack/health")[0] == 403
    for method in ("GET", "POST", "OPTIONS"):
        assert ask(aws.port, {}, method, path)[0] == 403


def test_a_websocket_is_refused(aws: Emulator) -> None:
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        TOKEN: aws.key,
    }
    path = "/_aws/execute-api/any/stage"
    assert ask(aws.port, upgrade, "GET", path)[0] == 403


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
@pytest.mark.parametrize("host", ["rebind.example", "example.com"])
def test_curl_under_a_foreign_name_is_refused(aws: Emulator, host: str) -> None:
    name = f"{host}:{aws.port}"
    said = curl("--resolve", f"{name}:127.0.0.1", f"http://{name}/", "-d", create_queue("by-curl"))
    assert said.stdout == "403"
    assert "by-curl" not in queues(aws)


def curl(*arguments: str, user: str | None = None) -> subprocess.CompletedProcess[str]:
    """Prints the status of the answer."""
    command = ["curl", "-s", "--noproxy", "*", "-o", "/dev/null", "-w", "%{http_code}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=20, user=user)


@contextmanager
def another_origin() -> Iterator[str]:
    """Serves an empty page on a port of its own, as a tab of the developer's browser shows it."""

    class Empty(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>any page</title>")

        def log_message(self, *_: object) -> None:
            """Prints nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Empty) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    with another_origin() as address:
        context = browser.new_context()
        opened = context.new_page()
        opened.goto(address)
        yield opened
        context.close()


FETCH = """async ([url, method, mode, body]) => {
    const request = {method, mode, referrerPolicy: "no-referrer"};
    if (method === "POST") request.body = new URLSearchParams(body);
    try { return (await fetch(url, request)).status; } catch { return "blocked"; }
}"""


SUBMIT = """([action, fields]) => {
    const form = document.createElement("form");
    Object.assign(form, {method: "post", action});
    for (const [name, value] of Object.entries(fields))
        form.append(Object.assign(document.createElement("input"), {name, value}));
    document.body.append(form);
    form.submit();
}"""


@pytest.mark.parametrize("mode", ["no-cors", "cors"])
@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("with_key", [False, True])
def test_a_page_of_another_origin_cannot_fetch(
    aws: Emulator, page: Page, mode: str, method: str, with_key: bool
) -> None:
    body = create_queue("by-fetch")
    query = urlencode({TOKEN: aws.key}) if with_key else ""
    query += f"&{body}" if method == "GET" else ""
    read = page.evaluate(FETCH, [f"{aws.endpoint}/?{query}", method, mode, body])
    assert read == (0 if mode == "no-cors" else "blocked")
    assert "by-fetch" not in queues(aws)


@pytest.mark.parametrize("with_key", [False, True])
def test_a_page_of_another_origin_cannot_post_a_form(
    aws: Emulator, browser: Browser, with_key: bool
) -> None:
    with another_origin() as address:
        page = browser.new_page()
        page.goto(address)
        query = urlencode({TOKEN: aws.key}) if with_key else ""
        with page.expect_navigation() as navigation:
            page.evaluate(
                SUBMIT,
                [f"{aws.endpoint}/?{query}", {"Action": "CreateQueue", "QueueName": "by-form"}],
            )
        assert navigation.value is not None
        assert navigation.value.status == 403
        page.close()
    assert "by-form" not in queues(aws)


def test_a_page_cannot_rebind_its_name_to_this_machine(aws: Emulator, browser: Browser) -> None:
    rebound = browser.browser_type.launch(
        executable_path=chromium(),
        args=[
            "--no-sandbox",
            "--host-resolver-rules=MAP rebind.example 127.0.0.1",
            # Newer versions of Chromium ask the user first, which not every browser does.
            "--disable-features=LocalNetworkAccessChecks",
        ],
    )
    page = rebound.new_page()
    own = f"http://rebind.example:{aws.port}"
    # The page itself came from the attacker's server, before its name led here.
    page.route(f"{own}/attack", lambda route: route.fulfill(body="<!doctype html>"))
    page.goto(f"{own}/attack")
    query = urlencode({TOKEN: aws.key})
    read = page.evaluate(
        FETCH, [f"{own}/?{query}&{create_queue('by-rebinding')}", "GET", "same-origin", ""]
    )
    rebound.close()
    assert read == 403
    assert "by-rebinding" not in queues(aws)


another_user = pytest.mark.skipif(
    os.getuid() != 0 or shutil.which("curl") is None,
    reason="acting as another user takes root, and curl",
)


@another_user
def test_another_user_is_refused(aws: Emulator) -> None:
    said = curl(aws.endpoint, "-d", create_queue("by-nobody"), user="nobody")
    assert said.stdout == "403"
    assert "by-nobody" not in queues(aws)


@another_user
def test_another_user_cannot_read_the_keys(aws: Emulator) -> None:
    with tempfile.TemporaryDirectory() as shared, GenesysServer() as destination:
        Path(shared).chmod(0o755)
        folder = Path(shared, ".once")
        with kept(folder) as note:
            note(Running.here(aws, destination, "once"))
            folder.chmod(0o755)  # the file alone must keep them out
            read = subprocess.run(
                ["sh", "-c", f"cat {folder}/stack.json /proc/[0-9]*/environ /proc/[0-9]*/cmdline"],
                capture_output=True,
                user="nobody",
            )
    assert b"Permission denied" in read.stderr
    assert aws.key.encode() not in read.stdout
    assert destination.key.encode() not in read.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="reads arguments from /proc")
def test_no_key_is_in_an_argument(aws: Emulator) -> None:
    arguments = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline")]
    assert any(b"server.py" in one for one in arguments)
    assert not any(aws.key.encode() in one for one in arguments)


def test_a_function_has_an_empty_home(aws: Emulator) -> None:
    code = "import os\ndef handler(*_):\n    home = os.path.expanduser('~')\n"
    code += "    return [home, os.listdir(home)]\n"
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as package:
        package.writestr("function.py", code)
    functions = aws.client("lambda")
    functions.create_function(
        FunctionName="home",
        Runtime=f"python{sys.version_info.major}.{sys.version_info.minor}",
        Role=f"arn:aws:iam::{ACCOUNT}:role/any",
        Handler="function.handler",
        Code={"ZipFile": archive.getvalue()},
    )
    home, files = json.load(functions.invoke(FunctionName="home")["Payload"])
    assert (home, files) == (str(aws.root / "home"), [])


CONTROL = [("GET", "/once/received"), ("GET", "/once/always"), ("PUT", "/once/always")]


@pytest.mark.parametrize(("method", "path"), CONTROL)
def test_the_destination_is_controlled_with_its_key_alone(method: str, path: str) -> None:
    with GenesysServer() as destination:
        port = int(destination.url.rpartition(":")[2])
        key = {KEY_HEADER: destination.key}
        hosts = [{**key, "Host": host.format(port=port)} for host in FOREIGN_HOSTS]
        pages = [{**key, **headers} for headers in OF_PAGES]
        for headers in [{}, {KEY_HEADER: "guessed"}, *hosts, *pages]:
            assert ask(port, headers, method, path, '"reset"')[0] == 403, headers
            assert destination.answering is None
        assert ask(port, key, method, path, '"reset"')[0] == 200
