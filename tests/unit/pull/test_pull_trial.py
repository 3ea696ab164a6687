"""A hostile server writes nothing outside of the folder, and one bad file keeps no other from coming."""

import hashlib
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import unquote

import httpx2
import pytest

from oddish.client import Client
from oddish.client.errors import ApiError, Unreachable
from oddish.client.retry import RetryPolicy
from oddish.client.types import Trial
from oddish.errors import OddishError
from oddish.pull.folder import Folder
from oddish.pull.manifest import TrialReport
from oddish.pull.trial import TrialPull, Wanted

ONCE = RetryPolicy(attempts=1, reconnects=1)
type Answer = Callable[[httpx2.Request], httpx2.Response]


def trial(trial_id: str = "t-0") -> Trial:
    return {"id": trial_id, "status": "success"}  # type: ignore[typeddict-item]


def announced(path: object, content: bytes, **changes: object) -> dict[str, Any]:
    return {"path": path, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()} | changes


def serving(files: list[dict[str, Any]], contents: dict[str, bytes], **listing: object) -> Answer:
    """A listing in one page, and the content of each path."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        path = unquote(request.url.raw_path.decode()).partition("?")[0]
        if path.endswith("/files"):
            return httpx2.Response(200, json={"trial_id": "t-0", "files": files, "cursor": None} | listing)
        if path.endswith("/logs"):
            return httpx2.Response(200, json={"logs": "said", "trial_id": "t-0", "s3_key": None})
        name = path.partition("/files/")[2]
        return httpx2.Response(200, content=contents[name]) if name in contents else httpx2.Response(404, json={})

    return answer


@pytest.fixture
def fetch(tmp_path: Path) -> Callable[..., TrialReport]:
    def pull(answer: Answer, wanted: Trial | None = None) -> TrialReport:
        transport = httpx2.MockTransport(answer)
        with (
            Client("http://server.test", "ok_secret", transport=transport, retry=ONCE) as client,
            Folder(tmp_path / "out") as folder,
            ThreadPoolExecutor(3) as transfers,
        ):
            return TrialPull(client, folder, Wanted(), transfers, Event()).fetch(wanted or trial())

    return pull


def test_of_a_file_and_one_below_it_the_first_arrives(fetch: Callable[..., TrialReport], tmp_path: Path) -> None:
    names = ["ok.txt", "ok.txt/below"]
    report = fetch(serving([announced(name, b"good") for name in names], dict.fromkeys(names, b"good")))
    assert (report.files_saved, len(report.errors)) == (1, 1)
    manifest = json.loads((tmp_path / "out/trials/t-0/manifest.json").read_text())
    (saved,) = [file["saved_as"] for file in manifest["files"] if "saved_as" in file]
    assert (tmp_path / "out/trials/t-0" / saved).read_bytes() == b"good"


def test_names_lead_nowhere_and_the_rest_arrives(fetch: Callable[..., TrialReport], tmp_path: Path) -> None:
    good, evil = b"good", b"evil"
    names = ["../evil", "/evil", "a/../../evil", "a//evil", "..", "", "a/./evil", "nul\0"]
    long = "n" * 300
    files = [announced(name, evil) for name in names] + [
        announced("ok.txt", good),
        announced(f"agent/{long}", good),
        announced("short.txt", good, size=9),
        announced("other.txt", good, sha256="0" * 64),
        announced("odd.txt", good, sha256="../../evil"),
        announced("negative.txt", good, size=-1),
        announced("absent.txt", good),
    ]
    contents = dict.fromkeys(["ok.txt", f"agent/{long}", "short.txt", "other.txt"], good)
    report = fetch(serving(files, contents | dict.fromkeys(names, evil)))
    assert (report.files_saved, report.logs_saved, len(report.errors)) == (2, True, len(names) + 5)
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.parent.relative_to(tmp_path).as_posix() for path in written} == {
        "out/trials/t-0",
        "out/trials/t-0/agent",
    }
    assert b"evil" not in b"".join(path.read_bytes() for path in written if path.name != "manifest.json")
    manifest = json.loads((tmp_path / "out/trials/t-0/manifest.json").read_text())
    saved = {file["path"]: file["saved_as"] for file in manifest["files"] if "saved_as" in file}
    assert saved.keys() == {"ok.txt", f"agent/{long}"}
    assert (tmp_path / "out/trials/t-0" / saved[f"agent/{long}"]).read_bytes() == good


@pytest.mark.parametrize("trial_id", ["../t-0", "/t-0", "..", "", "a/b-0", "t\0-0"])
def test_an_id_of_a_trial_leads_nowhere(fetch: Callable[..., TrialReport], tmp_path: Path, trial_id: str) -> None:
    report = fetch(serving([announced("ok.txt", b"x")], {"ok.txt": b"x"}), trial(trial_id))
    assert len(report.errors) == 1
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    "files",
    [["text"], [{"path": "a"}], [announced(7, b"")], "none", {"path": "a"}, [announced("a", b"")] * 2],
    ids=["texts", "no size", "a number", "a text", "an object", "twice"],
)
def test_a_list_of_another_shape_is_an_error_of_the_trial(fetch: Callable[..., TrialReport], files: Any) -> None:
    assert len(fetch(serving(files, {})).errors) == 1


@pytest.mark.parametrize("cursor", [7, ["a"], {"a": 1}, False])
def test_a_cursor_that_is_no_text_is_an_error_of_the_trial(fetch: Callable[..., TrialReport], cursor: object) -> None:
    (said,) = fetch(serving([announced("a", b"x")], {"a": b"x"}, cursor=cursor)).errors
    assert "whose cursor is text" in said


def test_a_list_without_an_end_ends(fetch: Callable[..., TrialReport]) -> None:
    report = fetch(serving([announced("a", b"x")], {"a": b"x"}, cursor="same"))
    assert report.errors == ["The list of the files of trial 't-0' does not end."]


def test_a_stored_file_keeps_the_name_that_ours_would_have(fetch: Callable[..., TrialReport], tmp_path: Path) -> None:
    stored = {"logs.txt": b"theirs", "manifest.json": b"theirs too"}
    fetch(serving([announced(name, content) for name, content in stored.items()], stored))
    assert {path.name: path.read_bytes() for path in (tmp_path / "out/trials/t-0").iterdir()} == stored


def test_a_signed_url_sees_no_key_and_one_that_expired_is_done_without(fetch: Callable[..., TrialReport]) -> None:
    seen: list[tuple[str, str | None]] = []
    plain = serving([announced("a.txt", b"x", url="http://store.test/a?signature=1")], {"a.txt": b"x"})

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append((request.url.host, request.headers.get("authorization")))
        if request.url.host == "store.test":
            return httpx2.Response(403, json={"code": "expired_url", "detail": "Expired."})
        return plain(request)

    assert fetch(answer).files_saved == 1
    assert seen[1:3] == [("store.test", None), ("server.test", "Bearer ok_secret")]


@pytest.mark.parametrize("failure", [httpx2.Response(401, json={}), httpx2.ConnectError("gone")])
def test_what_would_happen_to_every_trial_ends_the_pull(
    fetch: Callable[..., TrialReport], failure: httpx2.Response | Exception
) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        if isinstance(failure, Exception):
            raise failure
        return failure

    with pytest.raises(OddishError) as caught:
        fetch(answer)
    assert isinstance(caught.value, ApiError | Unreachable)
