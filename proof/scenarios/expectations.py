"""Compares what was seen of a scenario with what its file expects, and says each difference."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from proof.scenarios.scenario import Delivery, Scenario, Strict


def differences(scenario: Scenario, seen: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    names = scenario.names()
    for delivery in scenario.all_deliveries():
        name = names[id(delivery)]
        if name in seen["deliveries"]:
            found += _of_delivery(name, delivery, seen["deliveries"][name])
        else:
            found.append(f"{name} was never delivered")
    found += _of_rows(scenario, seen["rows"])
    subjects = {m.key: m.subject for m in scenario.messages().values()}
    expected_requests = sorted(scenario.requests, key=lambda one: subjects[one.key])
    found += _of_lists("request", expected_requests, seen["requests"])
    expected_parked = sorted(scenario.parked, key=lambda parked: parked.message)
    found += _of_lists("parked message", expected_parked, seen["parked"])
    if (repeated := sorted(set(_repeated(seen["requests"])))) != sorted(scenario.repeated):
        found.append(f"requested again after they had acted: {repeated}, not {scenario.repeated}")
    return found


def _of_delivery(name: str, delivery: Delivery, seen: Any) -> Iterator[str]:
    if "died" in (delivery.expect, seen):
        if delivery.expect != seen:
            yield f"{name} ended as {seen}, not as {delivery.expect}"
        return
    assert isinstance(delivery.expect, dict)
    ids = {entry if isinstance(entry, str) else entry.message for entry in delivery.batch}
    if set(delivery.expect) != ids:
        yield f"{name} expects outcomes of {sorted(delivery.expect)}, its batch is {sorted(ids)}"
    if set(seen["records"]) != ids:
        yield f"{name} recorded outcomes of {sorted(seen['records'])}, its batch is {sorted(ids)}"
    for message, expected in delivery.expect.items():
        record = seen["records"].get(message, {})
        said = f"{record.get('outcome')} {record.get('reason')}"
        said += " unconfirmed" if record.get("unconfirmed") else ""
        if "because" in expected:
            said += f" because {record.get('because')}"
        if said != expected:
            yield f"{message} of {name}: {said}, not {expected}"
    if seen["returned"] != sorted(delivery.returned):
        yield f"{name} returned {seen['returned']}, not {sorted(delivery.returned)}"
    for message, returns_at in delivery.returns.items():
        found = seen["records"].get(message, {}).get("returnsAtMs")
        if found != returns_at:
            yield f"{message} of {name} returns at {found}, not at {returns_at}"
    retries = {m for m, record in seen["records"].items() if record["outcome"] == "RETRY"}
    if set(seen["returned"]) != retries:
        yield f"{name} returned {seen['returned']} of {sorted(retries)}"


def _of_rows(scenario: Scenario, seen: Mapping[str, Any]) -> Iterator[str]:
    if set(seen) != set(scenario.rows):
        yield f"rows {sorted(seen)}, not {sorted(scenario.rows)}"
    for name, row in scenario.rows.items():
        yield from _of_fields(f"row {name}", row, seen.get(name, {}))


def _of_lists(what: str, expected: Sequence[Strict], seen: Sequence[Any]) -> Iterator[str]:
    if len(expected) != len(seen):
        yield f"{len(seen)} {what}s, not {len(expected)}: {list(seen)}"
    for number, (wanted, got) in enumerate(zip(expected, seen, strict=False), start=1):
        yield from _of_fields(f"{what} {number}", wanted, got)


def _of_fields(what: str, expected: Strict, seen: Mapping[str, Any]) -> Iterator[str]:
    for field in sorted(expected.model_fields_set):
        wanted, got = getattr(expected, field), seen.get(field)
        if wanted != got:
            yield f"{field} of {what}: {got!r}, not {wanted!r}"


def _repeated(requests: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Finds keys under which a request was sent again after one had acted."""
    acted: set[tuple[str, int | None]] = set()
    for one in requests:
        key = (one["key"], one["occurrence"])
        if key in acted:
            yield one["key"]
        if one["answer"].startswith(("ok", "acts then")):
            acted.add(key)
