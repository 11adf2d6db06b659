"""Plays Genesys Cloud (login and data actions) and a webhook's receiver on this machine, for a
stack or a test that runs elsewhere: `python -m once.genesys`."""

import argparse
import threading
from pathlib import Path

from once.errors import OnceError
from once.genesys.server import GenesysServer, Received
from once.screen import say


def main() -> None:
    """Serves until Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python -m once.genesys", description=__doc__)
    parser.add_argument("--port", type=int, default=8090, help="on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--script", type=Path, help="JSON file of failures (docs/data-action.md)")
    options = parser.parse_args()

    def show(entry: Received) -> None:
        facts = " ".join(f"{name}={value}" for name, value in entry.facts.items())
        verdict = "again" if entry.repeated else "acted" if entry.acted else "-"
        say(f"{entry.status or 'hung up'}  {entry.endpoint:8} {verdict:6} {facts}")

    try:
        with GenesysServer(options.port, options.script, show) as server:
            say(f"GENESYS_HOST={server.url}")
            say(f"WEBHOOK_URL={server.webhook_url}")
            say("Ctrl-C ends it.")
            threading.Event().wait()
    except (OnceError, OSError) as error:
        parser.exit(1, f"{error}\n")
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()
