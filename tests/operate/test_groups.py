"""What lies in a dead end, by why it is there."""

from dataclasses import dataclass

import pytest
from enrichment.keys import opaque

from once.errors import OnceError
from once.operate.groups import Chosen, counts, groups, refuse, source_of, strangers, view
from once.operate.parked import Parked


@dataclass
class Lying:
    since_ms: int
    reason: str = "REJECTED"
    detail: str | None = "answered 422"
    family: str | None = "user.presence"
    source: str | None = "sales"
    cause: str | None = None

    @property
    def why(self) -> tuple[str, str | None]:
        return self.reason, self.detail

    @property
    def message_id(self) -> str:
        return f"m-{self.since_ms}"

    def is_called(self, name: str) -> bool:
        return name in (self.message_id, str(self.since_ms))


def test_what_lies_there_for_one_reason_is_one_group_with_its_first_and_last() -> None:
    (group,) = groups([Lying(5_000), Lying(2_000), Lying(9_000)])
    assert (group.reason, group.detail) == ("REJECTED", "answered 422")
    assert (group.family, group.source) == ("user.presence", "sales")
    assert (group.count, group.first_ms, group.last_ms) == (3, 2_000, 9_000)


@pytest.mark.parametrize("differs", ["reason", "detail", "family", "source"])
def test_whatever_differs_parts_the_groups(differs: str) -> None:
    assert len(groups([Lying(1), Lying(2, **{differs: "other"})])) == 2  # type: ignore[arg-type]


def test_the_largest_group_comes_first_and_of_equal_ones_the_oldest() -> None:
    found = [Lying(3, "A"), Lying(2, "B"), Lying(4, "C"), Lying(5, "C")]
    assert [group.reason for group in groups(found)] == ["C", "B", "A"]


def test_groups_show_how_many_why_of_what_and_since_when() -> None:
    many = [Lying(0), *[Lying(7_200_000, cause="it refuses this event")] * 1_233]
    bare = Lying(10_790_000, "NOT_JSON", None, None, None)
    assert list(view(groups([*many, bare]), 10_800_000)) == [
        "1,234  REJECTED: answered 422, user.presence from sales, 3 h to 60 min ago",
        "       it refuses this event",
        "    1  NOT_JSON, 10 s ago",
    ]


@pytest.mark.parametrize(
    ("chosen", "since"),
    [
        (Chosen(None, None, None, None), [1, 2, 3]),
        (Chosen(["2", "3"], None, None, None), [2, 3]),
        (Chosen(None, "gave_up", None, None), [2]),
        (Chosen(None, None, "user.presence", None), [1, 3]),
        (Chosen(None, None, None, "wallboard"), [3]),
        (Chosen(["1"], "GAVE_UP", None, None), []),
    ],
)
def test_a_group_is_chosen_by_what_it_has_in_common(chosen: Chosen, since: list[int]) -> None:
    found = [Lying(1), Lying(2, "GAVE_UP", family="other"), Lying(3, source="wallboard")]
    assert [one.since_ms for one in chosen.of(found)] == since
    assert bool(chosen) is (len(since) < 3)


def test_of_thousands_named_by_message_each_is_looked_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def asked(*_: object) -> bool:
        raise AssertionError("it was compared with each name")

    monkeypatch.setattr(Lying, "is_called", asked)
    many = [Lying(number) for number in range(5_000)]
    ids = [one.message_id for one in many]
    assert Chosen(ids, None, None, None).of(many) == many
    assert strangers(ids, many) == []


def test_a_reason_that_is_none_is_refused_with_those_that_are_there() -> None:
    with pytest.raises(OnceError, match=r"TYPO is no reason .* There is GAVE_UP, REJECTED"):
        Chosen(None, "TYPO", None, None).refuse_reason([Lying(1), Lying(2, "GAVE_UP")])
    Chosen(None, "rejected", None, None).refuse_reason([])


def test_before_an_act_each_reason_is_counted_and_put_in_words() -> None:
    assert list(counts([Lying(1, "NOT_JSON"), Lying(2), Lying(3)])) == [
        "2 REJECTED: the destination refused it for good",
        "1 NOT_JSON: its text is not JSON",
    ]
    assert list(counts([Lying(1, "ACTED")])) == ["1 ACTED"]


def test_a_name_that_fits_nothing_is_found_and_nothing_is_done() -> None:
    found = [Lying(1), Lying(2)]
    assert strangers(None, found) == []
    assert strangers(["2", "typo", "1"], found) == ["typo"]
    refuse([], "parked")
    with pytest.raises(OnceError, match=r"nothing of typo, other in it.*\n.*once parked list"):
        refuse(["typo", "other"], "parked")


@pytest.mark.parametrize(
    ("element", "source"),
    [
        ({"trace": {"source": "aws.partner/genesys.com/cloud/org/sales"}}, "sales"),
        ({"trace": {"source": "sales"}}, "sales"),
        ({"trace": {"source": ""}}, None),
        ({"trace": {"source": 7}}, None),
        ({"trace": {}}, None),
        ({"trace": None}, None),
        ({}, None),
    ],
)
def test_the_integration_that_sent_it_is_the_last_part_of_its_source(
    element: dict[str, object], source: str | None
) -> None:
    assert source_of(element) == source


def test_what_is_parked_is_chosen_by_the_id_that_its_key_hides() -> None:
    key = f"-/conversation/{opaque('jane1985')}/v1/call/status=connected"
    parked = Parked(message_id="m", reason="REJECTED", key=key, parked_at_ms=0, letter_id="l")
    names = ("jane1985", opaque("jane1985"), "m", key, "jane", "conversation")
    assert [parked.is_called(name) for name in names] == [True] * 4 + [False] * 2
