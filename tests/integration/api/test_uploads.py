"""Uploads: names race fairly, versions are whole or absent, hostile archives leave nothing."""

import io
import tarfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from .serving import Server, TaskFolder

type NewTask = Callable[..., TaskFolder]


def objects(server: Server) -> list[str]:
    root = Path(server.services.settings.storage_url.removeprefix("file://"))
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def send(client: httpx2.Client, archive: bytes, content_hash: str, name: str = "hello") -> httpx2.Response:
    target = init(client, content_hash, name)
    sent = put(target, archive)
    return complete(client, target) if sent.status_code == 200 else sent


def test_unchanged_content_is_not_sent_again(server: Server, client: httpx2.Client, new_task: NewTask) -> None:
    first = new_task().upload(client)
    assert (first["version"], first["existing_task"], first["content_unchanged"]) == (1, False, False)
    again = new_task().upload(client)
    assert again["content_unchanged"] is True
    assert again["upload_url"] is None
    assert again["version_id"] == first["version_id"]
    forced = new_task().upload(client, force_new_version=True)
    assert (forced["version"], forced["content_unchanged"]) == (2, False)
    changed = new_task(instruction="Other.").upload(client)
    assert (changed["version"], changed["existing_task"]) == (3, True)
    versions = client.get(f"/tasks/{first['task_id']}/versions").json()
    assert [(entry["version"], entry["is_current"]) for entry in versions] == [(3, True), (2, False), (1, False)]
    assert client.get(f"/tasks/{first['task_id']}/versions/2").json()["content_hash"] == first["content_hash"]
    assert client.get(f"/tasks/{first['task_id']}/versions/9").status_code == 404


def current(client: httpx2.Client, task_id: object) -> list[int]:
    versions = client.get(f"/tasks/{task_id}/versions").json()
    return [entry["version"] for entry in versions if entry["is_current"]]


def test_content_of_an_older_version_makes_that_one_current_again(
    server: Server, client: httpx2.Client, new_task: NewTask
) -> None:
    first = new_task().upload(client)
    second = new_task(instruction="Other.").upload(client)
    assert (second["version"], second["previous_version"]) == (2, 1)
    assert new_task(instruction="Third.").upload(client)["previous_version"] == 2
    back = new_task(instruction="Other.").upload(client)
    assert (back["version_id"], back["previous_version"]) == (second["version_id"], 3)
    assert (back["content_unchanged"], back["existing_task"], back["upload_url"]) == (True, True, None)
    assert current(client, first["task_id"]) == [2]
    forced = new_task(instruction="Other.").upload(client, force_new_version=True)
    assert (forced["version"], forced["previous_version"], forced["content_unchanged"]) == (4, 2, False)
    assert len(objects(server)) == 4


def test_an_archive_of_older_content_makes_no_version(server: Server, client: httpx2.Client, new_task: NewTask) -> None:
    older = new_task()
    first = older.upload(client)
    archive = older.archive
    new_task(instruction="Other.").upload(client)
    back = send(client, archive, "word-of-another-client").json()
    assert (back["version_id"], back["previous_version"]) == (first["version_id"], 2)
    assert back["content_unchanged"] is True
    assert current(client, first["task_id"]) == [1]
    assert len(objects(server)) == 2


def test_two_contents_sent_in_turn_by_many_stay_two_versions(
    server: Server, client: httpx2.Client, new_task: NewTask
) -> None:
    contents = [
        (folder.content_hash, folder.archive) for folder in (new_task(instruction=text) for text in ("One.", "Two."))
    ]

    def upload(turn: int) -> int:
        content_hash, archive = contents[turn % 2]
        target = init(client, content_hash)
        if not target["content_unchanged"]:
            put(target, archive)
            target = complete(client, target).json()
        return int(target["version"])

    with ThreadPoolExecutor(6) as pool:
        versions = list(pool.map(upload, range(24)))
    assert sorted({versions[0], versions[1]}) == [1, 2]
    assert versions == versions[:2] * 12
    last = upload(0)
    (task_id,) = {entry["id"] for entry in client.get("/tasks").json()}
    assert current(client, task_id) == [last]
    assert len(objects(server)) == 2


