"""Jobs of the gateway from Python."""

import json
from typing import Any

import httpx2
import pytest

from oddish import Client
from oddish.client.errors import UnexpectedAnswer
from oddish.client.gatewayjobs import ExecuteTasks
from oddish.schemas.gatewayexamples import DOCUMENT

ROOT = "/sandbox/harbor/v2/jobs"
ACCEPTED = {"job_id": "gw_1", "status": "queued"}
REQUEST: ExecuteTasks = {
    "task_slug": "t",
    "metadata": {"task_archive_url": "http://a/t.zip"},
    "agents": [{"name": "a", "harbor_agent": "oracle"}],
}
DELIVERY = {"kind": "writeback", "url": "http://a/…", "event": "job.finished", "attempt": 1, "result": "delivered"}
EVENTS = (
    'id: 1\nevent: job.queued\ndata: {"job_id": "gw_1"}\n\n: \n\n'
    'id: 2\nevent: job.finished\ndata: {"job_id": "gw_1", "status": "succeeded"}\n\nid: 3\nevent: later\ndata: {}\n\n'
)


class Server:
    def __init__(self) -> None:
        self.requests: list[httpx2.Request] = []
        self.stream = EVENTS

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        request.read()
        self.requests.append(request)
        if request.url.path.endswith("/events"):
            return httpx2.Response(200, text=self.stream, headers={"content-type": "text/event-stream"})
        if request.url.path.endswith("/deliveries"):
            return httpx2.Response(200, json={"job_id": "gw_1", "deliveries": [DELIVERY]})
        if request.url.path.endswith("/datapoint"):
            return httpx2.Response(504, json={"code": "job_goes_on", "job_id": "gw_1"})
        if request.method == "GET":
            return httpx2.Response(200, json=DOCUMENT)
        refill = {"retry_of": "gw_1", "pass_at_k": 1, "retried_exceptions": []}
        return httpx2.Response(200 if request.url.path.endswith("/cancel") else 202, json=ACCEPTED | refill)

    @property
    def last(self) -> httpx2.Request:
        return self.requests[-1]


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def client(server: Server) -> Client:
    return Client("http://server.test", "ok_1", transport=httpx2.MockTransport(server))


def test_what_makes_a_job_is_sent_with_a_key_that_makes_it_once(server: Server, client: Client) -> None:
    assert client.gateway.execute(REQUEST, correlation_id="evals-42")["job_id"] == "gw_1"
    assert (server.last.url.path, json.loads(server.last.content)) == (f"{ROOT}/execute-tasks", REQUEST)
    assert server.last.headers["x-correlation-id"] == "evals-42"
    assert len(server.last.headers["idempotency-key"]) == 32
    client.gateway.retry("gw_1", include_side_effects=True, idempotency_key="mine")
    assert server.last.url.raw_path.decode() == f"{ROOT}/gw_1/retry-errored-trials?include_side_effects=true"
    assert server.last.headers["idempotency-key"] == "mine"
    client.gateway.cancel("gw_1")
    assert server.last.url.path == f"{ROOT}/gw_1/cancel"


def test_a_job_that_goes_on_is_waited_for_and_asked_for_once(server: Server, client: Client) -> None:
    assert client.gateway.datapoint(REQUEST)["status"] == DOCUMENT["status"]
    asked = [(request.method, request.url.path.rpartition("/v2/")[2]) for request in server.requests]
    assert asked == [("POST", "run/datapoint"), ("GET", "jobs/gw_1/events"), ("GET", "jobs/gw_1")]


def test_what_became_of_the_messages_to_callbacks_is_listed(server: Server, client: Client) -> None:
    assert client.gateway.deliveries("gw_1", limit=7)["deliveries"] == [DELIVERY]
    assert server.last.url.raw_path.decode() == f"{ROOT}/gw_1/deliveries?limit=7"


def test_events_are_told_to_the_last_one(client: Client) -> None:
    told: list[Any] = list(client.gateway.events("gw_1"))
    assert [(event["id"], event["event"]) for event in told] == [("1", "job.queued"), ("2", "job.finished")]
    assert told[-1]["data"]["status"] == "succeeded"


def test_events_that_are_no_json_are_refused(server: Server, client: Client) -> None:
    server.stream = "event: job.queued\ndata: queued\n\n"
    with pytest.raises(UnexpectedAnswer, match="something other than JSON"):
        list(client.gateway.events("gw_1"))
