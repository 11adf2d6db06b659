"""Shows how fast the enrichment, the audit, the data action and some commands are."""

from collections.abc import Mapping
from typing import Any

from bench import recorded

MEGABYTE = 1_000_000


def speed() -> str:
    measured, action = recorded.read("enrichment"), recorded.read("data_action")
    mixed, call, memory = measured["mixed"], action["warm_call"]["genesys"], action["memory"]
    sizes = ", ".join(f"{ms:.1f} ms at {size}" for size, ms in measured["snapshots"].items())
    return (
        f"- **The enrichment** takes {mixed['median_ms']:.1f} ms (median) and "
        f"{mixed['p99_ms']:.1f} ms (p99) for a batch of ten mixed events; `json.loads` and SHA-256 "
        f"alone take {mixed['parse_and_hash_median_ms']:.1f} ms.\n"
        f"  A snapshot takes {sizes}. The package has "
        f"{measured['package']['zipped_bytes'] / MEGABYTE:.1f} MB. Its import takes "
        f"{measured['import']['ratio']:.2f} times as long as that of pydantic with one model."
        f"{_busy(measured)}\n"
        f"- **The data action** adds {call['added_median_ms']:.1f} ms to a request. It needs "
        f"{memory['with_runtime_mb']} of its 128 MB for the largest body, and "
        f"{memory['start_processor_ms']:.0f} ms of processor time to start.\n"
    )


def _busy(measured: Mapping[str, Any]) -> str:
    under = measured["measuredUnder"]
    if under["load"] <= under["cores"]:
        return ""
    return f" The machine was busy meanwhile: load {under['load']:.0f} on {under['cores']} cores."


def copies() -> str:
    result = recorded.read("copies")
    runs = [
        f"If the destination responds after {run['answersMs'] / 1000:g} s, {run['settled']:.0%} of "
        f"{run['pairs']} copies were settled in their first delivery, half of them within "
        f"{run['secondsMedian']:.1f} s of it."
        for run in result["runs"]
    ]
    low, high = result["apartMs"]
    return (
        f"- **A copy that meets a claim in progress**, {low} to {high} ms after the first message, "
        f"waits in its execution. {' '.join(runs)} This is on the emulator, with production's "
        "times and batches of one.\n"
    )


def audit() -> str:
    result = recorded.read("audit")
    return (
        f"{result['events']:,} events ({result['megabytes']:,} MB) took "
        f"{result['wallSeconds']:.0f} s on two busy cores (load {result['loadAtTheEnd']}), "
        f"{result['processorSeconds']:.0f} s of processor\ntime, and {result['peakMegabytes']} MB "
        f"of memory in all processes together. On {result['streams']:,} random streams "
        f"{result['disagreements']} verdicts\ndiffered from the definition's.\n"
    )


def answers() -> str:
    measured = recorded.read("answers")
    seconds, searches = measured["seconds"], measured["searches"]
    return (
        f"- **The commands:** with {measured['records']:,} records of one day in the outcome log, "
        f"`once explain` of a conversation takes {seconds['explain']} s and `once status` "
        f"{seconds['status']} s on the emulator, with {searches['explain']} and "
        f"{searches['status']} searches of the log. The log of AWS was not tried.\n"
    )