def test_a_foreign_hash_is_an_opaque_word(server: Server, client: httpx2.Client, new_task: NewTask) -> None:
    folder = new_task()
    first = folder.upload(client, content_hash="older-client-hash")
    assert first["content_hash"] == folder.content_hash
    same = send(client, folder.archive, "another-client-hash").json()
    assert (same["version"], same["content_unchanged"]) == (1, True)
    assert len(objects(server)) == 1
    for word in ("older-client-hash", "another-client-hash", folder.content_hash):
        init = client.post("/tasks/upload/init", json={"name": "hello", "content_hash": word}).json()
        assert init["content_unchanged"] is True


def test_completing_twice_changes_nothing(server: Server, client: httpx2.Client, new_task: NewTask) -> None:
    done = new_task().upload(client)
    body = {"task_id": done["task_id"], "name": "hello", "version": 1, "content_hash": done["content_hash"]}
    assert client.post("/tasks/upload/complete", json=body).json() == done
    assert server.sql("SELECT count(*) FROM task_versions") == [(1,)]


def test_concurrent_uploads_of_a_new_name_make_one_task(
    server: Server, client: httpx2.Client, new_task: NewTask
) -> None:
    folder = new_task()
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda _: folder.upload(client), range(8)))
    assert len({entry["task_id"] for entry in done}) == 1
    assert {entry["version"] for entry in done} == {1}
    assert server.sql("SELECT count(*) FROM tasks") == [(1,)]
    assert server.sql("SELECT count(*) FROM task_versions") == [(1,)]
    assert len(objects(server)) == 1


def test_concurrent_uploads_of_different_content_make_versions_in_turn(
    server: Server, client: httpx2.Client, new_task: NewTask
) -> None:
    archives = []
    for index in range(5):
        folder = new_task("hello", instruction=f"Number {index}.")
        archives.append((folder.archive, folder.content_hash))
    with ThreadPoolExecutor(5) as pool:
        done = list(pool.map(lambda pair: send(client, *pair).json(), archives))
    assert sorted(entry["version"] for entry in done) == [1, 2, 3, 4, 5]


def test_an_archive_that_is_not_what_was_announced(server: Server, client: httpx2.Client, new_task: NewTask) -> None:
    answer = send(client, new_task().archive, "oddish1:" + "0" * 64)
    assert (answer.status_code, answer.json()["code"]) == (400, "content_mismatch")
    assert "oddish1:" + "0" * 64 in answer.json()["detail"]
    assert objects(server) == []


def test_completing_before_the_archive_arrived(client: httpx2.Client, new_task: NewTask) -> None:
    folder = new_task()
    target = client.post("/tasks/upload/init", json={"name": "hello", "content_hash": folder.content_hash}).json()
    body = {"task_id": target["task_id"], "name": "hello", "version": 1, "content_hash": folder.content_hash}
    answer = client.post("/tasks/upload/complete", json=body)
    assert (answer.status_code, answer.json()["code"]) == (400, "archive_missing")
    assert client.get(f"/tasks/{target['task_id']}").status_code == 404
    assert client.get("/tasks").json() == []


def init(client: httpx2.Client, content_hash: str, name: str = "hello") -> dict[str, Any]:
    return dict(client.post("/tasks/upload/init", json={"name": name, "content_hash": content_hash}).json())


def put(target: dict[str, Any], archive: bytes) -> httpx2.Response:
    return httpx2.put(target["upload_url"], content=archive, headers=target["upload_headers"])


def complete(client: httpx2.Client, target: dict[str, Any]) -> httpx2.Response:
    body = {"task_id": target["task_id"], "version": 1, "content_hash": target["content_hash"]}
    return client.post("/tasks/upload/complete", json=body)


def test_an_archive_is_found_however_many_uploads_were_begun_since(client: httpx2.Client, new_task: NewTask) -> None:
    folder = new_task()
    target = init(client, folder.content_hash)
    assert put(target, folder.archive).status_code == 200
    for _ in range(25):
        init(client, folder.content_hash)
    assert complete(client, target).json()["version"] == 1


def test_a_completed_upload_is_known_however_many_were_begun_since(client: httpx2.Client, new_task: NewTask) -> None:
    first = new_task().upload(client)
    new_task(instruction="Other.").upload(client)
    for _ in range(25):
        init(client, str(first["content_hash"]))
    assert complete(client, first).json() == first


def test_what_arrives_at_a_discarded_upload_is_deleted(
    server: Server, client: httpx2.Client, new_task: NewTask
) -> None:
    target = init(client, "word")
    put(target, b"no archive")
    assert complete(client, target).json()["code"] == "invalid_task"
    assert put(target, new_task().archive).status_code == 200
    assert objects(server) == []
    assert complete(client, target).json()["code"] == "archive_missing"


