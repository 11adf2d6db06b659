"""The clock of the simulation."""

from collections.abc import Generator

from proof.waiting.kernel import Clock, Together


def test_no_more_run_together_than_may_and_one_that_ends_at_once_makes_room() -> None:
    clock = Clock()
    ended: list[tuple[int, int]] = []

    def part(number: int) -> Generator[int, None, None]:
        if number % 2:
            yield 10
        ended.append((number, clock.now_ms))

    def whole() -> Generator[Together, None, None]:
        yield Together([part(number) for number in range(6)], at_once=2)
        ended.append((-1, clock.now_ms))

    clock.start(whole())
    clock.run(1_000)
    assert ended == [(0, 0), (2, 0), (1, 10), (4, 10), (3, 10), (5, 20), (-1, 20)]
