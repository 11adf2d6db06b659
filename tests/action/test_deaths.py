"""Events whose function ends without an answer: killed, out of memory, or never started.

The machine is played by hand: a claim that was in progress when its lease ended is taken over
with one death more and the time of the dead claim; what the function answers is written down.
"""

from dataclasses import dataclass
from typing import Any

from once_data_action.errors import ActionError

from tests.action.support import Killed, Site, event, payload, read_facts

LEASE_SECONDS = 140


@dataclass
class Claim:
    """One event and what its claim remembers."""

    site: Site
    number: int
    tries: int = 0
    failed_at_ms: int = 0
    deaths: int = 0
    outcome: str = ""
    waits_seconds: float = 0

    def look(self, kills: bool = False, runs: bool = True) -> str:
        """Lets the event be looked at; returns what came of it, with the delay that follows."""
        claimed_ms = self.site.clock()
        self.site.target.told = [Killed()] if kills else []
        try:
            if not runs:
                raise Killed
            answer: Any = self.site.environment()(self._payload(), 13_000)
        except Killed:
            self.deaths += 1
            self.failed_at_ms = max(self.failed_at_ms, claimed_ms)
            self.waits_seconds = LEASE_SECONDS
            self.outcome = "killed"
            return self.outcome
        except ActionError as error:
            answer = read_facts(error)
        if answer["reason"] != "ACTED":
            self.tries, self.failed_at_ms = answer["tries"], answer["failedAtMs"]
            self.deaths = answer["deaths"]
            self.waits_seconds = answer["retryInSeconds"]
        self.outcome = answer["reason"]
        return self.outcome

    def _payload(self) -> dict[str, Any]:
        return payload(
            self.number, tries=self.tries, failedAtMs=self.failed_at_ms, deaths=self.deaths
        )

    def wait(self) -> None:
        self.site.clock.pass_seconds(self.waits_seconds)

    @property
    def sent(self) -> int:
        return self.site.target.sent.count(event(self.number)["idempotencyKey"])


def test_first_death_costs_no_more_than_the_lease(site: Site) -> None:
    claim = Claim(site, 1)
    claim.look(kills=True)
    claim.wait()
    assert claim.look() == "ACTED"
    assert claim.sent == 2


def test_event_that_kills_the_function_is_given_up_while_others_succeed(site: Site) -> None:
    poison = Claim(site, 1)
    for number in range(100, 300):
        poison.look(kills=True)
        if poison.outcome == "GAVE_UP":
            break
        poison.wait()
        assert Claim(site, number).look() == "ACTED"
    assert poison.outcome == "GAVE_UP"
    assert poison.tries == 20
    assert poison.sent == 21


def test_deployment_that_kills_every_event_gives_none_up(site: Site) -> None:
    claims = [Claim(site, number) for number in range(8)]
    for _ in range(25):
        for claim in claims:
            claim.look(kills=True)
            site.clock.pass_seconds(20)
    assert {claim.tries for claim in claims} <= {0, 1}
    assert len(site.target.sent) < 100, "the breaker opened: of 200 looks"
    for _ in range(5):
        for claim in claims:
            if claim.outcome != "ACTED":
                claim.look()
                site.clock.pass_seconds(30)
    assert {claim.outcome for claim in claims} == {"ACTED"}


def test_function_that_could_not_start_for_days_gives_no_event_up(site: Site) -> None:
    claims = [Claim(site, number) for number in range(6)]
    for _ in range(40):
        for claim in claims:
            claim.look(runs=False)
        site.clock.pass_seconds(LEASE_SECONDS)
    assert claims[0].deaths == 40
    for _ in range(4):
        for claim in claims:
            if claim.outcome != "ACTED":
                claim.look()
        Claim(site, 1_000).look()
        site.clock.pass_seconds(60)
    assert {claim.outcome for claim in claims} == {"ACTED"}
    assert {claim.sent for claim in claims} == {1}


def test_two_events_that_kill_the_function_wait_for_a_success(site: Site) -> None:
    poisons = [Claim(site, 1), Claim(site, 2)]
    for _ in range(12):
        for poison in poisons:
            poison.look(kills=True)
            poison.wait()
    assert {poison.tries for poison in poisons} == {1}
    before = [poison.sent for poison in poisons]
    for number in range(100, 300):
        for poison in poisons:
            if poison.outcome != "GAVE_UP":
                poison.look(kills=True)
                poison.wait()
        Claim(site, number).look()
        site.clock.pass_seconds(60)
    assert {poison.outcome for poison in poisons} == {"GAVE_UP"}
    assert all(poison.sent - sent <= 25 for poison, sent in zip(poisons, before, strict=True))


def test_death_is_noted_for_the_breaker_before_the_request(site: Site) -> None:
    claims = [Claim(site, number) for number in range(3)]
    for _ in range(2):
        for claim in claims:
            claim.look(kills=True)
        site.clock.pass_seconds(LEASE_SECONDS)
    row = site.table.row()
    assert row
    assert row.failed == 3
    site.clock.pass_seconds(300)
    assert Claim(site, 9).look() == "BREAKER_OPEN"
