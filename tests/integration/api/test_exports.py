"""Datasets that an organisation has the server show: sent as one archive, looked at by its own people alone."""

import asyncio
import json
import os
import tarfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner, Result
from moto.server import ThreadedMotoServer
from sqlalchemy.ext.asyncio import AsyncEngine

from oddish.cli import cli
from oddish.exports import keeping
from oddish.exports.retention import KEPT, delete_orphans
from oddish.settings import Settings
from oddish.storage.store import ArtifactStore
from oddish.viewer.results import Results
from support.fleet import CREDENTIALS
from support.harbor_jobs import TRIALS
from support.results import DATASET, EXPORT, PROJECT, RUN, SUMMARY, TRACE, packed

from .serving import KEY, Server, TaskFolder

pytestmark = pytest.mark.usefixtures("quiet_logs")

PAGE = "/viewer/exports/data-agent/eval-v1"
TWIN = {"Accept": "application/json"}
MINE = ["--project", "bench", "--dataset", "eval v1"]


@pytest.fixture
def command(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Result]:
    monkeypatch.setenv("ODDISH_API_URL", server.url)
    monkeypatch.setenv("ODDISH_API_KEY", KEY)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return lambda *words: CliRunner().invoke(cli, words)


def put(client: httpx2.Client, files: Mapping[str, object] = EXPORT, page: str = PAGE) -> Any:
    answer = client.put(page, content=packed(files))
    assert answer.status_code == 200, answer.text
    return answer.json()


def archives(server: Server) -> list[str]:
    """Those in the store."""
    store = ArtifactStore.open(server.services.settings.storage_url)
    return [item.key for item in asyncio.run(store.list(keeping.PREFIX)).objects]


def unpacked(server: Server) -> set[str]:
    """The SHA-256 of the archives that the machine has the content of."""
    entries = (server.services.settings.home / "exports").iterdir()
    return {entry.name for entry in entries if entry.is_dir()}


def described(words: str) -> dict[str, object]:
    """The same dataset with another description of its project."""
    return EXPORT | {"projects/data-agent/project.json": PROJECT | {"description": words}}


def test_an_experiment_is_exported_to_the_server_and_looked_at_there(
    server: Server, client: httpx2.Client, new_task: Callable[..., TaskFolder], command: Callable[..., Result]
) -> None:
    server.offer()
    recorded = [trial for trial in TRIALS if trial.has_result][:2]
    task_id = str(new_task("greet").upload(client)["task_id"])
    body = {"task_id": task_id, "configs": [{"agent": "nop", "n_trials": 3}], "experiment_id": "mine"}
    assert client.post("/tasks/sweep", json=body).status_code == 200
    for number, trial in enumerate(recorded):
        files = {
            path.relative_to(trial.directory).as_posix(): path.read_bytes()
            for path in trial.directory.rglob("*")
            if path.is_file()
        }
        server.leave_files(f"{task_id}-{number}", files)
        finished = "UPDATE jobs SET state = 'done', finished_at = now() WHERE subject_id = %s"
        server.sql(finished, f"{task_id}-{number}")
        server.sql("UPDATE trials SET decided_by_epoch = 1 WHERE id = %s", f"{task_id}-{number}")

    done = command("export", "mine", "--to", "viewer:", *MINE, "--json")
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert (said["url"], said["attempts"]) == (f"{server.url}/viewer/exports/bench/eval%20v1", 2)
    assert [left["trial"] for left in said["left_out"]] == [f"{task_id}-2"]
    page = client.get(said["url"])
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    twin = client.get(said["url"], headers=TWIN).json()
    here = Results(Path(".oddish/viewer")).summary("bench", "eval v1").value
    assert here is not None
    attempts = [attempt for cell in here.cells for attempt in cell.attempts]
    assert (twin["findings"], twin["shown"]["numbers"]["counts"]["attempts_total"]) == ([], len(attempts))
    trace = client.get(f"{said['url']}/trace/{attempts[0].trace}", headers=TWIN)
    assert (trace.status_code, trace.json()["head"]["reward"]) == (200, attempts[0].reward)
    assert '<a href="/viewer?project=bench">' in client.get(said["url"]).text

    again = command("export", "mine", "--to", "viewer:", *MINE)
    assert (again.exit_code, said["url"] in again.stdout, "oddish open" in again.stdout) == (0, True, True)
    assert len(archives(server)) == 1
    gone = command("delete", "--export", "bench/eval v1", "--yes")
    assert (gone.exit_code, gone.stdout) == (0, "Deleted export bench/eval v1.\n")
    assert client.get(said["url"]).status_code == 404
    missing = command("delete", "--export", "bench/eval v1", "--json")
    assert (missing.exit_code, json.loads(missing.stdout)["code"]) == (1, "not_found")


