"""The stand-in for Pipes with faults: messages come twice, responses and deletes get lost."""

import json
from collections.abc import Callable, Sequence
from threading import Thread
from typing import Any

from once.local.pipe import InvocationError, PipeRunner, Record
from proof.chaos.faults import Draws

_SECOND_DELIVERY_SECONDS = 2


class FaultyPipe(PipeRunner):
    """A pipe with the faults of its network: SQS delivers at least once, and requests are lost."""

    def __init__(self, client: Callable[[str], Any], pipe_name: str, draws: Draws) -> None:
        super().__init__(client, pipe_name)
        self._draws = draws

    def _run_guarded(self, messages: list[dict[str, Any]]) -> None:
        again: list[dict[str, Any]] = []
        seconds = 0.0
        for message in messages:
            how = self._draws.draw(
                "pipe.delivered_twice", message["Body"], about=[message["MessageId"]]
            )
            if how is not None:
                again.append(message)
                seconds = how * _SECOND_DELIVERY_SECONDS
        second = Thread(target=self._run_later, args=(again, seconds), name="pipe-again")
        second.start()
        super()._run_guarded(messages)
        second.join()

    def _run_later(self, messages: list[dict[str, Any]], seconds: float) -> None:
        if messages and not self._stopping.wait(seconds):
            super()._run_guarded(messages)

    def _invoke_target(self, payload: str) -> str:
        output = super()._invoke_target(payload)
        elements = json.loads(payload)
        place = str(elements[0].get("idempotencyKey"))
        about = [element["messageId"] for element in elements]
        if self._draws.draw("pipe.answer_lost", place, about=about) is not None:
            raise InvocationError("the answer of the execution was lost")
        return output

    def _delete(self, records: Sequence[Record]) -> None:
        super()._delete(
            [
                record
                for record in records
                if self._draws.draw("pipe.delete_lost", record["body"], about=[record["messageId"]])
                is None
            ]
        )
