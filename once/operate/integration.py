"""Checks that Genesys Cloud sends what the rule listens to: the integration's state and its topics.

It is asked with an OAuth client that may view integrations, given as the Terraform provider of
Genesys Cloud takes it.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import urllib3

from once.errors import OnceError
from once.operate.checks import Check
from once.operate.event_source import PARTNER
from once.operate.stack import Stack

CLIENT_ID = "GENESYSCLOUD_OAUTHCLIENT_ID"
CLIENT_SECRET = "GENESYSCLOUD_OAUTHCLIENT_SECRET"  # noqa: S105 - the name of a variable
_SECONDS = 10.0
_PAGE = 100
_TYPE = "amazon-eventbridge-source"

Get = Callable[[str], Any]


def check_integration(stack: Stack, environment: Mapping[str, str]) -> Iterator[Check]:
    """Yields nothing without credentials, if the stack listens to no partner source either."""
    given = [environment.get(name, "") for name in (CLIENT_ID, CLIENT_SECRET)]
    bus = stack.outputs["EventBusName"]
    if all(given):
        try:
            get = _log_in(stack.parameters["GenesysHost"], *given)
            yield _judge(list(_read_integrations(get)), stack)
        except (OnceError, urllib3.exceptions.HTTPError) as error:
            yield _make_check(None, f"Genesys Cloud did not respond: {error}")
    elif bus.startswith(PARTNER):
        yield _make_check(
            None, f"not checked: set {CLIENT_ID} and {CLIENT_SECRET} of a client that may view it"
        )


def _make_check(works: bool | None, said: str) -> Check:
    return Check(name="integration in Genesys Cloud", works=works, said=said)


def _judge(integrations: Sequence[Mapping[str, Any]], stack: Stack) -> Check:
    bus = stack.outputs["EventBusName"]
    place = (stack.account, stack.region)
    if bus.startswith(PARTNER):
        suffix = bus.rpartition("/")[2]
        ours = [one for one in integrations if one["properties"].get("eventSourceSuffix") == suffix]
        if ours and place not in map(_find_place, ours):
            return _make_check(
                False,
                f"{_say_target(ours[0])}, and the stack is in {', '.join(place)}: change it in "
                "Genesys Cloud",
            )
    else:  # whatever is sent to this account and region may be passed on
        suffix, ours = ", ".join(place), list(integrations)
        if ours and place not in map(_find_place, ours):
            others = "; ".join(map(_say_target, ours))
            return _make_check(
                None,
                f"none sends to {suffix}: {others}. Does a rule of yours pass it on from there?",
            )
    here = [one for one in ours if _find_place(one) == place]
    if not here:
        others = ", ".join(str(one["properties"].get("eventSourceSuffix")) for one in integrations)
        return _make_check(
            False,
            f"none sends to {suffix}; there is {others or 'none of this type'}. "
            "Set one up: docs/operations.md#set-up-the-genesys-side",
        )
    active = [one for one in here if _read_state(one) == "ACTIVE"]
    if not active:
        return _make_check(
            False,
            f"{here[0]['name']} is {_read_state(here[0])}, so nothing is sent. "
            "Set it to active in Genesys Cloud: Admin, Integrations",
        )
    return _judge_topics(active, stack.parameters["DetailTypes"])


def _find_place(one: Mapping[str, Any]) -> tuple[str, str]:
    properties = one["properties"]
    return str(properties.get("awsAccountId")), str(properties.get("awsAccountRegion"))


def _say_target(one: Mapping[str, Any]) -> str:
    return f"{one['name']} sends to {', '.join(_find_place(one))}"


def _read_state(one: Mapping[str, Any]) -> str:
    return str((one.get("reportedState") or {}).get("code", "unknown"))


def _judge_topics(ours: Sequence[Mapping[str, Any]], detail_types: str) -> Check:
    sent = {topic for one in ours for topic in one["properties"].get("eventFilter", [])}
    wanted = {topic.strip() for topic in detail_types.split(",")}
    wanted = sent if wanted == {"*"} else wanted
    if missing := sorted(wanted - sent):
        return _make_check(
            False,
            f"it does not send {', '.join(missing)}, for which the rule waits. Add it to the "
            "integration's topics, or take it out of DetailTypes",
        )
    said = f"ACTIVE, {len(sent)} topics"
    if ignored := sorted(sent - wanted):
        said += f"; the rule does not take {', '.join(ignored)}"
    return _make_check(True, said)


def _read_integrations(get: Get) -> Iterator[dict[str, Any]]:
    """Those of EventBridge, with their properties."""
    number = pages = 1
    while number <= pages:
        page = get(f"/api/v2/integrations?pageSize={_PAGE}&pageNumber={number}")
        pages, number = page.get("pageCount", 1), number + 1
        for one in page["entities"]:
            if (one.get("integrationType") or {}).get("id") == _TYPE:
                current = get(f"/api/v2/integrations/{one['id']}/config/current")
                yield {**one, "properties": current.get("properties") or {}}


def _log_in(host: str, client_id: str, client_secret: str) -> Get:
    """GET with a token; a host with a scheme is an imitation on this machine."""
    login, api = (host, host) if "://" in host else (f"https://login.{host}", f"https://api.{host}")
    pool = urllib3.PoolManager(timeout=_SECONDS, retries=2)
    answer = pool.request(
        "POST",
        f"{login}/oauth/token",
        headers={
            **urllib3.make_headers(basic_auth=f"{client_id}:{client_secret}"),
            "Content-Type": "application/x-www-form-urlencoded",
        },
        body="grant_type=client_credentials",
    )
    if answer.status != 200:
        raise OnceError(
            f"the login at {login} answered {answer.status}. Check {CLIENT_ID}, {CLIENT_SECRET} "
            "and the parameter GenesysHost"
        )
    token = json.loads(answer.data)["access_token"]

    def get(path: str) -> Any:
        answer = pool.request("GET", api + path, headers={"Authorization": f"Bearer {token}"})
        if answer.status != 200:
            raise OnceError(
                f"{path.partition('?')[0]} answered {answer.status}. The client needs the "
                "permission integrations:integration:view"
            )
        return json.loads(answer.data)

    return get
