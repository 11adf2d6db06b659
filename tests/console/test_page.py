"""The page in a real browser, on a real stack: what it shows is what the commands say."""

import json
import re
import uuid
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError
from once_pacing import breaker_row
from playwright.sync_api import Browser, Page, expect

from once.console import feed
from once.operate import log
from once.operate.phrases import shorten_ids
from once.outcomes import Outcome
from once.project import EXAMPLE
from once.records import OutcomeLog
from proof.console import Served, served, stack_of
from proof.deployed import DeployedStack
from proof.events import ORGANISATION, customer_start
from proof.story import CALL
from tests.console.conftest import said
from tests.console.readable import assert_readable
from tests.operate.conftest import once
from tests.operate.support import count_waiting, destination_answers, until

pytestmark = [pytest.mark.local, pytest.mark.usefixtures("stack_in_folder")]

Open = Callable[..., Page]
EXPECTED = json.loads(EXAMPLE.with_name("story.expected.json").read_text())
END_OF = {
    "PROCESSED": "Processed",
    "DUPLICATE": "SkipDuplicate",
    "STALE": "SkipStale",
    "PARKED": "Parked",
}


@pytest.fixture(scope="module", autouse=True)
def parked_by_nobody(local: DeployedStack) -> Iterator[None]:
    """Other modules share the stack."""
    yield
    list(local.take("ParkingQueueUrl"))


@pytest.fixture(scope="module")
def story(local: DeployedStack) -> list[str]:
    """The messages of the example stream, sent one after the other."""
    sqs, queue = local.client("sqs"), local.outputs["EventQueueUrl"]
    logs, group = local.client("logs"), local.outputs["OutcomeLogGroupName"]
    ids: list[str] = []
    for line in EXAMPLE.read_text("utf-8").splitlines():
        ids.append(sqs.send_message(QueueUrl=queue, MessageBody=line)["MessageId"])
        until(
            lambda: [
                event
                for event in logs.filter_log_events(
                    logGroupName=group, filterPattern=f'"{ids[-1]}"'
                )["events"]
                if '"RETRY"' not in event["message"]
            ]
        )
    return ids


def row_of(page: Page, text: str) -> Any:
    return page.locator("#rows tr", has_text=text)


def alike(answer: Any) -> Any:
    """But for whose answer it is, and for what is not known."""
    if isinstance(answer, list):
        return [alike(one) for one in answer]
    if not isinstance(answer, dict):
        return answer
    known = {name: value for name, value in answer.items() if value is not None}
    return {name: alike(value) for name, value in known.items() if name != "stack"}


def explained(thing: str) -> list[dict[str, Any]]:
    answer = once("explain", thing, "--json").json
    return [event for subject in answer["subjects"] for event in subject["events"]]


def test_each_message_of_the_story_stands_in_the_row_that_explain_gives_it(
    story: list[str], console: Served, open_page: Open
) -> None:
    rows = said(console, "/now.json")["rows"]
    page = open_page()
    known: dict[str | None, list[dict[str, Any]]] = {}
    for expected, message_id in zip(EXPECTED, story, strict=True):
        (row,) = [one for one in rows if message_id in one["ids"]]
        if row["subject"] not in known or not row["subject"]:
            known[row["subject"]] = explained(row["subject"] or message_id)
        (event,) = [
            one
            for one in known[row["subject"]]
            if message_id in {message["messageId"] for message in one["messages"]}
        ]
        (message,) = [one for one in event["messages"] if one["messageId"] == message_id]
        assert message["outcome"] == expected["outcome"], expected
        assert (row["text"], row["outcome"]) == (event["text"], event["outcome"]), expected
        assert row["verdict"] == event["verdict"], expected
        assert row["messages"] == len(event["messages"]), expected
        assert expected.get("reason") in (None, *row["reasons"]), expected
        assert {one["reason"] for one in message["deliveries"]} - {None} <= set(row["reasons"])
        shown = page.locator(f"#row-{row['id']}")
        expect(shown.locator(".badge")).to_have_text(event["outcome"])
        expect(shown).to_contain_text(event["text"])
        expect(shown).to_contain_text(shorten_ids(event["verdict"]))
    assert len(known) > 5


