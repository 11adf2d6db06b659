"""The judge counts lost, repeated, skipped and stale events by what a destination saw."""

from typing import Any

from bench.compare.destination import Act

from bench.compare.streams import Happening, Stream
from bench.compare.verdict import Verdict, judge


def stream_of(*at_ms: int, **about: Any) -> tuple[Stream, list[Happening]]:
    stream = Stream("stream", "")
    happenings = [stream.happens({}, moment, 0, **about) for moment in at_ms]
    return stream, happenings


def act(happening: Happening, key: str = "key", said_ms: int | None = None) -> Act:
    return Act(happening, happening.at_ms if said_ms is None else said_ms, key)


def test_every_event_that_acts_once_is_no_fault():
    stream, happenings = stream_of(1, 2)
    assert judge(stream, [act(h) for h in happenings], set(), set()) == Verdict()


def test_an_event_that_failed_and_never_acted_is_lost():
    stream, (only,) = stream_of(1)
    assert judge(stream, [], set(), {only.name}) == Verdict(lost=1)


def test_an_event_that_a_queue_still_holds_is_not_lost():
    stream, (only,) = stream_of(1)
    assert judge(stream, [], {only.name}, {only.name}) == Verdict()


def test_an_event_that_nothing_befell_and_that_never_acted_was_wrongly_skipped():
    stream, _ = stream_of(1)
    assert judge(stream, [], set(), set()) == Verdict(wrongly_skipped=1)


def test_a_double_under_the_same_key_is_told_apart_and_one_under_another_is_not():
    stream, (only,) = stream_of(1)
    same = [act(only, "a"), act(only, "a")]
    other = [act(only, "a"), act(only, "b")]
    assert judge(stream, same, set(), set()) == Verdict(acted_twice=1)
    assert judge(stream, other, set(), set()) == Verdict(acted_twice=1, acted_twice_told_apart=1)


def test_an_older_state_that_was_overtaken_need_not_act():
    stream, (older, newer) = stream_of(1, 2, latest_by="agent")
    assert judge(stream, [act(newer)], set(), set()) == Verdict()
    assert judge(stream, [act(older)], set(), set()) == Verdict(wrongly_skipped=1)


def test_an_older_state_after_a_newer_one_overwrites_it_unless_times_are_compared():
    stream, (older, newer) = stream_of(1, 2, latest_by="agent")
    acts = [act(newer), act(older)]
    assert judge(stream, acts, set(), set()) == Verdict(stale_overwrites=1)
    fooled = [act(newer), act(older, said_ms=3)]
    assert judge(stream, fooled, set(), set()) == Verdict(
        stale_overwrites=1, stale_overwrites_compared=1
    )


def test_events_of_which_each_counts_overwrite_nothing():
    stream, (older, newer) = stream_of(1, 2)
    assert judge(stream, [act(newer), act(older)], set(), set()) == Verdict()