def test_exports_stand_beside_the_directories_for_those_of_the_organisation(
    server: Server, client: httpx2.Client
) -> None:
    kept = put(client)
    put(client, page="/viewer/exports/data-agent/eval-v1")
    assert kept["url"] == f"{server.url}{PAGE}"
    put(client, {path.replace("eval-v1", "eval-v0"): file for path, file in EXPORT.items()}, f"{PAGE[:-1]}0")
    shown = client.get("/viewer", headers=TWIN).json()
    assert [(entry["dataset"], entry["address"], entry["exported_by"]) for entry in shown["exports"]] == [
        ("eval-v0", f"{PAGE[:-1]}0", "admin"),
        ("eval-v1", PAGE, "admin"),
    ]
    listed = client.get("/viewer/exports", params={"limit": 1}).json()
    assert [entry["dataset"] for entry in listed["exports"]] == ["eval-v0"]
    rest = client.get("/viewer/exports", params={"cursor": listed["cursor"], "project": "data-agent"}).json()
    assert ([entry["sha256"] for entry in rest["exports"]], rest["cursor"]) == ([kept["sha256"]], None)
    of_project = client.get("/viewer?project=data-agent", headers=TWIN).json()
    assert (of_project["directories"], len(of_project["exports"])) == ([], 2)
    assert client.get("/viewer?project=other", headers=TWIN).json()["exports"] == []

    stranger = server.client(server.key("a", org="other"))
    assert stranger.get("/viewer", headers=TWIN).json()["exports"] == []
    assert stranger.get("/viewer/exports").json()["exports"] == []
    for path in ("", f"/trace/{TRACE}", f"/compare?left={TRACE}&right={TRACE}"):
        assert client.get(f"{PAGE}{path}").status_code == 200
        assert stranger.get(f"{PAGE}{path}").status_code == 404
    assert stranger.delete(PAGE).status_code == 404
    reader = server.client(server.key("b", scope="read"))
    assert reader.get(PAGE).status_code == 200
    assert reader.put(PAGE, content=packed()).status_code == reader.delete(PAGE).status_code == 403


def test_another_export_takes_the_place_of_the_former_at_once(server: Server, client: httpx2.Client) -> None:
    put(client)
    assert "Other question" not in client.get(PAGE).text
    (before,) = archives(server)
    assert len(unpacked(server)) == 1
    question = SUMMARY["tasks"][0] | {"question": "Other question"}
    put(client, EXPORT | {f"{DATASET}/summary.json": SUMMARY | {"tasks": [question]}})
    assert unpacked(server) == set()
    assert "Other question" in client.get(PAGE).text
    (now,) = archives(server)
    assert now != before


def test_of_those_that_come_at_once_one_stays(server: Server, client: httpx2.Client) -> None:
    words = [f"Number {number}." for number in range(6)]
    with ThreadPoolExecutor() as pool:
        sent = list(pool.map(lambda said: put(client, described(said))["sha256"], words))
    (kept,) = client.get("/viewer/exports").json()["exports"]
    assert kept["sha256"] in sent
    assert len(archives(server)) == 1
    assert client.get(PAGE).status_code == 200


