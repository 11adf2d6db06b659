"""Brings a stream to the deployed machine and functions in the simulator's world."""

from collections.abc import Mapping
from random import Random
from typing import Any

from bench import product
from bench.compare.streams import Fault, Happening, Stream
from bench.compare.world import ACT_MS, CLOCK_MS, STORE_MS, Acted, Faults, Result, delays_ms
from bench.events import text
from proof.sim.world import Due, Option, World


class Chooser:
    """Lets each happening meet its fault."""

    def __init__(self, stream: Stream) -> None:
        self._happenings = {happening.name: happening for happening in stream.happenings}
        self._faults = Faults()

    def __call__(self, world: World, due: Due) -> Option:
        options = world.options(due)
        things: dict[str, Mapping[str, Any]]
        things = {"message": world.queue, "run": world.runs, "function": world.invocations}
        if due.kind not in things:
            return options[0]
        happening = self._happenings[things[due.kind][due.id].event]
        wanted = self._wanted(world, due, options[0].outcome, happening)
        return next((option for option in options if option.outcome == wanted), options[0])

    def _wanted(self, world: World, due: Due, natural: str, happening: Happening) -> str:
        strikes = self._faults.strikes
        if due.kind == "message":
            return "twice" if strikes(Fault.TWICE_AT_ONCE, happening) else ""
        if natural == "deleted":
            return "not deleted" if strikes(Fault.AGAIN_LATER, happening) else ""
        if natural == "begins" and happening.fault is Fault.DIES_BEFORE_ACT:
            world.environments = ()  # a new one asks the breaker first, and dies then
        if due.kind == "run":
            call = world.runs[due.id].call
            is_claim = call is not None and call.state == "ClaimKey"
            return "lost" if is_claim and strikes(Fault.STORE_UNHEARD, happening) else ""
        if natural == "200":
            if strikes(Fault.DIES_AFTER_ACT, happening):
                return "killed"
            return {"fail": "500", "lose": "200 unheard"}.get(self._faults.reply(happening), "")
        return "killed" if strikes(Fault.DIES_BEFORE_ACT, happening) else ""


def play(stream: Stream, seed: int) -> Result:
    draw = Random(f"{seed} {stream.name}")  # noqa: S311 - to be repeated, not to be guessed
    latencies = {"request": ACT_MS, "aws": (STORE_MS,), "function": (STORE_MS,)}
    site = product.Site(
        {h.name: "rejected" if h.fault is Fault.REJECTED else "well" for h in stream.happenings},
        now_ms=CLOCK_MS,
        latency_ms=lambda kind: draw.choice(latencies.get(kind, (0,))),
    )
    for message, delay_ms in zip(stream.messages, delays_ms(stream, seed), strict=True):
        site.sends(message.happening.name, text(message.event), message.send_ms + delay_ms)
    site.play(Chooser(stream))
    happenings = {happening.name: happening for happening in stream.happenings}
    acts = [Acted(happenings[act.event], act.key, act.at_ms) for act in site.witness.done]
    return Result(acts, {message.event for message in site.world.dead_letters.values()})
