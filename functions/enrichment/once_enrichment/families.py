"""Lists every family that is more than the generic rule: one row each, in this one place. The
functions below the table read a topic's name: its template, its ids, and the name of its family.

`why` says what tells the events apart, and why no change is lost. Genesys' own models of the bodies
were read for it; a field that is not named here does not enter the key, unless the whole body does.
A new row needs an example in schemas/examples.jsonl; docs/families.md is made from the rows.
"""

import re
from dataclasses import dataclass
from typing import Literal

from once_enrichment.keys import digest, is_plain

Order = Literal["none", "latest", "changes"]


@dataclass(frozen=True, kw_only=True)
class Family:
    """Paths are separated by spaces. A path through a list reads each of its items."""

    topics: tuple[str, ...]
    why: str
    subject: str = ""
    """The kind of subject and the path of its id; if empty, the first id in the topic's name."""
    slots: tuple[str, ...] = ()
    """Names of the ids in a topic's name, if the words before them do not tell."""
    each: str = ""
    """Text that each event has and that varies independently: the newest event is kept for each
    of its values."""
    selection: str = ""
    """Varies independently as well, and may be absent or of any type."""
    ids: str = ""
    """Part of the identity: text that each event has."""
    time: str = ""
    """The time of the event; it changes with every change."""
    state: str = ""
    """Another value, or none, is another event."""
    order: Order = "none"
    """`latest`: an event older than the latest settled event is stale. `changes`: the same, and a
    state is acted on if it differs from the latest; the key holds the whole body."""
    whole: bool = False
    """Every field of the body counts."""
    shown: str = ""
    """The field that an element shows as its state; `topic`: what the topic names."""

    @property
    def is_whole(self) -> bool:
        """True if the whole body is in the key."""
        return self.whole or self.order == "changes"


_STEPS = (
    "customer.start customer.end user.start user.end voicemail.start voicemail.end acd.start"
    " acd.end flow.start flow.end flow.outcome acw wrapup outbound"
)
_MEDIA = (
    "callbacks calls chats cobrowseSessions emails messages screenshares socialexpressions videos"
)

