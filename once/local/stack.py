"""A stack that runs on this machine: emulator, deployed template and a running pipe in one."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

from botocore.exceptions import BotoCoreError

from once.errors import OnceError
from once.local.aws import Emulator
from once.local.deploy import Stack, deploy
from once.local.pipe import Observer, PipeRunner
from once.project import TEMPLATE

Step = Callable[[str], None]


class LocalStack:
    """Stays up until `stop`; as a context manager it ends with the block, however that ends."""

    def __init__(self, aws: Emulator, stack: Stack, pipe: PipeRunner) -> None:
        self.aws = aws
        self.outputs = stack.outputs
        self.built = stack.built
        self.pipe = pipe

    @classmethod
    def start(
        cls,
        parameters: Callable[[Emulator], Mapping[str, str]],
        *,
        template: Path | None = None,
        observer: Observer = lambda _: None,
        step: Step = lambda _: None,
    ) -> Self:
        """Asks `parameters` when the AWS is up: they may name what has to be created in it."""
        step("starting the AWS emulator")
        aws = Emulator.start()
        try:
            stack = deploy(aws, template or TEMPLATE, parameters(aws), step)
            pipe = PipeRunner(aws.client, stack.outputs["PipeName"], observer=observer)
            return cls(aws, stack, pipe.start())
        except BotoCoreError as error:
            said = aws.log_tail()
            aws.stop()
            raise OnceError(f"The local stack stopped answering: {error}\n{said}") from error
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
