"""Names the model of the Genesys SDK that is the body of each topic: the SDK has no such table."""

from pathlib import Path

_LINES = Path(__file__).with_name("topics.txt").read_text("utf-8").splitlines()

MODELS: dict[str, str] = {topic: model for topic, _, model in (t.partition(" ") for t in _LINES)}
"""Every topic that Genesys Cloud publishes, with the model of its body."""
