"""An answer counts only if it differs for the broken question."""

from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from proof.prove.ledger import Ledger
from proof.prove.question import Answer, Question, Verdict, differences, put
from proof.prove.site import Site

NOW_MS = 1_790_000_000_000


def asked(broken: Any, good: Any, expected: Any, tmp_path: Path) -> Answer:
    def ask(_: Site, is_broken: bool) -> Any:
        answer = broken if is_broken else good
        if isinstance(answer, Exception):
            raise answer
        return answer

    nowhere: Any = None
    site = Site(nowhere, Ledger.open("prove-test", {}, tmp_path))
    return put(Question("q", "what rests on it", ask, expected), site)


def refusal(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "not for you"}}, "Asking")


def test_an_answer_counts_when_what_is_broken_is_refused(tmp_path: Path) -> None:
    answer = asked({"result": "FAIL"}, {"result": "OK"}, {"result": "OK"}, tmp_path)
    assert answer.verdict is Verdict.CONFIRMED


def test_a_service_that_takes_anything_does_not_answer(tmp_path: Path) -> None:
    answer = asked({"result": "OK"}, {"result": "OK"}, {"result": "OK"}, tmp_path)
    assert answer.verdict is Verdict.NOT_ANSWERED
    assert answer.said == 'the same is answered to something broken: {"result": "OK"}'


def test_a_service_that_refuses_anything_does_not_answer(tmp_path: Path) -> None:
    no = refusal("ValidationException")
    assert asked(no, no, {"result": "OK"}, tmp_path).verdict is Verdict.NOT_ANSWERED


def test_another_answer_than_ours_differs_and_is_shown(tmp_path: Path) -> None:
    answer = asked({"next": "A"}, {"next": "B"}, {"next": "C"}, tmp_path)
    assert (answer.verdict, answer.said) == (Verdict.DIFFERS, "next is B, expected C")


def test_a_good_one_that_is_refused_differs(tmp_path: Path) -> None:
    answer = asked({"next": "A"}, refusal("ValidationException"), {"next": "A"}, tmp_path)
    assert answer.verdict is Verdict.DIFFERS


def test_a_missing_right_is_no_difference(tmp_path: Path) -> None:
    answer = asked({"next": "A"}, refusal("AccessDeniedException"), {"next": "B"}, tmp_path)
    assert answer.verdict is Verdict.NOT_ANSWERED
    assert answer.said == "these credentials lack a permission: not for you"


def test_credentials_that_expire_end_the_run(tmp_path: Path) -> None:
    with pytest.raises(ClientError):
        asked(refusal("ExpiredToken"), None, None, tmp_path)


@pytest.mark.parametrize("unit", [1, 1_000])
def test_times_of_two_clocks_are_the_same_up_to_half_a_minute(unit: int) -> None:
    time = NOW_MS // unit
    assert list(differences({"at": time}, {"at": time + 29_000 // unit})) == []
    assert list(differences({"at": time}, {"at": time + 31_000 // unit})) != []


@pytest.mark.parametrize(("one", "other"), [(1, 2), (0, True), (600_000, 601_000), ("a", "b")])
def test_what_is_no_time_is_compared_exactly(one: Any, other: Any) -> None:
    assert list(differences(one, other)) != []


def test_lists_of_other_lengths_differ() -> None:
    assert list(differences({"todo": ["m1"]}, {"todo": []})) == [
        'todo is [], expected ["m1"]',
    ]


def test_an_answer_that_was_not_expected_tells_nothing_apart(tmp_path: Path) -> None:
    """A count that is never twice the same does not show that what is broken was seen."""
    answer = asked(
        {"kept up": True, "late": 3}, {"kept up": True, "late": 9}, {"kept up": True}, tmp_path
    )
    assert answer.verdict is Verdict.NOT_ANSWERED
