"""How fast the enrichment, the audit and the commands that answer are."""

from collections.abc import Mapping
from typing import Any

from bench import recorded
from bench.numbers.tables import table

MEGABYTE = 1_000_000


def speed() -> str:
    measured, action = recorded.read("enrichment"), recorded.read("data_action")
    mixed, alone, large = measured["mixed"], measured["alone"], measured["snapshots"]
    call, memory = action["warm_call"]["genesys"], action["memory"]
    sizes = ", ".join(
        f"{one['times_parse_and_hash']:.1f} times at {size}" for size, one in large.items()
    )
    return (
        f"Of mixed batches of ten, each seen once, the enrichment takes "
        f"{mixed['enrichment_us']:.0f} µs an event on this machine: "
        f"{mixed['times_parse_and_hash']:.2f} times `json.loads` and SHA-256 of the same event, "
        f"{mixed['times_powertools']:.2f} times Powertools' EventBridge parser with its "
        f"idempotency key, {mixed['times_powertools_without_parser']:.2f} times the key without "
        f"the parser. Of batches of one it takes {alone['enrichment_us']:.0f} µs "
        f"({alone['times_parse_and_hash']:.2f}, {alone['times_powertools']:.2f}); of snapshots "
        f"{sizes}. {_goals(measured)} Importing it takes {measured['import']['ratio']:.2f} times "
        f"`import pydantic`, and its package is "
        f"{measured['package']['zipped_bytes'] / MEGABYTE:.1f} MB. The data action adds "
        f"{call['added_median_ms']:.1f} ms to a call, and needs {memory['with_runtime_mb']} MB of "
        f"its 128 with the largest body and Lambda's own; to start, "
        f"{memory['start_processor_ms']:.0f} ms of a processor.{_busy(measured)}\n"
    )


def _goals(measured: Mapping[str, Any]) -> str:
    words = {"times_parse_and_hash": "parsing and hashing", "times_powertools": "Powertools"}
    said = []
    for name, goal in measured["goals"].items():
        over = measured["mixed"][name] / goal - 1
        missed = f"missed by {over:.0%}" if over > 0 else "met"
        said.append(f"{goal} times {words[name]}, {missed}")
    return f"The goals were {', and '.join(said)}."


def _busy(measured: Mapping[str, Any]) -> str:
    under = measured["measuredUnder"]
    if under["load"] <= under["cores"]:
        return ""
    return (
        f" The machine was busy when it was measured, load {under['load']:.0f} on "
        f"{under['cores']} cores: to be measured again (`python -m bench.enrichment`)."
    )


def parts() -> str:
    """Where the enrichment's time goes."""
    measured = recorded.read("enrichment")
    return table(
        ["microseconds of an event", ""],
        [[name, f"{us:.1f}"] for name, us in measured["parts"].items()],
    )


def copies() -> str:
    result = recorded.read("copies")
    runs = [
        f"{run['settled']:.1%} of {run['pairs']} where the destination answers after "
        f"{run['answersMs'] / 1000:g} s (half of the pairs within {run['secondsMedian']:.1f} s)"
        for run in result["runs"]
    ]
    low, high = result["apartMs"]
    return (
        f"Copies that come {low} to {high} ms after their first, one a batch, on the embedded AWS "
        f"with production's times: settled in the same delivery, without being handed back, "
        f"{', '.join(runs)}.\n"
    )


def audit_line() -> str:
    result = recorded.read("audit")
    return (
        f"{result['events']:,} events, {result['megabytes']:,} MB of them, took "
        f"{result['wallSeconds']:.0f} s on two cores that other work shared (load "
        f"{result['loadAtTheEnd']}),\n{result['processorSeconds']:.0f} s of processor time, and "
        f"{result['peakMegabytes']} MB of memory in all processes together. On "
        f"{result['streams']:,}\nrandom streams {result['disagreements']} verdicts differed from "
        "the definition's.\n"
    )


def answers_line() -> str:
    measured = recorded.read("answers")
    seconds, searches = measured["seconds"], measured["searches"]
    return (
        f"On a stack whose outcome log got {measured['records']:,} records in a day, "
        f"`once explain` of a conversation\nanswers in {seconds['explain']} s and `once status` in "
        f"{seconds['status']} s, the start of the command included. They search\nthe log "
        f"{_times(searches['explain'])} and {_times(searches['status'])}.\n"
    )


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")