FAMILIES = (
    Family(
        topics=tuple(f"v2.detail.events.conversation.{{id}}.{step}" for step in _STEPS.split()),
        why="One step of one session, which no session repeats at the same `eventTime`. A wrap-up"
        " may be written and an outcome reached again, so they count; the rest describes the"
        " session, or follows from start and end.",
        subject="conversation conversationId",
        ids="participantId sessionId",
        time="eventTime",
        state="userId queueId disconnectType acdOutcome answeredUserId flowId exitReason"
        " transferType flowOutcomeId flowOutcomeValue flowOutcomeStartTime flowOutcomeEndTime"
        " flowMilestones wrapupCode wrapupNotes wrapupDurationMs outboundCampaignId"
        " outboundContactListId outboundContactId",
        shown="topic",
    ),
    Family(
        topics=("v2.detail.events.conversation.{id}.contact",),
        why="A session is linked to a contact; the rest describes the session.",
        subject="conversation conversationId",
        ids="participantId sessionId",
        time="eventTime",
        state="externalContactId externalOrganizationId",
        shown="topic",
    ),
    Family(
        topics=("v2.detail.events.conversation.{id}.attributes",),
        why="A participant's attributes are set; they belong to no session.",
        subject="conversation conversationId",
        ids="participantId",
        time="eventTime",
        state="attributes communications",
        shown="topic",
    ),
    Family(
        topics=("v2.detail.events.agent.{id}.state",),
        why="`currentStateStart` is set anew with each state of a session.",
        slots=("userId",),
        ids="sessionId",
        time="currentStateStart",
        state="currentState conversationId queueId",
        shown="currentState",
    ),
    Family(
        topics=("v2.users.{id}.presence",),
        why="`modifiedDate` is set anew with each change. Each source has a presence of its own.",
        selection="source",
        ids="presenceDefinition.id",
        time="modifiedDate",
        state="presenceDefinition.systemPresence primary message futurePresenceDefinition",
        order="latest",
        shown="presenceDefinition.systemPresence",
    ),
    Family(
        topics=("v2.users.{id}.routingStatus",),
        why="`startTime` is set anew with each status.",
        subject="user id",
        time="routingStatus.startTime",
        state="routingStatus.status errorInfo",
        order="latest",
        shown="routingStatus.status",
    ),
    Family(
        topics=(
            "v2.users.{id}.conversationsummary",
            "v2.users.{id}.station",
            "v2.users.{id}.outofoffice",
        ),
        why="States of a user that tell no time. A station's state is in `metadata.action`.",
        order="changes",
    ),
    Family(
        topics=("v2.users.{id}.activity",),
        why="Four states in one. Each has a clock of its own, and none changes with all four.",
        subject="user id",
        order="changes",
        shown="routingStatus.status",
    ),
    Family(
        topics=(
            "v2.users.{id}.workforcemanagement.adherence",
            "v2.workforcemanagement.managementunits.{id}.adherence",
            "v2.workforcemanagement.teams.{id}.adherence",
        ),
        why="Seven states in one. Three of them have a clock, and none changes with all seven.",
        subject="user user.id",
        order="changes",
        shown="adherenceState",
    ),
    Family(
        topics=tuple(
            f"v2.{place}.{{id}}.conversations{medium}"
            for place in ("users", "routing.queues")
            for medium in ("", *(f".{name}" for name in _MEDIA.split()))
        ),
        why="The state of a whole conversation, sent again whenever anything in it changes. It"
        " tells no time of its own, and states return: held, muted, recording, attributes. The user"
        " or queue whose list it is varies independently, and is in the topic.",
        subject="conversation id",
        order="changes",
    ),
    Family(
        topics=("v2.routing.queues.{id}.users",),
        why="A user's membership in a queue, which may be joined and left again.",
        each="id",
        order="changes",
    ),
    Family(
        topics=("v2.conversations.{id}.transcription",),
        why="Utterances, or that a session started or ended. `eventTime` is when that was"
        " published; the rest describes the session and the engine.",
        subject="conversation conversationId",
        ids="communicationId",
        time="eventTime",
        state="status.status status.offsetMs transcripts",
        shown="status.status",
    ),
    Family(
        topics=("v2.audits.entitytype.{id}.entityid.{id}",),
        why="A change that was made; each has an id of its own, and is never published otherwise.",
        subject="entity entity.id",
        slots=("entityType", "entityId"),
        ids="id",
        time="eventTime",
        state="action userId",
        shown="action",
    ),
    Family(
        topics=("v2.analytics.conversation.{id}.metrics", "v2.analytics.flow.{id}.metrics"),
        why="A measured value; each record has an id of its own.",
        subject="conversation conversationId",
        ids="recordId",
        time="metricDate",
        whole=True,
        shown="metric",
    ),
    Family(
        topics=(
            "v2.analytics.users.{id}.aggregates",
            "v2.analytics.queues.{id}.observations",
            "v2.analytics.flow.{id}.aggregates",
            "v2.analytics.flowoutcome.{id}.aggregates",
            "v2.analytics.wrapup.{id}.aggregates",
            "v2.outbound.campaigns.{id}.stats",
            "v2.analytics.queues.{id}.activity",
        ),
        why="Numbers that overwrite one another, and may return. A message may hold some of the"
        " metrics, so each group, interval and selection varies independently. Two selections may"
        " share a metric: the same numbers again are a change, if the other selection changed them"
        " in between.",
        selection="group data.interval data.metrics.metric data.metrics.qualifier"
        " results.mediaType",
        order="latest",
        whole=True,
    ),
    Family(
        topics=("v2.operations.events.{id}",),
        why="A value of an entity changed; the kind of change is in the topic.",
        subject="entity entityId",
        time="timestamp",
        whole=True,
        shown="currentValue",
    ),
    Family(
        topics=("v2.quality.evaluations",),
        why="`eventTime` is set anew with each event about an evaluation.",
        subject="evaluation id",
        time="eventTime",
        whole=True,
        shown="status",
    ),
    Family(
        topics=(
            "v2.taskmanagement.workitems.{id}",
            "v2.taskmanagement.workitems.queues.{id}",
            "v2.taskmanagement.workitems.users.{id}",
        ),
        why="`dateModified` is set anew with each change. It is published once for itself and once"
        " to each queue and user, whose id is in the topic.",
        subject="workitem id",
        time="dateModified",
        whole=True,
        shown="operation",
    ),
    Family(
        topics=tuple(
            f"v2.outbound.{medium}.campaigns.contact.{moment}Contact"
            for medium in ("email", "messaging", "preview", "voice", "whatsapp")
            for moment in ("pre", "post")
        ),
        why="A campaign is about to contact somebody, or has; the time is in milliseconds.",
        subject="contact outboundContactId",
        ids="outboundCampaignId",
        time="eventTime",
        whole=True,
    ),
    Family(
        topics=(
            "v2.users.{id}.conversations.{id}.recordings",
            "v2.users.{id}.conversations.{id}.recordings.{id}",
            "v2.users.{id}.recordings",
        ),
        why="The state of a recording's file, which may be archived and restored again; no time.",
        subject="conversation conversationId",
        each="id",
        order="changes",
        shown="fileState",
    ),
    Family(
        topics=("v2.users.{id}.voicemail.messages",),
        why="`modifiedDate` is set anew with each change.",
        ids="id",
        time="modifiedDate",
        whole=True,
        shown="action",
    ),
    Family(
        topics=("v2.conversations.chats.{id}.members", "v2.conversations.chats.{id}.messages"),
        why="A membership or a message in a chat; `timestamp` is that of its change. The `id` of a"
        " message is its own, not the conversation's.",
        slots=("conversationId",),
        time="timestamp",
        whole=True,
        shown="member.state",
    ),
    Family(
        topics=(
            "v2.detail.events.collaboratechat.adhoc.{id}.messages",
            "v2.detail.events.collaboratechat.group.{id}.messages",
        ),
        why="A message was created, edited or deleted; `created` is the same in all three, so it is"
        " no time of the event. An edit never makes the creation stale: each action varies"
        " independently.",
        slots=("chatId",),
        each="messageId",
        selection="actionType",
        order="changes",
        shown="actionType",
    ),
    Family(
        topics=(
            "v2.bot.conversation.{id}.conversations.summaries",
            "v2.users.{id}.conversations.summaries",
        ),
        why="A summary of a conversation, which may be edited: `createdDate` stays the same then.",
        subject="conversation conversationId",
        each="summaryId",
        order="changes",
    ),
    Family(
        topics=(
            "v2.externalcontacts.contacts.{id}.journey.segments",
            *(
                f"v2.journey.sessions.{{id}}.{kind}.events"
                for kind in ("web", "app", "action", "outcome")
            ),
        ),
        why="A step of a customer's journey with an id of its own; `createdDate` is that of the"
        " step, not of the session or segment that it is about.",
        ids="id",
        time="createdDate",
        whole=True,
        shown="eventType",
    ),
)
BY_TOPIC = {topic: family for family in FAMILIES for topic in family.topics}

