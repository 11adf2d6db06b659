"""The newest stories and the status, read for all pages together and only when a page asks."""

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from itertools import chain, islice

from botocore.exceptions import BotoCoreError, ClientError

from once.errors import OnceError
from once.model.reasons import Outcome
from once.model.records import Record
from once.model.status import Status
from once.model.story import Story
from once.model.verdict import tell
from once.stack.facade import Stack, explain_refusal, read_clock_ms
from once.stack.log import OutcomeLog
from once.stack.status import read_status

SHOWN = 200
# Seconds between readings of records and of the status. On AWS a search of the log for what came
# since costs nothing, and a status some metrics and queries.
EVERY_SECONDS = {True: (0.3, 2.0), False: (1.0, 30.0)}
BACK_MS = {True: 86_400_000, False: 3_600_000}
_KEPT = 30_000  # records; of more, the subjects go that were quiet for longest


class Feed:
    """Holds what the pages show of the stack."""

    def __init__(self, stack: Stack, clock: Callable[[], float] = time.monotonic) -> None:
        self.stack = stack
        self.status: Status | None = None
        self.status_ms = 0
        self.trouble = ""
        """Says why the stack cannot be read now; empty if it can."""
        self._clock, self._lock = clock, threading.Lock()
        self._records: dict[str, list[Record]] = defaultdict(list)
        self._stories: dict[str, list[Story]] = {}
        self._newest: list[Story] = []
        self._log: OutcomeLog | None = None
        self._next_records = self._next_status = 0.0

    def read_stories(self, text: str = "", outcome: str = "") -> list[Story]:
        """Returns the newest stories that fit, newest first."""
        self._refresh()
        fitting = (
            story
            for story in self._newest
            if (not outcome or outcome == story.outcome) and (not text or _is_in(text, story))
        )
        return list(islice(fitting, SHOWN))

    def _refresh(self) -> None:
        """Reads again what is due; if that fails, keeps what was read and says why it is old."""
        records_seconds, status_seconds = EVERY_SECONDS[self.stack.is_local]
        with self._lock:
            now = self._clock()
            try:
                if now >= self._next_records:
                    self._next_records = now + records_seconds
                    self._read_records()
                if now >= self._next_status:
                    self._next_status = now + status_seconds
                    now_ms = read_clock_ms()
                    self.status, self.status_ms = read_status(self.stack, now_ms), now_ms
                    self.trouble = ""
            except OnceError as error:
                self.trouble = str(error)
            except (BotoCoreError, ClientError) as error:
                self.trouble = str(explain_refusal(error, self.stack.is_local))

    def _read_records(self) -> None:
        now_ms = read_clock_ms()
        oldest_ms = now_ms - BACK_MS[self.stack.is_local]
        if self._log is None:
            self._log = OutcomeLog(self.stack.client, self.stack.outputs, oldest_ms)
        changed = set()
        for record in self._log.read_new():
            self._records[record.pk or record.first_message_id].append(record)
            changed.add(record.pk or record.first_message_id)
        for home, stories in self._stories.items():  # what is said of them changes with time
            if any(story.outcome in (None, Outcome.RETRY) for story in stories):
                changed.add(home)
        excess = sum(map(len, self._records.values())) - _KEPT
        for home in sorted(self._records, key=lambda home: self._records[home][-1].recorded_at_ms):
            if excess <= 0 and self._records[home][-1].recorded_at_ms >= oldest_ms:
                break
            excess -= len(self._records.pop(home))
            self._stories.pop(home, None)
            changed.add(home)
        breaker = self.status.breaker if self.status else None
        for home in changed & self._records.keys():
            self._stories[home] = tell(self._records[home], [], now_ms, breaker)
        if changed:
            every = chain.from_iterable(self._stories.values())
            # Each story here has a record.
            self._newest = sorted(every, key=lambda story: -story.records[-1].recorded_at_ms)


def _is_in(text: str, story: Story) -> bool:
    """Returns true if a text is in an id of an event, or in what is said of it."""
    words = f"{story.text} {story.verdict} {story.key or ''}".lower()
    return text.lower() in words or any(text in name for name in story.names)