def test_each_line_of_the_story_took_the_path_of_its_outcome(
    story: list[str], console: Served
) -> None:
    for expected, message_id in zip(EXPECTED, story, strict=True):
        page = said(console, f"/event.json?of={message_id}&message={message_id}")
        (message,) = [m for m in page["event"]["messages"] if m["messageId"] == message_id]
        assert message["outcome"] == expected["outcome"], expected
        states = [step["state"] for step in page["path"]["steps"]]
        assert page["path"]["missing"] is None, page["path"]
        assert END_OF[message["outcome"]] in states, expected


def test_the_path_is_lit_in_the_drawing(story: list[str], console: Served, open_page: Open) -> None:
    seen = set()
    for expected, message_id in zip(EXPECTED, story, strict=True):
        if expected["outcome"] in seen:
            continue
        seen.add(expected["outcome"])
        of = f"of={message_id}&message={message_id}"
        states = [s["state"] for s in said(console, f"/event.json?{of}")["path"]["steps"]]
        page = open_page(f"/event?{of}")
        lit = page.locator(".picture .lit").evaluate_all("all => all.map(one => one.id)")
        assert {name for name in lit if "-" not in name} == set(states)
        assert {f"{a}-{b}" for a, b in pairwise(states)} - set(lit) <= {
            "SettleEvents-ClaimKey",
            *(f"{state}-NextRound" for state in END_OF.values()),
        }
        title = page.locator(f".picture #{END_OF[expected['outcome']]} title")
        assert len(title.text_content() or "") > 20, "each state says why it is there"
    assert seen == set(END_OF)


def test_the_event_page_has_what_explain_has_and_both_events_of_a_stale_one(
    story: list[str], console: Served, open_page: Open
) -> None:
    stale = next(i for one, i in zip(EXPECTED, story, strict=True) if one["outcome"] == "STALE")
    page = said(console, f"/event.json?of={stale}")
    command = alike(once("explain", stale, "--json").json)
    when = {name: command[name] for name in ("waiting", "sinceMs")}
    assert alike(page["explanation"]) | when == command
    (newer,) = {m["becauseOf"] for m in page["event"]["messages"] if m["outcome"] == "STALE"}
    opened = open_page(f"/event?of={stale}")
    lanes = opened.locator(".lane:not(.ticks)")
    assert {"happened", "stale"} <= set(lanes.first.locator("text").all_text_contents())
    other = opened.locator(".lane.other")
    expect(other.locator("a").first).to_have_attribute("title", newer)
    assert {"happened", "done"} <= set(other.locator("text").all_text_contents())


def test_the_strip_agrees_with_status(console: Served, open_page: Open) -> None:
    page = open_page()
    expect(page.locator("#live")).to_have_text("live")

    def both() -> Any:
        command = alike(once("status", "--json").json)
        return command == alike(said(console, "/now.json")["status"]) and command

    command = until(both)
    queue, parked, *_ = command["queues"]
    strip = page.locator("#strip")
    dealt = strip.locator("div", has_text="Queue").locator("dd").first
    expect(dealt).to_have_text(str(queue["visible"] + queue["inFlight"]))
    expect(strip.locator("div", has_text="Parked").locator("dd").first).to_have_text(
        str(parked["visible"] + parked["inFlight"])
    )
    for finding in command["findings"]:
        expect(strip).to_contain_text(shorten_ids(finding["sentence"]))


def unreachable(*_: object) -> None:
    raise EndpointConnectionError(endpoint_url="http://127.0.0.1:1")


