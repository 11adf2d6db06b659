"""One ministack on a loopback port of its own: started, watched and ended with all it started."""

import hashlib
import json
import os
import shutil
import site
import socket
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from subprocess import Popen
from typing import Any
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

from botocore.config import Config

from once.errors import OnceError
from once.local import child
from once.local.guard import HEALTH
from once.ports import LOOPBACK, new_key
from once.project import say_how_to_install
from once.session import open_anonymous_session

REGION = "eu-central-1"
ACCOUNT = "000000000000"
START_SECONDS = 30
_LAST_LINES = 15
_SERVER = str(Path(__file__).with_name("server.py"))
# What the extra `local` installs, by the name of its module.
_LOCAL = {"ministack": "ministack", "samcli": "aws-sam-cli", "pip": "pip"}

# What our own processes need of the caller's environment. All else stays outside: a profile, an
# endpoint or a ministack setting of the caller's would change where the run goes.
_INHERITED = ("HOME", "LANG", "LC_ALL", "PATH", "TZ", "VIRTUAL_ENV")


class Emulator:
    """A running ministack. Use it as a context manager, or call `stop`.

    It answers only callers that have `key`, which clients send as the session token.
    """

    def __init__(self, root: Path, port: int, key: str, process: Popen[bytes]) -> None:
        self.root = root
        self.port = port
        self.key = key
        self.endpoint = f"http://{LOOPBACK}:{port}"
        self._process = process
        self._clients: dict[str, Any] = {}
        self._session = open_anonymous_session()
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
    def start(cls, server: Sequence[str] = (_SERVER,)) -> "Emulator":
        """Starts `server`, a program with its arguments, and waits until it answers."""
        require_local()
        root, port, key = Path(tempfile.mkdtemp(prefix="once-")), _free_port(), new_key()
        aws = cls(root, port, key, _spawn(root, port, key, server))
        try:
            if aws._wait_until_ready():
                return aws
            raise OnceError(f"The AWS emulator did not start:\n{aws.log_tail()}")
        except BaseException:
            aws.stop()
            raise

    def client(self, service: str) -> Any:
        """Returns a boto3 client of this AWS: one per service, safe to share between threads."""
        if service not in self._clients:
            self._clients[service] = self._session.client(
                service,
                endpoint_url=self.endpoint,
                region_name=REGION,
                aws_access_key_id=ACCOUNT,
                aws_secret_access_key="local",  # noqa: S106 - ministack checks none
                aws_session_token=self.key,
                config=self._config,
            )
        return self._clients[service]

    def environment(self) -> dict[str, str]:
        """Returns the environment with which a command line tool reaches this emulator only."""
        nowhere = str(self.root / "no-such-file")
        return inherited_environment() | {
            **address(self.endpoint, self.key),
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_CONFIG_FILE": nowhere,
            "AWS_SHARED_CREDENTIALS_FILE": nowhere,
            "SAM_CLI_POLL_DELAY": "0.05",
        }

    def alive(self) -> bool:
        return self._process.poll() is None

    def log_tail(self) -> str:
        text = (self.root / "aws.log").read_text(errors="replace")
        return "\n".join(text.splitlines()[-_LAST_LINES:])

    def kill(self) -> None:
        """End the process; callers that wait for an answer get an error.

        It has nothing to keep, and takes seconds to end if it is asked.
        """
        child.kill(self._process)

    def stop(self) -> None:
        self.kill()
        for client in self._clients.values():
            client.close()
        self._clients.clear()
        # The last of the group may die, and write, a moment after its leader.
        for _ in range(3):
            shutil.rmtree(self.root, ignore_errors=True)
            if not self.root.exists():
                break
            time.sleep(0.2)

    def __enter__(self) -> "Emulator":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _wait_until_ready(self) -> bool:
        opener = build_opener(ProxyHandler({}))
        deadline = time.monotonic() + START_SECONDS
        while self.alive() and time.monotonic() < deadline:
            try:
                with opener.open(f"{self.endpoint}{HEALTH}", timeout=2) as answer:
                    # Another server may have taken the port before ours came to bind it.
                    if json.load(answer).get("edition") == _edition(self.key):
                        return True
            except (URLError, OSError, ValueError):
                pass  # not there yet
            time.sleep(0.05)
        return False


def require_local() -> None:
    missing = [package for module, package in _LOCAL.items() if find_spec(module) is None]
    if missing:
        raise OnceError(
            f"The local stack needs {' and '.join(missing)}, which the Python that runs `once` "
            f"({sys.executable}) does not have. Get them with:\n{say_how_to_install('local')}"
        )


def inherited_environment() -> dict[str, str]:
    return {name: os.environ[name] for name in _INHERITED if name in os.environ}


def address(endpoint: str, key: str) -> dict[str, str]:
    """Returns the variables by which an SDK finds the emulator, and nothing else."""
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": ACCOUNT,
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_SESSION_TOKEN": key,
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def _edition(key: str) -> str:
    """Tells our server from others before the key is sent to it."""
    return hashlib.sha256(key.encode()).hexdigest()


def _spawn(root: Path, port: int, key: str, server: Sequence[str]) -> Popen[bytes]:
    temporary, home = root / "tmp", root / "home"
    temporary.mkdir(exist_ok=True)
    home.mkdir(exist_ok=True)
    environment = inherited_environment() | {
        **address(f"http://{LOOPBACK}:{port}", key),
        # Functions inherit it. Without one, Python would look up the developer's own.
        "HOME": str(home),
        "PYTHONUSERBASE": site.getuserbase(),
        "BIND_HOST": LOOPBACK,
        "MINISTACK_HOST": LOOPBACK,
        "MINISTACK_EDITION": _edition(key),
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
        "NO_PROXY": LOOPBACK,
    }
    log = root / "aws.log"
    return child.start(*server, env=environment, log=log, cwd=root, remove=root)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port
