"""Keys: parts cannot run into each other, stay readable, and fit DynamoDB."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from once_enrichment.keys import digest, key_hash, opaque, part, sort_key

ANY = st.characters(exclude_categories=["Cs"])
TEXT = st.text(ANY, min_size=1, max_size=400) | st.text("/%~a", min_size=1)
TEXT |= st.text("\n\x1b\u202e\U0001f512a", min_size=1)
TEXT |= st.builds(lambda text, times: text * times, TEXT, st.sampled_from([1, 50, 150, 1000]))
PARTS = st.lists(TEXT, min_size=1, max_size=6)
DIGEST = st.sampled_from([None, digest("a"), digest("b")])


def compose(prefix: str, texts: list[str], content: str | None = None) -> tuple[str, str]:
    """Returns the first text as a pk holds it, and a sort key of the others."""
    first, *rest = map(part, texts)
    return first, sort_key(prefix, rest, content)


@given(PARTS, DIGEST, PARTS, DIGEST)
def test_other_parts_make_another_key(
    one: list[str], content: str | None, other: list[str], other_content: str | None
) -> None:
    same = (one, content) == (other, other_content)
    assert (compose("v2/f/", one, content) == compose("v2/f/", other, other_content)) == same


@given(st.lists(TEXT, min_size=2, max_size=4))
def test_a_character_that_moves_to_the_next_part_makes_another_key(parts: list[str]) -> None:
    first, second, *rest = parts
    moved = [first[:-1], first[-1] + second, *rest]
    assert compose("v2/f/", moved) != compose("v2/f/", parts)


@given(PARTS, DIGEST)
def test_a_key_fits_and_harms_no_terminal(parts: list[str], content: str | None) -> None:
    first, sk = compose("v1/family/", parts, content)
    assert len(first.encode()) <= 400
    assert len(sk.encode()) <= 1024
    assert not {"\n", "\x1b", "\u202e"} & {*first, *sk}
    assert "/" not in first


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1}, True),
        ({"a": 1, "b": None, "c": {"d": None}, "e": []}, {"a": 1}, True),
        ({"a": [{}]}, {"a": []}, False),
        ({"a": "null"}, {}, False),
        ({"a": "1"}, {"a": 1}, False),
        ({"a": 1.0}, {"a": 1}, True),
        ({"a": [1, 2]}, {"a": [2, 1]}, True),
        ({"a": [1, 2]}, {"a": [[1], 2]}, False),
    ],
)
def test_canonical_json_keeps_what_json_tells_apart(one: Any, other: Any, is_same: bool) -> None:
    assert (digest(one) == digest(other)) is is_same


def test_keys_of_letters_outside_ascii_stay_what_they_were() -> None:
    """Written in another way they would be other keys, and each event in flight would act twice."""
    parts = compose("v2/f/", ["Jörg", "café/1", "a=b", "\u202e"])
    assert parts == ("Jörg", "v2/f/café%2F1/a=b/%E2%80%AE")
    # printf '{"name":"J\\u00f6rg"}' | sha256sum, and so on
    assert digest({"name": "Jörg"}) == "621c806845df763a9d446aa2ba5548a2"
    assert opaque("Jörg") == "~8e63741c42f7c08025339f1a380d9803"
    assert key_hash("org/user/Jörg", "v1/user.presence/café") == (
        "a1efe7ec57ee2c88be9a5e2961d78e2bbdc9f3baea312468477036bca88d9701"
    )


@pytest.mark.parametrize(
    ("text", "readable"),
    [
        ("3fa85f64-5717-4562-b3fc-2c963f66afa6", True),
        ("3FA85F64-5717-4562-B3FC-2C963F66AFA6", True),
        ("3fa85f6457174562b3fc2c963f66afa6", True),
        ("5f2b6c1d9e8a7b4c3d2e1f00", True),
        ("5F2B6C1D9E8A7B4C3D2E1F00", True),
        ("5F2B6C1D9E8A7B4c3d2e1f00", False),
        ("5f2b6c1d9e8a7b4c3d2e1f0", False),
        ("deadbeefdeadbeefdeadbeef", False),
        ("01HZX3K9Q4V7M2N8R5T6W1Y0AB", True),
        ("81HZX3K9Q4V7M2N8R5T6W1Y0AB", False),
        ("01JANELEHMANNHAUPTSTRASSE1", False),
        ("a1" * 32, True),
        ("a1" * 32 + "a", False),
        ("3fa85f64-5717-4562-b3fc-2c963f66afa6-jane", False),
        ("e_1", False),
        ("jane1985", False),
        ("Hauptstr12", False),
        ("15551234567x12", False),
        ("155512345671555123456715", False),
        ("Jane", False),
        ("4915550100742", False),
        ("Köln1", False),
        ("jane@example1", False),
        ("", False),
    ],
)
def test_only_what_a_machine_made_stays_readable(text: str, readable: bool) -> None:
    assert (opaque(text) == text) == readable


@pytest.mark.parametrize(
    ("text", "readable"),
    [
        ("x" * 400, True),
        ("x" * 401, False),
        ("ü" * 200, True),
        ("ü" * 201, False),
        ("%" * 133, True),
        ("%" * 134, False),
    ],
)
def test_a_part_longer_than_anybody_reads_is_hashed(text: str, readable: bool) -> None:
    assert part(text).startswith("~") != readable