@pytest.mark.usefixtures("console")
def test_a_page_that_cannot_read_the_stack_says_since_when_and_recovers(
    open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = open_page()
    live, strip = page.locator("#live"), page.locator("#strip")
    expect(live).to_have_text("live")
    with monkeypatch.context() as down:
        down.setattr(feed, "read_status", unreachable)
        down.setattr(OutcomeLog, "new", unreachable)
        expect(live).to_contain_text(re.compile("not live, as of [0-9:]{8}"))
        expect(page.locator("body")).to_have_class("old")
        expect(strip.get_by_role("alert")).to_contain_text("this is as of")
        expect(strip.get_by_role("alert")).not_to_contain_text("\\n")
        expect(strip.locator("section")).to_have_class("old")
    expect(live).to_have_text("live")
    expect(strip.get_by_role("alert")).to_have_count(0)
    expect(page.locator("body")).not_to_have_class("old")


def test_a_console_that_never_read_the_stack_does_not_say_that_nothing_happened(
    local: DeployedStack, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "read_status", unreachable)
    monkeypatch.setattr(OutcomeLog, "new", unreachable)
    with served(stack_of(local)) as console:
        page = browser.new_page()
        page.goto(console.url("/"))
        expect(page.locator("#live")).to_have_text("not live")
        expect(page.get_by_role("alert")).to_contain_text("The stack cannot be read.")
        expect(page.get_by_text("Nothing to show")).not_to_be_visible()
        page.close()


# When the row of a subject has come.
SEEN = """name => {
  window.seen = new Promise(done => new MutationObserver(() => {
    if (document.querySelector(`#rows [title$="${name}"]`)) done(Date.now());
  }).observe(document.getElementById('rows'), {childList: true}));
}"""


def shown_after_ms(page: Page, local: DeployedStack, name: str) -> int:
    """Sends an event, and returns how long after its record the open page shows it."""
    page.evaluate(SEEN, name)
    local.settle(customer_start(name))
    seen_ms: int = page.evaluate("window.seen")
    (event,) = explained(name)
    recorded_ms: int = event["messages"][0]["deliveries"][0]["recordedAtMs"]
    return seen_ms - recorded_ms


def test_a_new_event_shows_within_a_second_of_its_record(
    local: DeployedStack, open_page: Open
) -> None:
    page = open_page()
    expect(page.locator("#live")).to_have_text("live")
    # A busy machine delays single events.
    names = (f"c-new-{uuid.uuid4()}" for _ in range(5))
    assert any(shown_after_ms(page, local, name) < 1_000 for name in names)


def test_filters_and_search_find_by_outcome_reason_family_and_any_id(
    story: list[str], open_page: Open
) -> None:
    page = open_page("/?outcome=STALE")
    assert page.locator("#rows tr").count() > 0
    assert set(page.locator("#rows .badge").all_text_contents()) == {"STALE"}
    page.get_by_label("Outcome").select_option("")
    page.wait_for_url("**/?")
    page.get_by_label("Reason").select_option("NOT_JSON")
    page.wait_for_url("**/?reason=NOT_JSON")
    expect(page.locator("#rows tr")).not_to_have_count(0)
    expect(page.locator("#rows .badge").first).to_have_text("PARKED")
    for name in (CALL, story[0]):
        page.keyboard.press("/")
        page.keyboard.type(name)
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/explain?id={name}")
        expect(page.locator("table.rows tbody tr")).not_to_have_count(0)


def test_a_refused_event_is_understood_and_replayed_on_the_page(
    local: DeployedStack, open_page: Open
) -> None:
    name = f"c-poison-{uuid.uuid4()}"
    destination_answers(local, name, {"status": 400})
    page = open_page()
    local.settle(customer_start(name))
    page.goto(page.url.partition("?")[0] + f"?text={name}")
    row = page.locator("#rows tr")
    expect(row.locator(".badge")).to_have_text("PARKED")
    expect(row).to_contain_text("permanently rejected it")
    (event,) = explained(name)
    message_id = event["messages"][0]["messageId"]
    page.get_by_role("navigation").get_by_role("link", name="Parked").click()
    group = page.locator(".group", has_text="REJECTED").filter(has_text=message_id)
    group.locator("li", has_text=message_id).get_by_role("button", name="forget…").click()
    expect(page.locator("h1")).to_have_text("Forget it, so that its next copy is acted on?")
    page.get_by_role("link", name="No, change nothing").click()
    expect(group.get_by_role("checkbox", checked=True)).to_have_count(0)
    line = group.locator("li", has_text=message_id)
    assert name not in (page.locator("main").text_content() or ""), "its content was asked for"
    line.get_by_role("link", name="content").click()
    expect(line.locator("pre").first).to_contain_text(name)
    line.get_by_role("checkbox").check()
    group.get_by_role("button", name="Replay…").click()
    expect(page.locator("h1")).to_have_text("Replay 1 event?")
    expect(page.locator("main")).to_contain_text("are acted on unless a copy has been")
    page.get_by_role("button", name="Yes").click()
    expect(page.locator("h1")).to_have_text("1 replayed.")
    page.goto(page.url.partition("/act")[0] + f"/?text={name}")
    expect(page.locator("#rows tr .badge")).to_have_text("PROCESSED", timeout=30_000)


@pytest.fixture
def well_again(local: DeployedStack) -> Iterator[None]:
    """However it ends, those after it find a destination that is well."""
    yield
    local.destination.answer_always(None)


@pytest.mark.usefixtures("well_again")
def test_an_outage_is_lived_through_on_the_page(
    console: Served, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = open_page("/sandbox?example=conversation.customer.start")
    page.get_by_role("button", name="down").click()
    expect(page.get_by_role("button", name="down")).to_have_attribute("aria-pressed", "true")
    name = str(uuid.uuid4())
    page.locator("#text").fill(json.dumps(customer_start(name)))
    expect(page.locator("#looked")).to_contain_text("no claim: it would be acted on")
    expect(page.locator("#looked code")).to_contain_text(f"{ORGANISATION}/conversation/{name}")
    page.get_by_label("its time").select_option("now")
    page.get_by_role("button", name="Send").click()
    sent = page.locator(".sent a").first.get_attribute("href")
    page.goto(f"{console.address}/?text={name}")
    row = page.locator("#rows tr")
    expect(row.locator(".badge")).to_have_text("RETRY", timeout=30_000)
    expect(row).to_contain_text("returns at")
    strip = page.locator("#strip")
    expect(strip).to_contain_text("in progress")
    expect(strip).to_contain_text("next attempt")
    with monkeypatch.context() as fewer:
        fewer.setattr(log, "MOST", 1)
        expect(strip).to_contain_text("at least", timeout=20_000)
        expect(strip).not_to_contain_text("in progress")
    page.goto(f"{console.address}/sandbox")
    healthy = page.get_by_role("button", name="healthy")
    healthy.click()
    expect(healthy).to_have_attribute("aria-pressed", "true")
    page.goto(f"{console.address}/?text={name}")
    expect(row.locator(".badge")).to_have_text("PROCESSED", timeout=60_000)
    page.goto(console.address + str(sent))
    marks = page.locator(".lane").nth(1).locator("text").all_text_contents()
    assert {"happened", "no response", "200", "done"} <= set(marks)
    expect(page.locator("ul.messages")).to_contain_text("HTTP 200")
    deliveries = page.locator(".deliveries a")
    expect(page.locator(".deliveries [aria-current]")).to_have_text(str(deliveries.count()))
    deliveries.first.click()
    expect(page.locator(".deliveries [aria-current]")).to_have_text("1")
    assert any(mark.startswith("waits") for mark in marks)


@pytest.mark.usefixtures("well_again")
def test_the_sandbox_follows_changes_of_the_destination(
    local: DeployedStack, open_page: Open
) -> None:
    page = open_page("/sandbox")
    names = ("healthy", "hanging")
    healthy, hanging = (page.get_by_role("button", name=name) for name in names)
    expect(healthy).to_have_attribute("aria-pressed", "true")
    assert once("destination", "hanging").code == 0
    expect(hanging).to_have_attribute("aria-pressed", "true")
    assert once("destination", "503").code == 0
    expect(page.locator("#received")).to_contain_text("now: 503")
    assert once("destination", "ok").code == 0
    expect(healthy).to_have_attribute("aria-pressed", "true")
    name = f"c-seen-{uuid.uuid4()}"
    local.settle(customer_start(name))
    expect(page.locator("#received details").first).to_contain_text(name)
    page.locator("#received summary").first.click()
    local.settle(customer_start())
    expect(page.locator("#received details[open]")).to_contain_text(name)
    expect(page.locator("#received details").first).not_to_contain_text(name)


def test_requests_are_paused_and_resumed_on_the_page(
    local: DeployedStack, console: Served, open_page: Open
) -> None:
    page = open_page()
    strip = page.locator("#strip")
    strip.get_by_role("button", name="pause…").click()
    expect(page.locator("h1")).to_have_text("Pause requests?")
    page.get_by_label("For").fill("45s")
    page.get_by_label("Reason", exact=True).last.fill("the CRM is being repaired")
    page.get_by_role("link", name="No, change nothing").click()
    assert once("status", "--json").json["breaker"]["pause"] is None
    strip.get_by_role("button", name="pause…").click()
    page.get_by_label("For").fill("45s")
    page.get_by_label("Reason", exact=True).last.fill("the CRM is being repaired")
    page.get_by_role("button", name="Yes").click()
    expect(page.locator("h1")).to_contain_text("Requests are paused until")
    breaker = once("status", "--json").json["breaker"]
    assert breaker["pause"]["reason"] == "the CRM is being repaired"
    assert breaker["pause"]["by"]
    assert 0 < breaker["pause"]["untilMs"] - log.now_ms() <= 45_000
    name = f"c-held-{uuid.uuid4()}"
    local.send(customer_start(name))
    page.goto(f"{console.address}/?text={name}")
    expect(page.locator("#rows tr .badge")).to_have_text("RETRY", timeout=30_000)
    expect(strip).to_contain_text("the CRM is being repaired")
    strip.get_by_role("button", name="resume…").click()
    expect(page.locator("h1")).to_have_text("Send requests again?")
    expect(page.locator("main")).to_contain_text("Requests are paused by")
    assert once("status", "--json").json["breaker"]["pause"]
    page.get_by_role("button", name="Yes").click()
    expect(page.locator("h1")).to_contain_text("The pause is over")
    assert once("status", "--json").json["breaker"]["state"] == "CLOSED"
    page.goto(console.address)
    expect(strip.get_by_role("button", name="pause…")).to_be_visible()
    page.goto("about:blank")  # an open page would ask for news all the time
    until(lambda: count_waiting(local) == 0)
    page.goto(f"{console.address}/?text={name}")
    expect(page.locator("#rows tr .badge")).to_have_text("PROCESSED")


def test_in_an_outage_the_page_offers_to_pause(local: DeployedStack, open_page: Open) -> None:
    table = local.client("dynamodb")
    at_ms = log.now_ms()
    row = {"since": at_ms, "open_until": at_ms + 60_000, "expires_at": at_ms // 1000 + 600}
    table.put_item(
        TableName=local.outputs["ClaimTableName"],
        Item=breaker_row.KEY | {name: {"N": str(value)} for name, value in row.items()},
    )
    try:
        page = open_page()
        strip = page.locator("#strip")
        expect(strip).to_contain_text("OPEN")
        expect(strip).to_contain_text("no request succeeded since")
        expect(strip.locator("dd", has_text="OPEN").first).to_have_text(
            re.compile("next probe in [0-9]+ s")
        )
        expect(strip.get_by_role("button", name="pause…")).to_be_visible()
        expect(strip.get_by_role("button", name="resume…")).to_have_count(0)
    finally:
        once("resume", "--yes")


def test_a_finding_links_to_its_heading_of_the_runbook(
    local: DeployedStack, open_page: Open
) -> None:
    local.settle("this is no JSON")
    page = open_page()
    link = page.locator("#strip").get_by_role("link", name="docs/runbook.md#events-parked")
    link.click()
    expect(page).to_have_title("Runbook · once")
    heading = page.locator("#events-parked")
    expect(heading).to_be_in_viewport()
    for other in page.locator("article a[href$='.md']").evaluate_all("all => all.map(a => a.href)"):
        assert page.request.get(other).ok, other


def test_a_group_larger_than_the_page_is_dropped_whole_and_nothing_else(
    local: DeployedStack, console: Served, open_page: Open
) -> None:
    sqs, queue = local.client("sqs"), local.outputs["ParkingQueueUrl"]

    def park(detail: str, count: int, **more: object) -> list[str]:
        ids = [str(uuid.uuid4()) for _ in range(count)]
        for start in range(0, count, 10):
            entries = []
            for number, message_id in enumerate(ids[start : start + 10]):
                element = {"messageId": message_id, "kind": "invalid", "detail": detail, **more}
                body = {"element": element, "reason": "UNKNOWN_SHAPE", "owner": "run#m"}
                entries.append({"Id": str(number), "MessageBody": json.dumps(body)})
            sqs.send_message_batch(QueueUrl=queue, Entries=entries)
        return ids

    park("many", 205, raw="{}")
    (other,) = park("another", 1, raw="{}")
    (large,) = park("large", 1, rawRef={"bucket": "overflow", "key": "the/object"})
    page = open_page("/parked")
    group = page.locator(".group", has_text=": many")
    expect(group.locator("li")).to_have_count(200)
    group.get_by_role("checkbox", name="All 205 of this group").check()
    group.get_by_role("button", name="Drop…").click()
    expect(page.locator("h1")).to_have_text("Delete 205 events permanently?")
    page.get_by_role("button", name="Yes").click()
    expect(page.locator("h1")).to_have_text("205 dropped.", timeout=60_000)
    left = {one["messageId"] for one in once("parked", "list", "--json").json["messages"]}
    assert {other, large} <= left
    page.goto(f"{console.address}/parked")
    expect(page.locator(".group", has_text=": many")).to_have_count(0)
    line = page.locator("li", has_text=large)
    line.get_by_role("link", name="content").click()
    expect(line).to_contain_text("s3://overflow/the/object")
    content = said(console, f"/parked/content.json?id={large}")
    assert (content["raw"], content["elsewhere"]) == (None, "s3://overflow/the/object")
    assert once("parked", "drop", other, large, "--yes").code == 0


def test_copies_sent_from_the_sandbox_are_skipped_and_say_so(
    console: Served, open_page: Open
) -> None:
    page = open_page("/sandbox")
    name = str(uuid.uuid4())
    page.locator("#text").fill(json.dumps(customer_start(name)))
    page.get_by_role("spinbutton", name="Messages").fill("3")
    page.get_by_label("copies").select_option("published again")
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".sent a code")).to_have_count(3)
    expect(page.locator("#text")).to_have_value(re.compile(name))
    expect(page.locator("#received")).to_contain_text("conversation.customer.start")
    key = said(console, "/sandbox.json")["received"][0]["idempotencyKey"]
    expect(page.locator(f'#received [title="{key}"]').first).to_be_visible()
    page.reload()
    expect(page.locator(".sent a code")).to_have_count(3)
    page.goto(page.url.partition("/sandbox")[0] + f"/?text={name}")
    row = page.locator("#rows tr")
    expect(row.locator("td.number").first).to_contain_text("3", timeout=30_000)
    expect(row).to_contain_text("2 skipped: it was published again", timeout=30_000)
    expect(row).to_have_count(1)


def test_an_event_is_forgotten_when_the_question_is_answered(
    local: DeployedStack, console: Served, open_page: Open
) -> None:
    name = f"c-forgotten-{uuid.uuid4()}"
    local.settle(customer_start(name))
    (event,) = explained(name)
    page = open_page(f"/event?of={event['messages'][0]['messageId']}")
    page.get_by_role("button", name="Forget it…").click()
    expect(page.locator("h1")).to_have_text("Forget it, so that its next copy is acted on?")
    page.get_by_role("button", name="Yes").click()
    expect(page.locator("h1")).to_contain_text("Forgotten")
    page.get_by_role("link", name="Back").click()
    expect(page.locator(".verdict")).to_contain_text("once forget")

    def same() -> Any:
        """Compares the row of the table with the answer of the command."""
        (row,) = said(console, f"/now.json?text={name}")["rows"]
        (event,) = explained(name)
        says = event["outcome"], event["verdict"], len(event["messages"])
        return (row["outcome"], row["messages"]) == (says[0], says[2]) and event["verdict"]

    page.goto(f"{console.address}/?text={name}")
    assert "once forget" in until(same)
    destination_answers(local, name, {"status": 400})
    local.settle(customer_start(name))
    expect(page.locator("#rows tr .badge")).to_have_text("PARKED")
    assert "acted on, and then parked" in until(same)


HOSTILE = '"><img src=x onerror="document.title=`owned`"><script>document.title="owned"</script>'


def test_hostile_contents_do_nothing(local: DeployedStack, open_page: Open) -> None:
    event = customer_start(f"c{HOSTILE}")
    event["source"] = f"aws.partner/genesys.com/cloud/{ORGANISATION}/{HOSTILE}\u202e"
    local.settle(event, HOSTILE + "\u202e\u2066")
    shown = once("parked", "list", "--reason", "NOT_JSON", "--json").json["messages"]
    ours = max(shown, key=lambda one: one["sentAtMs"])["messageId"]
    page = open_page()
    base = page.url.partition("?")[0].rstrip("/")
    for path in ("/", "/?reason=NOT_JSON", "/parked", f"/?family={HOSTILE}&text={HOSTILE}"):
        page.goto(base + path)
        assert page.locator("img[onerror], main script").count() == 0
        assert "owned" not in page.title()
        assert "\u202e" not in (page.locator("body").text_content() or "")
    page.goto(f"{base}/?reason=NOT_JSON")
    page.locator("#rows td.what a").first.click()
    page.goto(f"{base}/parked")
    line = page.locator("li", has_text=ours)
    line.get_by_role("link", name="content").click()
    expect(line.locator("pre").first).to_contain_text("onerror")
    page.goto(f"{base}/sandbox")
    page.locator("#text").fill(json.dumps(event))
    expect(page.locator("#looked")).to_contain_text("meets")
    assert page.locator("img[onerror], main script").count() == 0
    assert "owned" not in page.title()


def test_every_page_is_readable_at_each_width_in_each_colour(
    local: DeployedStack,
    story: list[str],
    console: Served,
    open_page: Open,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    local.settle("this is no JSON")
    page = open_page()
    events = [f"/event?of={message_id}" for message_id in (story[26], story[0])]
    paths = ["/", *events, f"/explain?id={CALL}", "/explain", "/parked"]
    for path in [*paths, "/sandbox?example=user.presence"]:
        page.goto(console.address + path)
        assert_readable(page, path)
    page.goto(console.address)
    expect(page.locator("#live")).to_have_text("live")
    monkeypatch.setattr(feed, "read_status", unreachable)
    monkeypatch.setattr(OutcomeLog, "new", unreachable)
    expect(page.locator("#strip").get_by_role("alert")).to_be_visible()
    assert_readable(page, "the stack is down")


def test_on_a_phone_the_times_of_an_event_are_a_list_in_order(
    story: list[str], open_page: Open
) -> None:
    page = open_page(f"/event?of={story[26]}", viewport={"width": 390, "height": 844})
    times = page.locator(".moments li:not(.day)")
    expect(times.first).to_be_visible()
    expect(page.locator(".axis svg").first).not_to_be_visible()
    said = page.locator(".moments").text_content() or ""
    assert said.index("happened") < said.index("taken") < said.index("claimed")
    page.set_viewport_size({"width": 1280, "height": 844})
    expect(times.first).not_to_be_visible()
    expect(page.locator(".axis svg").first).to_be_visible()


def test_a_click_anywhere_in_a_row_opens_its_event_and_a_selection_does_not(
    story: list[str], open_page: Open
) -> None:
    page = open_page(f"/explain?id={CALL}")
    row = page.locator(".rows tbody tr").first
    row.locator("td.why").select_text()
    row.locator("td.why").dispatch_event("click")
    expect(page).to_have_url(re.compile("/explain"))
    row.locator("td.number").first.click()
    page.wait_for_url("**/event?of=*")
    assert story


# What a header shows below itself, how wide, and how high the head of its table is.
SHOWN_BELOW = """one => {
  const below = getComputedStyle(one, '::after');
  return [below.content, parseFloat(below.width), one.closest('thead').offsetHeight];
}"""


def test_a_conversation_begins_with_its_sum_and_says_when_each_event_happened(
    story: list[str], open_page: Open
) -> None:
    page = open_page(f"/explain?id={CALL}")
    events = explained(CALL)
    acted = sum(event["outcome"] == "PROCESSED" for event in events)
    expect(page.locator(".note")).to_contain_text(f"{len(events)} events: {acted} acted on, ")
    times = page.locator(".rows time").evaluate_all(
        "all => all.map(one => Date.parse(one.dateTime))"
    )
    assert times == [event["occurredAtMs"] for event in reversed(events)]
    header = page.get_by_role("columnheader", name="Messages", exact=True)
    signs = header.get_attribute("title") or ""
    for sign in "✓=<!…":
        assert sign in signs
    expect(header).to_have_accessible_description(signs)
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 844})
        page.locator(".rows tbody a").first.focus()
        page.keyboard.press("Shift+Tab")
        expect(header).to_be_focused()
        content, wide, high = header.evaluate(SHOWN_BELOW)
        assert signs in content, "whoever uses the keyboard and sees reads it, too"
        assert (wide > 300, high > 10) == (True, True), "it is not squeezed, and its head is seen"
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert story


