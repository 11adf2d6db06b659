"""One iteration of a round fails in an expression that nothing can catch, so its Map fails."""

from pathlib import Path

import pytest

from proof.explorer.mutants import States
from proof.scenarios import asl_machine
from proof.scenarios.expectations import differences
from proof.scenarios.scenario import load
from proof.scenarios.stage import Stage

CASE = """
title: The iteration of one event fails, after the others of its round have acted
why: Their results are lost to this execution. Their claims have them, so none acts again.
deliveries:
  - batch:
      - {message: m1, key: k1}
      - {message: m3, key: k3, subject: c3}
      - {message: m4, key: k4, at: 1}
      - {message: m2, key: k2, subject: c2}
    expect:
      m1: RETRY ROUND_FAILED
      m2: RETRY ROUND_FAILED
      m3: RETRY ROUND_FAILED
      m4: RETRY NOT_REACHED
    returned: [m1, m3, m4, m2]
  - clock: 480
    batch: [m1, m3, m4]
    expect:
      m1: "PROCESSED SETTLED_BEFORE because first#m1"
      m3: "PROCESSED SETTLED_BEFORE because first#m3"
      m4: PROCESSED ACTED
rows:
  k1: {status: DONE, outcome: PROCESSED}
  k2: {status: IN_PROGRESS, tries: 0}
  k3: {status: DONE, outcome: PROCESSED}
  k4: {status: DONE, outcome: PROCESSED}
requests:
  - {key: k1, by: first#m1, answer: ok}
  - {key: k3, by: first#m3, answer: ok}
  - {key: k4, by: second#m4, answer: ok}
"""


def fail_for_m2(machine: States) -> None:
    broken = "{% $event.messageId = 'm2' ? $error('broken') : false %}"
    machine["CheckOrder"]["Choices"].insert(0, {"Condition": broken, "Next": "ParkEvent"})


@pytest.fixture
def case(tmp_path: Path) -> Path:
    file = tmp_path / "an-iteration-fails.yaml"
    file.write_text(CASE)
    return file


def test_an_iteration_that_fails_costs_no_other_event_its_result(case: Path) -> None:
    scenario = load(case)
    stage = Stage(scenario, organisation="an-iteration-fails")
    with asl_machine.set_for(stage, edit=fail_for_m2) as machine:
        found = differences(scenario, stage.play(machine))
    assert not found, "\n".join(["", *found])
