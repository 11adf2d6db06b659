"""One ministack on a loopback port of its own: started, watched and ended with all it started."""

import json
import os
import shutil
import socket
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from subprocess import Popen
from typing import Any
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

import boto3
import botocore.session
from botocore.config import Config

from once.embedded import child
from once.errors import OnceError
from once.faults import Faults, Happened

LOOPBACK = "127.0.0.1"
REGION = "eu-central-1"
ACCOUNT = "000000000000"
START_SECONDS = 30
_ATTEMPTS = 3
_HAPPENED = "faults.jsonl"
# What the extra `local` installs, by the name of its module.
_LOCAL = {"ministack": "ministack", "samcli": "aws-sam-cli", "pip": "pip"}

# What our own processes need of the caller's environment. All else stays outside: a profile, an
# endpoint or a ministack setting of the caller's would change where the run goes.
_INHERITED = ("HOME", "LANG", "LC_ALL", "PATH", "TZ", "VIRTUAL_ENV")


class EmbeddedAws:
    """A running ministack. Use it as a context manager, or call `stop`."""

    def __init__(self, root: Path, port: int, process: Popen[bytes]) -> None:
        self.root = root
        self.port = port
        self.endpoint = f"http://{LOOPBACK}:{port}"
        self._process = process
        self._clients: dict[str, Any] = {}
        self._session = session_of_nobody(root)
        # A busy machine is slow, not broken; and the standard retries would hide what happened.
        self._config = Config(
            proxies={},
            inject_host_prefix=False,
            connect_timeout=10,
            read_timeout=310,
            retries={"mode": "standard", "total_max_attempts": 2},
            max_pool_connections=64,
        )

    @classmethod
    def start(cls, faults: Faults | None = None) -> "EmbeddedAws":
        require_local()
        for _ in range(_ATTEMPTS):
            root = Path(tempfile.mkdtemp(prefix="once-"))
            port = _free_port()
            aws = cls(root, port, _spawn(root, port, faults))
            try:
                if aws._wait_until_ready():
                    return aws
                said = aws.log_tail()
            except BaseException:
                aws.stop()
                raise
            aws.stop()
            # Between finding a free port and binding it somebody else may take it.
            if "already in use" not in said:
                raise OnceError(f"The embedded AWS did not start:\n{said}")
        raise OnceError(
            f"Port {port} on {LOOPBACK} was taken by another process before the embedded AWS could "
            f"bind it, and so were those it tried before. Start again."
        )

    def client(self, service: str) -> Any:
        """A boto3 client of this AWS; one per service, safe to share between threads."""
        if service not in self._clients:
            self._clients[service] = self._session.client(
                service,
                endpoint_url=self.endpoint,
                region_name=REGION,
                aws_access_key_id=ACCOUNT,
                aws_secret_access_key="embedded",  # noqa: S106 - ministack checks none
                config=self._config,
            )
        return self._clients[service]

    def environment(self) -> dict[str, str]:
        """What a command line tool needs to talk to this AWS and to nothing else."""
        nowhere = str(self.root / "no-such-file")
        return inherited_environment() | {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ACCESS_KEY_ID": ACCOUNT,
            "AWS_SECRET_ACCESS_KEY": "embedded",
            "AWS_CONFIG_FILE": nowhere,
            "AWS_SHARED_CREDENTIALS_FILE": nowhere,
            "AWS_EC2_METADATA_DISABLED": "true",
            "SAM_CLI_POLL_DELAY": "0.2",
        }

    def alive(self) -> bool:
        return self._process.poll() is None

    def happened(self) -> list[Happened]:
        """The faults that happened in it so far."""
        noted = self.root / _HAPPENED
        lines = noted.read_text().splitlines() if noted.exists() else []
        return [Happened.model_validate_json(line) for line in lines]

    def log_tail(self, lines: int = 15) -> str:
        text = (self.root / "aws.log").read_text(errors="replace")
        return "\n".join(text.splitlines()[-lines:])

    def kill(self) -> None:
        """End the process; callers that wait for an answer get an error."""
        child.stop(self._process)

    def stop(self) -> None:
        self.kill()
        for client in self._clients.values():
            client.close()
        self._clients.clear()
        # The last of the group may die, and write, a moment after its leader.
        for _ in range(_ATTEMPTS):
            shutil.rmtree(self.root, ignore_errors=True)
            if not self.root.exists():
                break
            time.sleep(0.2)

    def __enter__(self) -> "EmbeddedAws":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _wait_until_ready(self) -> bool:
        opener = build_opener(ProxyHandler({}))
        deadline = time.monotonic() + START_SECONDS
        while self.alive() and time.monotonic() < deadline:
            try:
                with opener.open(f"{self.endpoint}/_ministack/health", timeout=2) as answer:
                    # Another ministack may have taken the port before ours came to bind it.
                    if json.load(answer).get("edition") == self.root.name:
                        return True
            except (URLError, OSError, ValueError):
                pass  # not there yet
            time.sleep(0.05)
        return False


def require_local() -> None:
    missing = [package for module, package in _LOCAL.items() if find_spec(module) is None]
    if missing:
        raise OnceError(
            f"The embedded AWS needs {' and '.join(missing)}, which the Python that runs `once` "
            f"({sys.executable}) does not have.\n"
            "Install the extra `local`: pip install 'genesys-once[local]'\n"
            "Or run once without installing: uvx --from 'genesys-once[local]' once run"
        )


def session_of_nobody(root: Path) -> Any:
    """A boto3 session that reads neither the caller's profile nor their configuration."""
    unread = (None, None, str(root / "no-such-file"), None)
    session = botocore.session.Session(
        {"profile": (None, None, None, None), "config_file": unread, "credentials_file": unread}
    )
    return boto3.session.Session(botocore_session=session)


def inherited_environment() -> dict[str, str]:
    return {name: os.environ[name] for name in _INHERITED if name in os.environ}


def _spawn(root: Path, port: int, faults: Faults | None) -> Popen[bytes]:
    temporary = root / "tmp"
    temporary.mkdir(exist_ok=True)
    environment = inherited_environment() | {
        "BIND_HOST": LOOPBACK,
        "MINISTACK_HOST": LOOPBACK,
        "MINISTACK_EDITION": root.name,
        "GATEWAY_PORT": str(port),
        "MINISTACK_REGION": REGION,
        "MINISTACK_ACCOUNT_ID": ACCOUNT,
        "TMPDIR": str(temporary),
        "S3_DATA_DIR": str(root / "s3"),
        "STATE_DIR": str(root / "state"),
        "LOG_LEVEL": "WARNING",
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        # It removes containers it thinks are its own; it must not find a Docker to do so.
        "DOCKER_HOST": f"unix://{root}/no-docker.sock",
        "AWS_ENDPOINT_URL": f"http://{LOOPBACK}:{port}",
        "AWS_ACCESS_KEY_ID": ACCOUNT,
        "AWS_SECRET_ACCESS_KEY": "embedded",
        "AWS_EC2_METADATA_DISABLED": "true",
        "NO_PROXY": LOOPBACK,
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    program, arguments = "server.py", []
    if faults is not None:
        program, arguments = "faulty_server.py", [faults.model_dump_json(), str(root / _HAPPENED)]
    server = str(Path(__file__).with_name(program))
    log = root / "aws.log"
    return child.start(server, *arguments, env=environment, log=log, cwd=root, remove=root)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port