def test_a_short_id_or_a_family_finds_rows(story: list[str], open_page: Open) -> None:
    page = open_page()
    for typed in (CALL[:8], story[0][:8], "user.start"):
        page.locator("#search").fill(typed)
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/explain?id={typed}")
        expect(page.locator("table.rows tbody tr")).not_to_have_count(0)
    page.locator("#search").fill("nonsense")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text("or its words")


def test_the_rows_follow_while_an_id_is_typed(story: list[str], open_page: Open) -> None:
    page = open_page()
    expect(page.locator("#live")).to_have_text("live")
    every = page.locator("#rows tr").count()
    field = page.get_by_label("Id or words")
    field.press_sequentially(CALL)
    expect(page.locator("#rows tr")).to_have_count(len(explained(CALL)))
    expect(field).to_be_focused()
    assert page.url.endswith(f"text={CALL}")
    field.fill("")
    expect(page.locator("#rows tr")).to_have_count(every)
    places = page.locator("#rows time").evaluate_all("all => all.map(one => one.dateTime)")
    assert places == sorted(places, reverse=True)
    field.fill("nothing has this")
    expect(page.get_by_text("Nothing to show in this time")).to_be_visible()
    page.get_by_role("button", name="Freeze").click()
    field.fill(CALL)
    expect(page.locator("#rows tr")).to_have_count(len(explained(CALL)))
    field.fill("nothing has this")
    expect(page.get_by_text("Nothing to show in this time")).to_be_visible()
    page.get_by_role("link", name="Older").click()
    expect(page.get_by_text("Nothing to show from")).to_be_visible()
    asked = re.search(r"text=nothing\+has\+this&before=(\d+)$", page.url)
    assert asked is not None, "the filter goes with it"
    assert 0 <= log.now_ms() - int(asked[1]) < 60_000, "no row says where the table ends"
    assert story