LINK = tarfile.TarInfo("projects/data-agent/out")
LINK.type, LINK.linkname = tarfile.SYMTYPE, "../../../etc"
DEVICE = tarfile.TarInfo("projects/data-agent/null")
DEVICE.type = tarfile.CHRTYPE
EXPERIMENTAL = {"support": {"opencode": {"tier": "experimental"}}}


@pytest.mark.parametrize(
    ("archive", "code", "said"),
    [
        (b"", "invalid_export", "not usable"),
        (b"no archive", "invalid_export", "gzip"),
        (packed()[:-40], "invalid_export", "cut off"),
        (packed(EXPORT | {"../out": "x"}), "invalid_export", '"../out" has ".."'),
        (packed(EXPORT | {"/etc/x": "x"}), "invalid_export", '"/etc/x" has an absolute path'),
        (packed(EXPORT, LINK), "invalid_export", "out of the archive"),
        (packed(EXPORT, DEVICE), "invalid_export", "is a device"),
        (packed(EXPORT | {"projects/big": "x" * 1_000_001}), "too_large", "extracts to more than 1000000 bytes"),
        (packed({f"projects/{number}": "" for number in range(101)}), "too_large", "100 entries"),
        (os.urandom(200_001), "too_large", "larger than 200000 bytes"),
        (packed({}), "invalid_export", "projects holds no project"),
        (packed({"projects/data-agent/project.json": PROJECT}), "invalid_export", "holds no dataset"),
        (packed(EXPORT | {f"{DATASET}/summary.json": "{"}), "invalid_export", f"{DATASET}/summary.json is no JSON"),
        (packed(EXPORT | {f"{DATASET}/{TRACE}": "[]"}), "invalid_export", TRACE),
        (
            packed(EXPORT | {"projects/data-agent/project.json": PROJECT | EXPERIMENTAL}),
            "invalid_export",
            "projects/data-agent/project.json: support",
        ),
        (packed(EXPORT | {f"{RUN}/run.json": {}}), "invalid_export", "training run data-agent/rl-1"),
        (
            packed({path.replace("eval-v1", "eval-v2"): file for path, file in EXPORT.items()}),
            "invalid_export",
            "holds dataset data-agent/eval-v2; its address names dataset data-agent/eval-v1",
        ),
    ],
)
def test_what_is_no_sound_export_is_refused_by_name_and_nothing_is_left(
    server: Server, client: httpx2.Client, archive: bytes, code: str, said: str
) -> None:
    refused = client.put(PAGE, content=archive)
    assert refused.status_code in (400, 413)
    assert refused.json()["code"] == code
    assert said in refused.json()["detail"]
    assert refused.json()["fix"]
    assert (archives(server), server.sql("SELECT FROM exports")) == ([], [])


@pytest.mark.parametrize("name", [".hidden", "a%00b", "%0A", "a" * 256])
def test_an_id_that_is_none_is_refused(client: httpx2.Client, name: str) -> None:
    answer = client.put(f"/viewer/exports/{name}/d", content=packed())
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")


