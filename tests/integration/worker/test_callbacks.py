"""Callbacks of gateway jobs are told what they asked for, in order, at least once, and again when they were away."""

import asyncio
import base64
import contextlib
import hashlib
import hmac
import io
import json
import random
import time
import zipfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from oddish.gateway import callbacks
from oddish.gateway.addresses import LOOPBACK, AllowedHosts
from oddish.gateway.callbacks import Attempted
from oddish.gateway.deliveries import MOST_OF_ORGANISATION, Due, claim, deliveries, settle
from oddish.storage.manifest import upload_tree
from oddish.worker.callbacks import Callbacks
from support.callback_receiver import Receiver, Request, receiver
from support.claims import EXAMPLE, deployment_with_a_worker
from support.deployments import ORG, USER, Deployment
from support.waiting import until

pytestmark = pytest.mark.anyio

SECRET = "a secret of the caller"


@pytest.fixture
async def deployment(engine: AsyncEngine, oddish_home: Path, database_url: str) -> Deployment:
    return await deployment_with_a_worker(engine, oddish_home, database_url)


@pytest.fixture(scope="module")
def host() -> Iterator[Receiver]:
    with receiver() as running:
        yield running


@pytest.fixture
def hook(host: Receiver) -> Receiver:
    host.requests.clear()
    host.answers.clear()
    return host


async def job(deployment: Deployment, job_id: str, request: dict[str, Any], org: str = ORG) -> None:
    """As the gateway makes it: addresses are shown without their queries."""
    shown = json.loads(json.dumps(request), object_hook=lambda item: {**item, **_shown(item)})
    async with deployment.database.begin() as connection:
        await connection.execute(
            text(
                "INSERT INTO secrets (id, org_id, ciphertext, expires_at) VALUES (:id, :org, :ciphertext, 'infinity')"
            ),
            {"id": job_id, "org": org, "ciphertext": deployment.keyring.encrypt(json.dumps(request).encode())},
        )
        await connection.execute(
            text(
                "INSERT INTO gateway_jobs (id, org_id, created_by, kind, task_slug, request, secret_id,"
                " require_verifier_evidence) VALUES (:id, :org, :user, 'execute', 't', :request, :id, true)"
            ),
            {"id": job_id, "org": org, "user": USER, "request": json.dumps(shown)},
        )


def _shown(item: dict[str, Any]) -> dict[str, Any]:
    return {"url": item["url"].partition("?")[0], "secret": None} if "url" in item else {}


async def tell(deployment: Deployment, job_id: str, *events: str) -> None:
    async with deployment.database.begin() as connection:
        for event in events:
            data = json.dumps({"job_id": job_id})
            await connection.execute(
                text("SELECT announce_gateway(:job, :event, CAST(:data AS jsonb))"),
                {"job": job_id, "event": event, "data": data},
            )


@contextlib.asynccontextmanager
async def sending(deployment: Deployment, allowed: AllowedHosts = LOOPBACK) -> AsyncIterator[Callbacks]:
    sender = Callbacks(deployment.database, deployment.store, deployment.keyring, allowed, random.Random(1))
    task = asyncio.create_task(sender.run())
    try:
        yield sender
    finally:
        task.cancel()
        await asyncio.wait([task])


async def log(deployment: Deployment, job_id: str) -> list[tuple[int, int, str, int | None]]:
    """Number of the event, attempt, result and status, the oldest first."""
    async with deployment.database.connect() as connection:
        found = await deliveries(connection, job_id, limit=100)
    return [(entry.event_seq, entry.attempt, entry.result, entry.status) for entry in reversed(found)]


async def logged(deployment: Deployment, job_id: str, count: int) -> list[tuple[int, int, str, int | None]]:
    async def enough() -> list[tuple[int, int, str, int | None]] | None:
        found = await log(deployment, job_id)
        return found if len(found) >= count else None

    return await until(enough, 20) or []


def is_signed(request: Request) -> bool:
    head = f"{request.headers['webhook-id']}.{request.headers['webhook-timestamp']}."
    code = hmac.digest(SECRET.encode(), head.encode() + request.body, hashlib.sha256)
    return request.headers.get("webhook-signature") == f"v1,{base64.b64encode(code).decode()}"


