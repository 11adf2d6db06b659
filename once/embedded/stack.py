"""A stack that runs on this machine: embedded AWS, deployed template and a running pipe in one."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

from once.embedded.aws import EmbeddedAws
from once.embedded.deploy import Stack, deploy
from once.embedded.faulty_pipe import FaultyPipe
from once.embedded.pipe import Observer, PipeRunner
from once.faults import Draws
from once.project import TEMPLATE

Step = Callable[[str], None]


class EmbeddedStack:
    """Stays up until `stop`; as a context manager it ends with the block, however that ends."""

    def __init__(self, aws: EmbeddedAws, stack: Stack, pipe: PipeRunner) -> None:
        self.aws = aws
        self.outputs = stack.outputs
        self.built = stack.built
        self.pipe = pipe

    @classmethod
    def start(
        cls,
        parameters: Callable[[EmbeddedAws], Mapping[str, str]],
        *,
        template: Path | None = None,
        observer: Observer | None = None,
        step: Step = lambda _: None,
        draws: Draws | None = None,
    ) -> Self:
        """`parameters` is asked when the AWS is up: they may name what has to be created in it."""
        step("starting the embedded AWS")
        aws = EmbeddedAws.start(draws.faults if draws else None)
        try:
            stack = deploy(aws, template or TEMPLATE, parameters(aws), step)
            name = stack.outputs["PipeName"]
            if draws is None:
                pipe = PipeRunner(aws.client, name, observer=observer)
            else:
                pipe = FaultyPipe(aws.client, name, draws, observer=observer)
            return cls(aws, stack, pipe.start())
        except BaseException:
            aws.stop()
            raise

    def client(self, service: str) -> Any:
        return self.aws.client(service)

    def stop(self, *, at_once: bool = False) -> None:
        """Lets the batches in flight end, or `at_once` makes them fail with the AWS under them."""
        self.pipe.close()
        if at_once:
            self.aws.kill()
        self.pipe.stop()
        self.aws.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.stop(at_once=kind is not None)