def test_a_list_of_duplicates_says_why_its_badges_say_otherwise(
    story: list[str], open_page: Open
) -> None:
    page = open_page("/?outcome=DUPLICATE")
    expect(page.locator(".note")).to_contain_text("says how the event itself ended")
    assert "PROCESSED" in page.locator("#rows .badge").all_text_contents()
    assert story


def test_an_event_with_one_request_shows_time_and_response(
    story: list[str], open_page: Open
) -> None:
    page = open_page(f"/event?of={story[0]}")
    expect(page.get_by_role("heading", name="1 request")).to_be_visible()
    expect(page.locator("ul.messages")).to_contain_text("1 request: acted on: HTTP 200")


def test_a_reason_and_its_detail_say_the_same_only_once(
    local: DeployedStack, open_page: Open
) -> None:
    local.settle("this is no JSON")
    group = open_page("/parked").locator(".group", has_text="NOT_JSON").first
    expect(group.locator("h2")).to_contain_text("The text is not JSON")
    assert (group.text_content() or "").count("text is not JSON") == 1


def test_the_page_is_walked_by_keyboard(story: list[str], open_page: Open) -> None:
    page = open_page()
    for _ in range(2):
        page.keyboard.press("j")
    second = page.locator("#rows td.what a").nth(1)
    expect(second).to_be_focused()
    page.keyboard.press("p")
    expect(page.get_by_role("button", name="Go on")).to_be_visible()
    page.keyboard.press("Enter")
    page.wait_for_url("**/event?of=*")
    assert story


