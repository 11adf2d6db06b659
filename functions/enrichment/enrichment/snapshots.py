"""What means state in the snapshots of a whole conversation, and what is sent along with it."""

from typing import Annotated, Any

from pydantic import AfterValidator
from typing_extensions import TypedDict

from enrichment.bodies import Body, Id, Word, told


class _Reference(TypedDict, total=False):
    id: Any


class _Wrapup(TypedDict, total=False):
    code: Any
    endTime: Any


class _Acw(TypedDict, total=False):
    state: Any
    startTime: Any
    endTime: Any


# What means state in a participant, a communication or a message of a conversation. All else
# (attributes, addresses, settings) changes without a change of state.
class _Part(TypedDict, total=False):
    user: _Reference | None
    wrapup: _Wrapup | None
    afterCallWork: _Acw | None
    id: Any
    messageId: Any
    userId: Any
    state: Any
    messageStatus: Any
    messagesSent: Any
    held: Any
    muted: Any
    audioMuted: Any
    videoMuted: Any
    confined: Any
    sharing: Any
    sharingScreen: Any
    securePause: Any
    recording: Any
    recordingState: Any
    screenRecordingState: Any
    flaggedReason: Any
    disconnectType: Any
    startTime: Any
    connectedTime: Any
    startHoldTime: Any
    parkTime: Any
    resumeTime: Any
    disconnectedTime: Any
    endTime: Any
    messageTime: Any
    startAcwTime: Any
    endAcwTime: Any
    wrapupSkipped: Any


class _Communication(_Part, total=False):
    messages: list[_Part] | None


class _Media(TypedDict, total=False):
    messages: list[_Communication] | None
    calls: list[_Communication] | None
    callbacks: list[_Communication] | None
    chats: list[_Communication] | None
    cobrowsesessions: list[_Communication] | None
    emails: list[_Communication] | None
    internalMessages: list[_Communication] | None
    screenMonitorings: list[_Communication] | None
    screenshares: list[_Communication] | None
    socialExpressions: list[_Communication] | None
    videos: list[_Communication] | None


class _Participant(_Part, _Media, total=False):
    pass


def _told_by_id(participants: list[Any]) -> str:
    return told(sorted(participants, key=lambda one: str(one.get("id"))))


class Snapshot(Body):
    """The state of a whole conversation, sent again whenever anything in it changes."""

    id: Id | None = None
    user_id: Id | None = None
    queue_id: Id | None = None
    participants: Annotated[list[_Participant], AfterValidator(_told_by_id)] | None = None
    recording_state: Word | None = None
    secure_pause: bool | None = None