def test_an_organisation_keeps_no_more_than_its_share(start: Callable[[Settings], Server], settings: Settings) -> None:
    quota = 2 * len(packed()) + 50
    server = start(settings.model_copy(update={"export_quota_bytes": quota}))
    client = server.client()
    put(client)
    put(client)
    renamed = {path.replace("eval-v1", "eval-v2"): file for path, file in EXPORT.items()}
    put(client, renamed, f"{PAGE[:-1]}2")
    third = packed({path.replace("eval-v1", "eval-v3"): file for path, file in EXPORT.items()})
    refused = client.put(f"{PAGE[:-1]}3", content=third)
    assert (refused.status_code, refused.json()["code"]) == (413, "export_quota")
    assert len(archives(server)) == 2
    put(server.client(server.key("a", org="other")))
    assert client.delete(PAGE).status_code == 200
    assert client.put(f"{PAGE[:-1]}3", content=third).status_code == 200


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a store that speaks S3."""
    storage = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    storage.start()
    host, port = storage.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    httpx2.put(f"{endpoint}/artifacts", trust_env=False).raise_for_status()
    for name, value in (CREDENTIALS | {"AWS_ENDPOINT": endpoint, "AWS_ALLOW_HTTP": "true"}).items():
        monkeypatch.setenv(name, value)
    yield "s3://artifacts/evals"
    storage.stop()


def test_every_server_shows_what_one_of_them_was_sent(
    start: Callable[[Settings], Server], settings: Settings, tmp_path: Path, bucket: str
) -> None:
    shared = settings.model_copy(update={"storage_url": bucket})
    first, second = start(shared), start(shared.model_copy(update={"home": tmp_path / "second"}))
    sent = put(first.client())
    assert second.client().get(PAGE).status_code == 200
    assert unpacked(second) == {sent["sha256"]}
    assert put(first.client(), described("Other words."))["sha256"] != sent["sha256"]
    assert len(archives(first)) == 1
    first.client().delete(PAGE)
    assert second.client().get(PAGE).status_code == 404
    assert archives(first) == []


def test_a_machine_keeps_what_was_looked_at_last(start: Callable[[Settings], Server], settings: Settings) -> None:
    server = start(settings.model_copy(update={"export_cache_bytes": 1}))
    client = server.client()
    one = put(client)["sha256"]
    renamed = {path.replace("eval-v1", "eval-v2"): file for path, file in EXPORT.items()}
    other = put(client, renamed, f"{PAGE[:-1]}2")["sha256"]
    for page, sha256 in ((PAGE, one), (f"{PAGE[:-1]}2", other), (PAGE, one)):
        assert client.get(page).status_code == 200
        assert unpacked(server) == {sha256}


def test_what_the_store_has_damaged_is_not_shown(server: Server, client: httpx2.Client) -> None:
    put(client)
    (key,) = archives(server)
    store = ArtifactStore.open(server.services.settings.storage_url)
    asyncio.run(store.put(key, packed(described("Forged."))))
    damaged = client.get(PAGE)
    assert (damaged.status_code, "Export it again." in damaged.text) == (503, True)
    assert unpacked(server) == set()
    asyncio.run(store.delete(key))
    assert client.get(PAGE).status_code == 404


def test_a_server_without_a_place_to_unpack_says_so(server: Server, client: httpx2.Client) -> None:
    put(client)
    (server.services.settings.home / "exports").write_text("in the way")
    answer = client.get(PAGE)
    assert (answer.status_code, "cannot unpack this export: File exists" in answer.text) == (503, True)
    assert client.delete(PAGE).status_code == 200


@pytest.mark.parametrize("query", ["project=%00", "page=0", "page=x"])
def test_a_list_that_cannot_be_asked_for_is_refused(client: httpx2.Client, query: str) -> None:
    assert client.get(f"/viewer?{query}").status_code == 400
    assert client.get(f"/viewer?{query}", headers=TWIN).headers["content-type"] == "application/problem+json"
    assert client.get("/viewer/exports?cursor=%00").status_code == 400


@pytest.mark.anyio
async def test_archives_that_no_export_is_made_of_are_deleted_after_a_day(
    server: Server, client: httpx2.Client, engine: AsyncEngine
) -> None:
    put(client)
    store = ArtifactStore.open(server.services.settings.storage_url)
    (kept,) = [item.key for item in (await store.list(keeping.PREFIX)).objects]
    old, new = "exports/default/exp_old.tar.gz", "exports/default/exp_new.tar.gz"
    for key in (old, new):
        await store.put(key, b"x")
    directory = store.directory
    assert directory is not None
    long_ago = (directory / old).stat().st_mtime - KEPT.total_seconds() - 60
    for key in (old, kept):
        os.utime(directory / key, (long_ago, long_ago))
    assert await delete_orphans(engine, store) == 1
    assert {item.key for item in (await store.list(keeping.PREFIX)).objects} == {kept, new}
