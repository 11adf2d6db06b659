"""How fast the enrichment and the audit are."""

from bench import recorded

MEGABYTE = 1_000_000


def speed() -> str:
    measured, action = recorded.read("enrichment"), recorded.read("data_action")
    every, steps = measured["all"], measured["steps_of_conversations"]
    call = action["warm_call"]["genesys"]
    return (
        f"The enrichment takes {every['enrichment_us']:.1f} µs an event on this machine, "
        f"{every['times_parse_and_hash']:.2f} times `json.loads` and SHA-256 of the same event, "
        f"and {every['times_powertools']:.2f} times Powertools' EventBridge parser with its "
        f"idempotency key ({steps['times_parse_and_hash']:.2f} and "
        f"{steps['times_powertools']:.2f} for the steps of conversations). Importing it takes "
        f"{measured['import']['ratio']:.2f} times `import pydantic`, and its package is "
        f"{measured['package']['zipped_bytes'] / MEGABYTE:.1f} MB. The data action adds "
        f"{call['added_median_ms']:.1f} ms to a call.\n"
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