SLOT = "{id}"
# A word of a topic has neither digit nor dash; what Genesys puts in a slot nearly always has.
_AN_ID = re.compile(r"[-0-9@~: ]")

_FAMILY = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")


def family_name(template: str) -> str:
    """Returns `user.presence` for `v2.users.{id}.presence`; a hash if that may be any text."""
    words = template.removeprefix("v2.").removeprefix("detail.events.").split(".")
    named = [
        singular(word) if words[at + 1 : at + 2] == [SLOT] else word
        for at, word in enumerate(words)
        if word != SLOT
    ]
    name = ".".join(named)
    if _FAMILY.fullmatch(name) and is_plain(name):
        return name
    return f"event.{digest(template)[:8]}"


def covers(pattern: str, family: str) -> bool:
    """Returns true if a name, or a beginning that ends in `*`, is that of the family."""
    if pattern.endswith("*"):
        return family.startswith(pattern[:-1])
    return family == pattern


def slot_names(template: str) -> tuple[str, ...]:
    """Names the ids in a template's slots after the noun before each slot."""
    words = template.split(".")
    names: list[str] = []
    for at, word in enumerate(words):
        if word == SLOT:
            nouns = (singular(word) for word in reversed(words[:at]) if word != SLOT)
            name = f"{next(filter(None, nouns), 'topic')}Id"
            names.append(name if name not in names else f"{name}{len(names) + 1}")
    return tuple(names)


def singular(noun: str) -> str:
    """Returns `user` for `users`."""
    if noun.endswith("ies"):
        return noun[:-3] + "y"
    return noun[:-1] if noun.endswith("s") and not noun.endswith("ss") else noun


def slot_ids(template: str, topic: str) -> tuple[str, ...]:
    """Returns the ids that `topic` has in the template's slots; none if it does not follow it.

    Each slot ends where the text after it is met first. The template comes with the message, so
    this must take no longer than the topic is long; a regular expression would go back.
    """
    if SLOT in topic or SLOT not in template:
        return ()
    start, *between, end = template.split(SLOT)
    last = len(topic) - len(end)
    if not (topic.startswith(start) and topic.endswith(end)):
        return ()
    ids, at = [], len(start)
    for text in between:
        found = topic.find(text, at + 1, last)
        if found < 0:
            return ()
        ids.append(topic[at:found])
        at = found + len(text)
    return (*ids, topic[at:last]) if at < last else ()


def template_of(topic: str) -> str:
    """Returns the template of a topic that came without one: a declared one, or a guess by ids."""
    words = topic.split(".")
    guess = (SLOT if at and _AN_ID.search(word) else word for at, word in enumerate(words))
    fitting = (template for template in BY_TOPIC if _fits(template.split("."), words))
    return next(fitting, ".".join(guess))


def _fits(template: list[str], words: list[str]) -> bool:
    return len(template) == len(words) and all(
        step in (word, SLOT) for step, word in zip(template, words, strict=True)
    )
