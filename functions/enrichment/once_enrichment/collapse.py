"""Collapses the copies inside one batch: the earliest is kept and the others point to it."""

from once_enrichment.message import Element


def collapse(elements: list[Element]) -> list[Element]:
    """Returns the elements in their order, each copy replaced by a pointer to the kept one."""
    groups: dict[str, list[int]] = {}
    for at, element in enumerate(elements):
        if "idempotencyKey" in element:
            groups.setdefault(element["idempotencyKey"], []).append(at)
    answer = list(elements)
    for group in groups.values():
        _collapse_group(answer, group)
    return answer


def _collapse_group(elements: list[Element], group: list[int]) -> None:
    group.sort(key=lambda at: elements[at]["occurredAtMs"])
    kept = elements[group[0]]
    event_ids = {kept["trace"].get("eventId")}
    for at in group[1:]:
        other = elements[at]
        event_id = other["trace"].get("eventId")
        window_ms = max(kept["policy"]["windowMs"], other["policy"]["windowMs"])
        apart = other["occurredAtMs"] - kept["occurredAtMs"]
        if "changes" in (kept["policy"]["order"], other["policy"]["order"]):
            # The key names a state, which may have changed and returned in between.
            is_copy = apart == 0
        else:
            is_copy = window_ms == 0 or apart <= window_ms or (event_id and event_id in event_ids)
        if is_copy:
            event_ids.add(event_id)
            elements[at] = {
                **delivery_of(other),
                "kind": "copy",
                "subjectKey": other["subjectKey"],
                "copyOf": kept["messageId"],
                "occurredAtMs": other["occurredAtMs"],
                "trace": other["trace"],
            }
        else:
            kept, event_ids = other, {event_id}


def delivery_of(element: Element) -> Element:
    """Returns what an element says of its message, whatever becomes of the event in it."""
    return {name: element[name] for name in ("messageId", "receiptHandle", "receives", "sentAtMs")}
