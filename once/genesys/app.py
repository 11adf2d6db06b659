"""`once genesys`: the imitation by itself, for a stack or a test that runs elsewhere."""

import threading
from pathlib import Path
from typing import Annotated

import typer

from once.answers import command
from once.genesys.server import GenesysServer, Received
from once.screen import say


@command("once genesys --port 8090 --script trouble.json")
def genesys(
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Port on 127.0.0.1; 0 chooses a free one.")
    ] = 8090,
    script: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="JSON file of failures (docs/data-action.md)."
        ),
    ] = None,
) -> None:
    """Play Genesys Cloud (login and data actions) and a webhook's receiver on this machine."""

    def show(entry: Received) -> None:
        facts = " ".join(f"{name}={value}" for name, value in entry.facts.items())
        verdict = "again" if entry.repeated else "acted" if entry.acted else "-"
        say(f"{entry.status or 'hung up'}  {entry.endpoint:8} {verdict:6} {facts}")

    try:
        with GenesysServer(port, script, show) as server:
            say(f"GENESYS_HOST={server.url}")
            say(f"WEBHOOK_URL={server.webhook_url}")
            say("Ctrl-C ends it.")
            threading.Event().wait()
    except KeyboardInterrupt:
        return