MANY = 10_000


def longest_task_ms(trace: bytes) -> float:
    """Returns the longest task of the page's thread, by the time that it computed."""
    events = json.loads(trace)["traceEvents"]
    pages = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    return max(
        event.get("tdur", 0) / 1000
        for event in events
        if event["name"] == "ThreadControllerImpl::RunTask"
        and (event["pid"], event["tid"]) in pages
    )


def test_ten_thousand_events_do_not_keep_the_page_from_answering(
    local: DeployedStack,
    console: Served,
    browser: Browser,
    open_page: Open,
    request: pytest.FixtureRequest,
) -> None:
    logs, group = local.client("logs"), local.outputs["OutcomeLogGroupName"]
    # In a stream of their own, which goes: the emulator's log answers its first 10,000 lines only.
    logs.create_log_stream(logGroupName=group, logStreamName="many")
    request.addfinalizer(lambda: logs.delete_log_stream(logGroupName=group, logStreamName="many"))
    now_ms = log.now_ms()
    lines = [
        {
            "messageId": str(uuid.uuid4()),
            "outcome": Outcome.PROCESSED,
            "reason": "ACTED",
            "requests": 1,
            "pk": f"-/conversation/c-many-{number // 5}",
            "sk": f"v1/conversation.customer.start/{number}",
            "family": "conversation.customer.start",
        }
        for number in range(MANY)
    ]
    for start in range(0, MANY, 1_000):
        events = [
            {"timestamp": now_ms - MANY + start + number, "message": json.dumps(line)}
            for number, line in enumerate(lines[start : start + 1_000])
        ]
        logs.put_log_events(logGroupName=group, logStreamName="many", logEvents=events)
    names = [f"c-after-{number}-{uuid.uuid4()}" for number in range(5)]
    browser.start_tracing(categories=["__metadata", "toplevel"])
    try:
        page = open_page()
        expect(page.locator("#rows tr")).to_have_count(200)
        expect(page.locator("#live")).to_have_text("live")
        assert any(shown_after_ms(page, local, name) < 3_000 for name in names)
    finally:
        trace = browser.stop_tracing()
    assert 0 < longest_task_ms(trace) < 100
    (row,) = said(console, f"/now.json?text={names[0]}")["rows"]
    assert row["text"] == "customer arrives"
    page.get_by_role("link", name="Older").click()
    expect(page.locator("#rows tr")).to_have_count(200)