def test_what_arrives_after_the_same_content_was_completed_is_deleted(
    server: Server, client: httpx2.Client, new_task: NewTask
) -> None:
    folder = new_task()
    late = init(client, folder.content_hash)
    done = folder.upload(client)
    (kept,) = objects(server)
    assert put(late, folder.archive).status_code == 200
    assert objects(server) == [kept]
    assert complete(client, late).json() == done


def archive_of(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz") as archive:
        for member, content in members:
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return target.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = link
    return info


HOSTILE = {
    "not an archive": b"hello",
    "empty": b"",
    "path out of it": archive_of((member("../evil"), b"x")),
    "absolute path": archive_of((member("/etc/evil"), b"x")),
    "link out of it": archive_of((member("task.toml", tarfile.SYMTYPE, "/etc/passwd"), b"")),
    "device": archive_of((member("tests/null", tarfile.CHRTYPE), b"")),
    "no task.toml": archive_of((member("instruction.md"), b"x")),
    "malformed task.toml": archive_of((member("task.toml"), b"= ="), (member("instruction.md"), b"x")),
    "bomb": archive_of((member("task.toml"), b"0" * 5_000_000)),
    "many entries": archive_of(*((member(f"tests/{index}"), b"") for index in range(200))),
}


@pytest.mark.parametrize("archive", HOSTILE.values(), ids=HOSTILE)
def test_hostile_archives_are_refused_and_deleted(server: Server, client: httpx2.Client, archive: bytes) -> None:
    answer = send(client, archive, "whatever")
    assert answer.status_code in (400, 413), answer.text
    problem = answer.json()
    assert problem["code"] in ("invalid_task", "too_large")
    assert problem["fix"]
    assert "oddish-intake" not in answer.text
    assert objects(server) == []
    assert server.sql("SELECT count(*) FROM task_versions") == [(0,)]
    assert server.sql("SELECT count(*) FROM uploads WHERE completed_at IS NOT NULL OR client_hash <> ''") == [(0,)]


@pytest.mark.parametrize("value", ["0", "-5", "nan", "inf"])
def test_a_time_limit_that_is_none_is_named(client: httpx2.Client, new_task: NewTask, value: str) -> None:
    folder = new_task(config=f"[verifier]\ntimeout_sec = {value}\n")
    problem = send(client, folder.archive, folder.content_hash).json()
    assert problem["code"] == "invalid_task"
    assert f"verifier.timeout_sec is {value};" in problem["detail"]
    assert problem["fix"]


def test_the_signed_url_grants_one_upload_of_limited_size(
    server: Server, client: httpx2.Client, new_task: NewTask
) -> None:
    folder = new_task()
    target = client.post("/tasks/upload/init", json={"name": "hello", "content_hash": "h"}).json()
    url, headers = target["upload_url"], target["upload_headers"]
    assert httpx2.put(url, content=b"0" * 300_000, headers=headers).status_code == 413
    chunks = (b"0" * 50_000 for _ in range(6))
    assert httpx2.put(url, content=chunks, headers=headers).status_code == 413
    assert httpx2.put(url.replace("limit=200000", "limit=900000"), content=b"x", headers=headers).status_code == 403
    assert httpx2.put(url.replace(".tar.gz", ".tar.gx"), content=b"x", headers=headers).status_code == 403
    assert httpx2.get(url).status_code == 403
    assert httpx2.put(url.partition("?")[0], content=b"x", headers=headers).status_code == 403
    assert httpx2.put(url, content=folder.archive, headers=headers).status_code == 200
    assert httpx2.put(url, content=folder.archive, headers=headers).status_code == 200
    assert httpx2.put(url, content=b"other", headers=headers).status_code == 409


def test_downloads_by_signed_url(server: Server, client: httpx2.Client, new_task: NewTask) -> None:
    folder = new_task()
    folder.upload(client)
    (key,) = objects(server)
    path = server.services.signer.sign("GET", key, expires_in=60)
    answer = httpx2.get(server.url + path)
    assert answer.content == folder.archive
    assert answer.headers["content-disposition"] == "attachment"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_names_are_made_safe_or_refused(client: httpx2.Client) -> None:
    def named(name: str) -> httpx2.Response:
        return client.post("/tasks/upload/init", json={"name": name, "content_hash": "h"})

    assert named("My task/№1").json()["name"].startswith("My-task-")
    assert named("///").status_code == 400
    assert named("x" * 201).status_code == 400
    assert named("").status_code == 422
