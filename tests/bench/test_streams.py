"""The streams of the comparison: the same for all, and each happening recognisable."""

from collections import Counter

from bench.compare.destination import Destination

from bench.compare.reading import fingerprint
from bench.compare.streams import streams


def test_a_seed_gives_the_same_streams_again_and_another_seed_others():
    def bodies(seed: int) -> list[str]:
        return [message.body for stream in streams(seed) for message in stream.messages]

    assert bodies(1) == bodies(1)
    assert bodies(1) != bodies(2)


def test_a_destination_recognises_every_message_by_its_content_and_time():
    sent = streams(1)
    with Destination(sent, 0) as destination:
        for message in (message for stream in sent for message in stream.messages):
            detail = message.event["detail"]
            found = destination.happening(
                detail["topicName"], detail["eventBody"], message.happening.at_ms
            )
            assert found is not None
            assert found.name == message.happening.name


def test_a_fault_strikes_happenings_that_one_message_tells_of():
    for stream in streams(1):
        said = Counter(message.happening.name for message in stream.messages)
        assert all(said[h.name] == 1 for h in stream.happenings if h.fault)


def test_copies_under_other_ids_have_the_content_of_the_first():
    stream = next(stream for stream in streams(1) if stream.name == "other ids")
    contents, envelopes = {}, Counter()
    for message in stream.messages:
        detail = message.event["detail"]
        content = fingerprint(detail["topicName"], detail["eventBody"])
        assert contents.setdefault(message.happening.name, content) == content
        envelopes[message.event["id"]] += 1
    assert len(contents) * 2 == len(envelopes) == len(stream.messages)