async def test_each_address_is_told_of_the_events_that_it_asked_for(deployment: Deployment, hook: Receiver) -> None:
    notifications = [
        {"url": f"{hook.url}/all?key=1", "events": ["job.queued", "trial.phase", "job.finished"], "secret": SECRET},
        {"url": f"{hook.url}/end", "events": ["job.finished"]},
    ]
    await job(deployment, "gw_1", {"notifications": notifications})
    await job(deployment, "gw_2", {"notifications": [], "deliver": None})
    await tell(deployment, "gw_1", "trial.started", "trial.phase", "job.finished")
    async with sending(deployment):
        await until(lambda: len(hook.requests) == 4, 20)
        assert len(await logged(deployment, "gw_1", 4)) == 4

    everything = [request for request in hook.requests if request.target == "/all?key=1"]
    assert [json.loads(request.body)["type"] for request in everything] == ["job.queued", "trial.phase", "job.finished"]
    assert all(is_signed(request) for request in everything)
    assert abs(int(everything[0].headers["webhook-timestamp"]) - time.time()) < 60
    last = json.loads(everything[-1].body)
    outcome = {"status": "errored", "valid_for_scoring": False, "exceptions": []}
    assert (last["seq"], last["data"]) == (4, {"job_id": "gw_1", "outcome": outcome, "exit_codes": None})
    assert [request.headers["webhook-id"] for request in everything] == [
        f"gw_1.notifications.0.{seq}" for seq in (1, 3, 4)
    ]

    [end] = [request for request in hook.requests if request.target == "/end"]
    assert end.body == everything[-1].body
    assert "webhook-signature" not in end.headers
    assert end.headers["content-type"] == "application/json"
    async with deployment.database.connect() as connection:
        assert {entry.url for entry in await deliveries(connection, "gw_1", limit=9)} == {
            f"{hook.url}/all",
            f"{hook.url}/end",
        }


async def test_the_artifacts_are_put_to_a_presigned_address_and_the_document_is_written_back(
    deployment: Deployment, hook: Receiver, tmp_path: Path
) -> None:
    record = {"trial_name": "t__abc", "verifier_result": {"rewards": {"reward": 1.0}}}
    (tmp_path / "trial").mkdir()
    (tmp_path / "trial" / "result.json").write_text(json.dumps(record))
    await upload_tree(deployment.store, tmp_path / "trial", "trials/t/1-a")
    trial = await deployment.submit(await deployment.task(EXAMPLE))
    request = {
        "deliver": {"url": f"{hook.url}/in/job.zip?signature=s", "secret": SECRET},
        "writeback": {"url": f"{hook.url}/results", "secret": SECRET},
    }
    await job(deployment, "gw_1", request)
    async with deployment.database.begin() as connection:
        await connection.execute(
            text(
                "INSERT INTO attempts (trial_id, epoch, org_id, job_id, claim_id, worker_id, state, artifact_prefix)"
                " VALUES (:trial, 1, :org, 1, gen_random_uuid(), 'w', 'lost', 'trials/t/1-a')"
            ),
            {"trial": trial, "org": ORG},
        )
        await connection.execute(
            text("UPDATE trials SET gateway_job_id = 'gw_1', gateway_agent = 'a', status = 'failed'")
        )
        await connection.execute(text("UPDATE gateway_jobs SET status = 'failed', finished_at = now()"))
    await tell(deployment, "gw_1", "job.finished")
    async with sending(deployment):
        assert await logged(deployment, "gw_1", 2) == [(2, 1, "delivered", 204)] * 2
    document, packed = sorted(hook.requests, key=lambda request: request.method)
    assert is_signed(packed)
    assert is_signed(document)

    assert (packed.method, packed.target) == ("PUT", "/in/job.zip?signature=s")
    assert packed.headers["content-type"] == "application/zip"
    assert "transfer-encoding" not in packed.headers
    with zipfile.ZipFile(io.BytesIO(packed.body)) as read:
        assert read.namelist() == [f"{trial}/manifest.json", f"{trial}/result.json"]

    assert (document.method, document.target) == ("POST", "/results")
    told = json.loads(document.body)
    assert (told["job_id"], told["status"], told["outcome"]["status"]) == ("gw_1", "failed", "errored")
    assert [entry["result"] for entry in told["result"]["agent_results"]] == [record]
    assert told["finished_at"].endswith("Z")


