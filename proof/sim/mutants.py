"""Broken definitions and broken cores: the proof that situations, walks and the search notice.

Each mutant takes out a clause, a guard or a rule, by a change of text. `found_by` names what
notices it first, so that the tests need not search; `equivalent` says why nothing can notice it.
"""

import importlib
import inspect
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import NamedTuple
from unittest.mock import patch

import yaml

from proof.asl.machine import Machine
from proof.definition.asl import ASL_PATH, definition
from proof.sim import deployed
from proof.sim.cases import CASES
from proof.sim.promises import BrokenError
from proof.sim.search import search
from proof.sim.situations import SITUATIONS, play_situation
from proof.sim.walk import FORCED, Walk

PATH = Path(__file__).with_suffix(".yaml")
_CASE_STATES = 3_000


@dataclass(frozen=True)
class Mutant:
    name: str
    old: str = ""
    new: str = ""
    found_by: str = ""
    equivalent: str = ""
    # A module of the function in place of the definition.
    module: str = ""


class Finding(NamedTuple):
    found_by: str
    sentence: str
    seconds: float


def changed_text(mutant: Mutant) -> str:
    """Returns the definition or the module with the change; raises LookupError if its text is
    gone."""
    source = ASL_PATH.read_text()
    if mutant.module:
        source = inspect.getsource(importlib.import_module(mutant.module))
    if source.count(mutant.old) != 1:
        where = mutant.module or "statemachine/once.asl.yaml"
        raise LookupError(
            f"{mutant.name}: {where} has its text {source.count(mutant.old)} times; "
            "correct `old` in proof/sim/mutants.yaml"
        )
    return source.replace(mutant.old, mutant.new)


def machine_with(mutant: Mutant) -> Machine:
    """Returns the machine with the change of a mutant."""
    if mutant.module:
        return deployed.machine()
    return deployed.machine_of(definition(text=changed_text(mutant)))


@contextmanager
def changed_module(mutant: Mutant) -> Iterator[None]:
    """Puts a changed copy of a module in the place of the module, for as long as it lasts."""
    if not mutant.module:
        yield
        return
    original, changed = sys.modules[mutant.module], ModuleType(mutant.module)
    changed.__dict__.update(__file__=original.__file__, __package__=original.__package__)
    with ExitStack() as stack:
        stack.enter_context(patch.dict(sys.modules, {mutant.module: changed}))
        # The text is our own module with one change.
        exec(compile(changed_text(mutant), mutant.module, "exec"), changed.__dict__)  # noqa: S102
        for user in [*sys.modules.values()]:
            is_ours = getattr(user, "__name__", "").startswith(("once_data", "proof.sim"))
            for name, value in [*vars(user).items()] if is_ours and user is not changed else ():
                is_imported = getattr(original, name, None) is value and hasattr(changed, name)
                if value is original or is_imported:
                    new = changed if value is original else getattr(changed, name)
                    stack.enter_context(patch.object(user, name, new))
        yield


def finding(mutant: Mutant, seeds: int = 60, seconds: float = 60) -> Finding | None:
    """Returns what notices the mutant: what found it last time, or the first of all."""
    began = time.process_time()
    with changed_module(mutant):
        machine = machine_with(mutant)
        known = [mutant.found_by] if mutant.found_by else []
        for finder in [*known, *_finders(seeds)]:
            sentence = noticed(finder, machine)
            if sentence:
                return Finding(finder, sentence, time.process_time() - began)
            if time.process_time() - began > seconds:
                return None
    return None


def _finders(seeds: int) -> Iterator[str]:
    yield from (f"situation {name}" for name in SITUATIONS)
    for seed in range(seeds):
        yield f"walk {seed} {FORCED[seed % len(FORCED)]}".strip()
    yield from (f"case {case.name}" for case in CASES)


def noticed(finder: str, machine: Machine) -> str:
    """Returns what a situation, a walk or a case says is broken; empty if nothing."""
    kind, _, name = finder.partition(" ")
    try:
        if kind == "situation":
            return _play(name, machine)
        if kind == "walk":
            seed, _, forced = name.partition(" ")
            return Walk(int(seed), machine, forced=forced).broken_promise()
        case = next(case for case in CASES if case.name == name)
        return search(case, machine, _CASE_STATES).broken
    finally:
        deployed.ENGINE.failures.clear()


def _play(name: str, machine: Machine) -> str:
    try:
        play_situation(name, machine, most_moves=20_000)
    except BrokenError as broken:
        return str(broken)
    except (AssertionError, LookupError):
        return f"the situation {name} ends otherwise"
    return ""


MUTANTS = [Mutant(**entry) for entry in yaml.safe_load(PATH.read_text())]


def main(names: list[str], seeds: int = 60) -> int:
    """Prints what notices each mutant, and writes it down; returns how many nothing notices."""
    missed = 0
    for mutant in MUTANTS:
        if (names or mutant.equivalent) and not any(name in mutant.name for name in names):
            continue
        found = finding(mutant, seeds)
        if found is None:
            missed += not mutant.equivalent
            print(f"{mutant.name:60} NOT NOTICED {mutant.equivalent}", flush=True)
            continue
        print(f"{mutant.name:60} {found.seconds:5.1f} s  {found.found_by}: {found.sentence[:90]}")
        if found.found_by != mutant.found_by:
            _write_down(mutant.name, found.found_by)
    equivalent = sum(bool(mutant.equivalent) for mutant in MUTANTS)
    print(f"{len(MUTANTS)} mutants, {equivalent} equivalent, {missed} not noticed", flush=True)
    return missed


def _write_down(name: str, found_by: str) -> None:
    head, mark, rest = PATH.read_text().partition(f'- name: "{name}"\n')
    entry, dash, others = rest.partition("\n- name:")
    lines = [line for line in entry.splitlines() if not line.startswith("  found_by:")]
    text = "\n".join([*lines, f'  found_by: "{found_by}"'])
    PATH.write_text(head + mark + text + (dash + others if dash else "\n"))
