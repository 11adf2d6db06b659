"""`make mutate` changes the right code, leaves the rest alone, and notices a test that fails."""

import pytest

from proof.mutation.__main__ import PACKAGES, Coverage, Package, changes, equivalent, files, known
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
        "import a",
    ],
)
def test_unnoticeable_changes_are_not_tried(source: str) -> None:
    assert changed(source) == set()


def test_a_change_names_its_line_and_alters_nothing_else() -> None:
    source = "a = 1\n\ndef f():\n    return a + b\n"
    (mutant,) = (one for one in mutants("module.py", source) if one.change == "a + b -> a - b")
    assert (mutant.line, mutant.text) == (4, "return a + b")
    assert mutant.module == "a = 1\n\ndef f():\n    return a - b"


def test_only_the_tests_that_run_a_line_judge_it_and_the_quick_ones_first() -> None:
    def test(line: int, used: float) -> dict[str, object]:
        return {"lines": [["a.py", line]], "passed": True, "used": used, "seconds": used}

    coverage = Coverage.of(
        {"": {"lines": [["a.py", 1]]}, "slow": test(2, 9), "quick": test(2, 1), "other": test(3, 1)}
    )
    one, two, *_ = mutants("a.py", "a = 1\nb = 2\n")
    assert coverage.tests_of(two) == ["quick", "slow"]
    assert set(coverage.tests_of(one)) == {"quick", "slow", "other"}


def test_listed_equivalents_are_changes_that_would_be_tried() -> None:
    named = {file for file, _, _ in equivalent()}
    assert named <= {file for package in PACKAGES.values() for file in files(package)}
    assert equivalent() <= {known(mutant) for file in named for mutant in changes(file)}


@pytest.mark.parametrize("package", PACKAGES.values(), ids=PACKAGES.keys())
def test_every_file_that_is_to_be_changed_exists(package: Package) -> None:
    named = {pattern for pattern in package.files if "*" not in pattern}
    assert named <= set(files(package))
    assert files(package)