async def test_a_receiver_that_is_away_is_told_again_and_one_that_refuses_is_not(
    deployment: Deployment, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(callbacks, "PAUSES", (0.02, 0.02))
    every = ["job.queued", "trial.started", "trial.phase", "trial.finished", "job.finished"]
    await job(deployment, "gw_1", {"notifications": [{"url": f"{hook.url}/", "events": every}]})
    await tell(deployment, "gw_1", *every[1:])
    hook.answers += [(503, {}), (200, {}), (404, {}), (302, {"Location": "/elsewhere"})]
    hook.answers += [(500, {}), (500, {}), (500, {})]
    async with sending(deployment):
        assert await logged(deployment, "gw_1", 8) == [
            (1, 1, "postponed", 503),
            (1, 2, "delivered", 200),
            (2, 1, "failed", 404),
            (3, 1, "failed", 302),
            (4, 1, "postponed", 500),
            (4, 2, "postponed", 500),
            (4, 3, "failed", 500),
            (5, 1, "delivered", 204),
        ]
    assert hook.requests[0].headers["webhook-id"] == hook.requests[1].headers["webhook-id"]
    assert {request.target for request in hook.requests} == {"/"}


async def test_who_gives_up_goes_on_with_the_latest(deployment: Deployment) -> None:
    await job(deployment, "gw_1", {"notifications": [{"url": "http://a.example", "events": ["trial.phase"]}]})
    await tell(deployment, "gw_1", *["trial.phase"] * 5)
    first = await claimed(deployment)
    assert await settled(deployment, first, Attempted("failed", 1, given_up=True))
    assert (first.event_seq, (await claimed(deployment)).event_seq) == (2, 6)


async def test_an_address_that_is_not_public_is_not_told(deployment: Deployment, hook: Receiver) -> None:
    await job(deployment, "gw_1", {"notifications": [{"url": f"{hook.url}/"}]})
    await tell(deployment, "gw_1", "job.finished")
    async with sending(deployment, AllowedHosts()):
        assert await logged(deployment, "gw_1", 1) == [(2, 1, "failed", None)]
    assert not hook.requests


async def test_a_host_that_does_not_answer_is_told_again(deployment: Deployment) -> None:
    await job(deployment, "gw_1", {"notifications": [{"url": "http://127.0.0.1:9/?key=hush"}]})
    await tell(deployment, "gw_1", "job.finished")
    async with sending(deployment):
        assert await logged(deployment, "gw_1", 1) == [(2, 1, "postponed", None)]
    async with deployment.database.connect() as connection:
        [entry] = await deliveries(connection, "gw_1", limit=1)
    assert str(entry.error).startswith("http://127.0.0.1:9/… cannot be reached")


async def test_an_address_that_is_not_kept_any_more_is_not_told(deployment: Deployment, hook: Receiver) -> None:
    await job(deployment, "gw_1", {"notifications": [{"url": f"{hook.url}/"}]})
    await tell(deployment, "gw_1", "job.finished")
    async with deployment.database.begin() as connection:
        await connection.execute(text("DELETE FROM secrets"))
    async with sending(deployment):
        assert await logged(deployment, "gw_1", 1) == [(2, 1, "failed", None)]


async def test_what_a_stopped_worker_was_sending_is_sent_by_another_at_once(
    deployment: Deployment, hook: Receiver
) -> None:
    await job(deployment, "gw_1", {"notifications": [{"url": f"{hook.url}/"}]})
    await tell(deployment, "gw_1", "job.finished")
    hook.answering.clear()
    async with sending(deployment):
        await until(lambda: hook.requests, 20)
    hook.answering.set()
    async with sending(deployment):
        assert await logged(deployment, "gw_1", 2) == [(2, 1, "postponed", None), (2, 2, "delivered", 204)]


async def test_a_message_is_held_by_one_and_an_organisation_holds_no_more_than_its_share(
    deployment: Deployment,
) -> None:
    request = {"notifications": [{"url": "http://a.example", "events": ["job.queued"]}]}
    for number in range(MOST_OF_ORGANISATION + 1):
        await job(deployment, f"gw_{number}", request)
    held = [await claimed(deployment) for _ in range(MOST_OF_ORGANISATION)]
    assert len({due.job_id for due in held}) == MOST_OF_ORGANISATION
    assert await taken(deployment) is None

    async with deployment.database.begin() as connection:
        await connection.execute(text("INSERT INTO organisations (id, name) VALUES ('o', 'o')"))
    await job(deployment, "gw_o", request, org="o")
    assert (await claimed(deployment)).org_id == "o"

    async with deployment.database.begin() as connection:
        await connection.execute(
            text("UPDATE gateway_callbacks SET due_at = '-infinity' WHERE job_id = :id"), {"id": held[0].job_id}
        )
    again = await claimed(deployment)
    assert (again.job_id, again.attempt) == (held[0].job_id, 2)
    assert not await settled(deployment, held[0], Attempted("delivered", 1, 200))
    assert await settled(deployment, again, Attempted("delivered", 1, 200))
    assert not await settled(deployment, again, Attempted("delivered", 1, 200))
    assert await log(deployment, again.job_id) == [(1, 2, "delivered", 200)]


async def taken(deployment: Deployment) -> Due | None:
    async with deployment.database.begin() as connection:
        return await claim(connection, post_seconds=60, upload_seconds=60)


async def claimed(deployment: Deployment) -> Due:
    due = await taken(deployment)
    assert due is not None
    return due


async def settled(deployment: Deployment, due: Due, attempted: Attempted) -> bool:
    async with deployment.database.begin() as connection:
        return await settle(connection, due, attempted)
