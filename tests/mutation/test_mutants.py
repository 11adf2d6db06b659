"""`make mutate` changes the right code, leaves the rest alone, and notices a test that fails."""

import pytest

from proof.mutation.__main__ import PACKAGES, ROOT, Package, changes
from proof.mutation.mutants import mutants


def changed(source: str) -> set[str]:
    return {mutant.change for mutant in mutants("module.py", source)}


@pytest.mark.parametrize(
    ("source", "change"),
    [
        ("a = b < c", "b < c -> b <= c"),
        ("a = b and c", "b and c -> b or c"),
        ("a = not b", "not b -> b"),
        ("a = b + c", "b + c -> b - c"),
        ("a = 7", "7 -> 8"),
        ("a = True", "True -> False"),
        ("a = 'DONE'", "'DONE' -> 'XXDONE'"),
        ("a = {'b', 'c'}", "without 'b'"),
        ("a = {'b': 1, 'c': 2}", "without 'c'"),
        ("f(a, b)", "f(a, b) -> f(b, a)"),
        ("f(a, b=c)", "without b=c"),
        ("f()", "f() -> pass"),
        ("a.b = c", "a.b = c -> pass"),
        ("if f(): raise E", "f() -> not f()"),
        ("def f(): return a", "return a -> return None"),
    ],
)
def test_a_change_is_tried(source: str, change: str) -> None:
    assert change in changed(source)


@pytest.mark.parametrize(
    "source",
    [
        '"""Words."""',
        "a: Literal['b']",
        "a = Literal['b']",
        "a = f'Wait {b} seconds'",
        "a = 'Wait a second'",
        "a = max(b, c)",
        "a = {b: 'wait a second', c: 'go on now'}",
        "import a",
    ],
)
def test_unnoticeable_changes_are_not_tried(source: str) -> None:
    assert changed(source) == set()


def test_a_change_names_its_line_and_alters_nothing_else() -> None:
    source = "a = 1\n\ndef f():\n    return a + b\n"
    (mutant,) = (one for one in mutants("module.py", source) if one.change == "a + b -> a - b")
    assert mutant.line == 4
    assert mutant.module == "a = 1\n\ndef f():\n    return a - b"


@pytest.mark.parametrize("package", PACKAGES.values(), ids=PACKAGES.keys())
def test_package_has_code_to_change_and_tests(package: Package) -> None:
    assert next(changes(package))
    assert all((ROOT / tests).exists() for tests in package.tests)
