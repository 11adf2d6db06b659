"""What means state in the snapshots of a whole conversation, and what is sent along with it."""

from typing import Annotated, Any

from typing_extensions import TypedDict

from enrichment.field_types import After, Id, Word, digest_of_parts


class _Reference(TypedDict, total=False):
    id: Any


class _Wrapup(TypedDict, total=False):
    code: Any
    endTime: Any


class _Acw(TypedDict, total=False):
    state: Any
    startTime: Any
    endTime: Any


class _Recorders(TypedDict, total=False):
    adhocState: Any
    customerExperienceState: Any
    agentExperienceState: Any
    snippetState: Any


# What means state in a participant, a communication or a message of a conversation. All else
# (attributes, addresses, settings) changes without a change of state.
class _Part(TypedDict, total=False):
    user: _Reference
    wrapup: _Wrapup
    afterCallWork: _Acw
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
    recordersState: _Recorders


class _Communication(_Part, total=False):
    messages: list[_Part]


class _Media(TypedDict, total=False):
    messages: list[_Communication]
    calls: list[_Communication]
    callbacks: list[_Communication]
    chats: list[_Communication]
    cobrowsesessions: list[_Communication]
    emails: list[_Communication]
    internalMessages: list[_Communication]
    screenMonitorings: list[_Communication]
    screenshares: list[_Communication]
    socialExpressions: list[_Communication]
    videos: list[_Communication]


class _Participant(_Part, _Media, total=False):
    pass


def _digest_by_id(participants: list[Any]) -> str:
    return digest_of_parts(sorted(participants, key=lambda one: str(one.get("id"))))


class Snapshot(TypedDict, total=False):
    """The state of a whole conversation, sent again whenever anything in it changes."""

    id: Id
    userId: Id
    queueId: Id
    participants: Annotated[list[_Participant], After(_digest_by_id)]
    recordingState: Word
    securePause: bool
