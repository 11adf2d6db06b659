"""The mock destination that these tests rely on: what a script makes it do."""

import pytest
import urllib3

from once.genesys.server import CLIENT_ID, CLIENT_SECRET, GenesysServer

ACTION = "/api/v2/integrations/actions/custom_-_1/execute"


class Client:
    """A client without any of the product's code."""

    def __init__(self, server: GenesysServer) -> None:
        self.server = server
        self.token = self.login(CLIENT_SECRET).json()["access_token"]

    def login(self, secret: str) -> urllib3.BaseHTTPResponse:
        headers = urllib3.make_headers(basic_auth=f"{CLIENT_ID}:{secret}")
        body, url = "grant_type=client_credentials", f"{self.server.url}/oauth/token"
        return urllib3.request("POST", url, body=body, headers=headers, retries=False)

    def execute(self, key: str = "k1", **inputs: str) -> urllib3.BaseHTTPResponse:
        return urllib3.request(
            "POST",
            self.server.url + ACTION,
            json={"idempotencyKey": key, **inputs},
            headers={"Authorization": f"Bearer {self.token}"},
            retries=False,
        )


@pytest.fixture
def client(server: GenesysServer) -> Client:
    return Client(server)


def test_rule_replies_to_its_events_request_by_request(client: Client) -> None:
    client.server.script.add({"match": {"subjectId": "c1"}, "replies": [429, 500]})
    ids = ("c1", "c2", "c1", "c1")
    assert [client.execute(subjectId=each).status for each in ids] == [429, 200, 500, 200]


def test_rule_per_event_replies_to_each_event_anew(client: Client) -> None:
    client.server.script.add({"replies": [500], "perEvent": True})
    keys = ("k1", "k2", "k1", "k2")
    assert [client.execute(key).status for key in keys] == [500, 500, 200, 200]


def test_key_acts_once_and_its_requests_are_counted(client: Client) -> None:
    client.server.script.add({"replies": ["lose", 500]})
    with pytest.raises(urllib3.exceptions.ProtocolError):
        client.execute()
    assert client.execute().status == 500
    assert client.execute().json() == {"acted": True, "repeated": True}
    requests = client.server.received("execute")
    acts = [(request.acted, request.repeated) for request in requests]
    assert acts == [(True, False), (False, False), (True, True)]


def test_wrong_secret_or_token_acts_on_nothing(client: Client) -> None:
    assert client.login("wrong").status == 401
    client.token = "invented"
    assert client.execute().status == 401
    assert not any(request.acted for request in client.server.log)


@pytest.mark.parametrize("header", [{"Origin": "null"}, {"Host": "rebind.example"}], ids=str)
def test_request_of_a_page_is_refused_and_leaves_no_trace(
    server: GenesysServer, header: dict[str, str]
) -> None:
    answer = urllib3.request("POST", server.url + ACTION, json={}, headers=header, retries=False)
    assert (answer.status, server.log) == (403, [])
