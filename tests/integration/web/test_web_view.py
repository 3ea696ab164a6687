"""What a browser gets of ``oddish view``: pages, headers, twins, and who is let in."""

import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from oddish.web import assets
from oddish.web.signin import Door
from oddish.web.viewer.glance import MOST_OF_ONE
from support.pages import BASE, BROWSER, Markup, visitor
from support.results import DATASET, KEY, PROJECT, TRACE, cell, dataset, example, write

PAGES = ("/", "/projects/data-agent", f"/projects/data-agent/datasets/eval-v1/trace/{TRACE}")


@pytest.fixture
def door() -> Door:
    return Door()


@pytest.fixture
def view(tmp_path: Path, door: Door) -> TestClient:
    return visitor(example(tmp_path), door=door)


@pytest.fixture
def stranger(tmp_path: Path, door: Door) -> TestClient:
    client = visitor(example(tmp_path), door=door)
    del client.headers["Authorization"]
    return client


def test_projects_lead_to_their_datasets_and_runs(view: TestClient) -> None:
    first = Markup(view.get("/").text)
    assert "/projects/data-agent" in first.addresses
    assert "1 dataset, 1 training run" in " ".join(first.text.split())
    project = Markup(view.get("/projects/data-agent").text)
    assert {"/projects/data-agent/datasets/eval-v1", "/projects/data-agent/runs/rl-1"} <= {*project.addresses}
    assert "Data-Agent Bench" in project.text
    assert "knows no limit of steps" in project.text


@pytest.mark.parametrize("path", PAGES)
def test_every_page_has_a_json_twin(view: TestClient, path: str) -> None:
    page = view.get(path)
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    [twin] = [link["href"] for link in Markup(page.text).all("link") if link.get("type") == "application/json"]
    by_address = view.get(f"{path}{twin}")
    by_header = view.get(path, headers={"Accept": "application/json"})
    assert by_address.json() == by_header.json()
    assert by_address.headers["content-type"] == "application/json"
    assert "Accept" in by_header.headers["vary"]
    refused = view.get(f"{path}?format=xml")
    assert (refused.status_code, refused.headers["content-type"]) == (400, "text/html; charset=utf-8")


@pytest.mark.parametrize("path", PAGES)
def test_a_page_that_has_not_changed_is_not_sent_again(view: TestClient, tmp_path: Path, path: str) -> None:
    page = view.get(path)
    again = view.get(path, headers={"If-None-Match": page.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    write(tmp_path, "projects/data-agent/project.json", PROJECT | {"label": "Another"})
    changed = view.get(path, headers={"If-None-Match": page.headers["etag"]})
    assert changed.status_code == 200
    assert "Another" in changed.text


@pytest.mark.parametrize("path", [*PAGES, "/absent", "/projects/absent"])
def test_no_page_may_be_framed_or_run_what_is_not_ours(view: TestClient, path: str) -> None:
    headers = view.get(path).headers
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == "'self'"
    assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")
    assert "server" not in headers


def test_what_files_say_is_text(view: TestClient, tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    document = {"project_id": "data-agent", "label": hostile, "description": hostile, "source": {hostile: hostile}}
    support = {hostile: {"tier": hostile, "caveats": [hostile]}}
    write(tmp_path, "projects/data-agent/project.json", document | {"support": support})
    write(tmp_path, f"{DATASET}/dataset.json", {"label": hostile, "notes": hostile})
    for path in PAGES:
        page = Markup(view.get(path).text)
        assert not [script for script in page.all("script") if not (script.get("src") or "").startswith("/assets/")]
        assert page.all("img") == []
        assert hostile in page.text


def test_what_is_wrong_with_a_file_is_said_and_the_page_still_works(view: TestClient, tmp_path: Path) -> None:
    assert view.get("/projects/data-agent").status_code == 200
    write(tmp_path, "projects/data-agent/project.json", '{"label": "Data-')
    write(tmp_path, "projects/empty/readme.txt", "")
    page = view.get("/projects/data-agent")
    assert page.status_code == 200
    text = " ".join(Markup(page.text).text.split())
    assert "projects/data-agent/project.json is no JSON object, or only the beginning of one; what it last held" in text
    assert "Data-Agent Bench" in text
    assert "projects/empty is not shown: it has no file project.json." in " ".join(
        Markup(view.get("/").text).text.split()
    )


def test_a_directory_with_nothing_in_it_says_what_belongs_there(tmp_path: Path) -> None:
    page = visitor(tmp_path).get("/")
    assert page.status_code == 200
    assert "There is no project here yet." in page.text


def test_a_list_is_shown_page_by_page(tmp_path: Path) -> None:
    for number in range(101):
        write(tmp_path, f"projects/p{number:03}/project.json", {"project_id": f"p{number:03}"})
    client = visitor(tmp_path)
    assert [len(client.get("/", params={"format": "json", "page": page}).json()["projects"]) for page in (1, 2)] == [
        100,
        1,
    ]
    assert [link["href"] for link in Markup(client.get("/").text).all("a") if link.get("rel") == "next"] == ["?page=2"]


@pytest.mark.parametrize("path", ["/absent", "/projects/absent", "/projects/..%2f..", "/projects/%00"])
def test_what_is_not_there_is_said_on_a_page(view: TestClient, path: str) -> None:
    page = view.get(path)
    assert page.status_code == 404
    assert Markup(page.text).all("h1")
    problem = view.get(path, headers={"Accept": "application/json"})
    assert (problem.status_code, problem.json()["code"]) == (404, "not_found")


def test_nothing_can_be_changed(view: TestClient) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert view.request(method, "/projects/data-agent").status_code == 405


def test_assets_are_kept_for_as_long_as_they_are_the_same(stranger: TestClient) -> None:
    style = stranger.get(assets.address("base.css"))
    assert (style.status_code, style.headers["content-type"]) == (200, "text/css; charset=utf-8")
    assert "immutable" in style.headers["cache-control"]
    other = stranger.get("/assets/0000/base.css")
    assert (other.content, other.headers["cache-control"]) == (style.content, "no-store")
    assert stranger.get(f"/assets/{assets.VERSION}/absent.css").status_code == 404


def test_a_link_makes_a_browser_known_once(stranger: TestClient, door: Door) -> None:
    refused = stranger.get("/")
    assert refused.status_code == 401
    assert "oddish open" in refused.text
    assert stranger.get("/", headers={"Accept": "application/json"}).json()["code"] == "unauthenticated"
    code = door.code()
    looked_at = stranger.head("/sign-in", params={"code": code})
    assert (looked_at.status_code, looked_at.headers.get("set-cookie")) == (200, None)
    entered = stranger.get("/sign-in", params={"code": code})
    cookie = entered.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Path=/" in cookie
    assert entered.headers["cache-control"] == "no-store"
    assert stranger.get("/").status_code == 200
    stranger.cookies.clear()
    assert stranger.get("/sign-in", params={"code": code}).status_code == 401
    assert stranger.get("/").status_code == 401


def test_the_token_makes_further_links_and_the_cookie_none(stranger: TestClient, door: Door) -> None:
    stranger.get("/sign-in", params={"code": door.code()})
    assert stranger.post("/sign-in").status_code == 401
    made = stranger.post("/sign-in", headers={"Authorization": f"Bearer {door.token}"}).json()
    stranger.cookies.clear()
    assert made["url"].startswith(f"{BASE}/sign-in?code=")
    assert stranger.get(made["url"]).status_code == 200


@pytest.mark.parametrize("guess", ["", "x", "é"])
def test_guesses_open_nothing(stranger: TestClient, guess: str) -> None:
    assert stranger.get("/sign-in", params={"code": guess}).status_code == 401
    stranger.cookies.set("oddish-view-8790", "x")
    assert stranger.get("/", headers={"Authorization": "Bearer x"}).status_code == 401


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.nip.io", "192.0.2.1", "", "localhost.evil.example"])
def test_only_names_of_this_machine_are_answered(view: TestClient, host: str) -> None:
    assert view.get("/", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8790", "[::1]:8790", "LOCALHOST:1"])
def test_names_of_this_machine_are_answered(view: TestClient, host: str) -> None:
    assert view.get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:9999"])
def test_pages_of_others_ask_for_no_links(view: TestClient, origin: str) -> None:
    answer = view.post("/sign-in", headers={"Origin": origin})
    assert (answer.status_code, answer.json()["code"]) == (403, "foreign_origin")


def test_a_public_one_lets_everybody_in_under_any_name(tmp_path: Path) -> None:
    client = visitor(example(tmp_path))
    page = client.get("/", headers={"Host": "someone-viewer.example.org"})
    assert page.status_code == 200
    assert "frame-ancestors" not in page.headers["content-security-policy"]
    assert "x-frame-options" not in page.headers
    assert client.post("/sign-in").status_code == 404
    assert page.headers["content-encoding"] == "gzip"


def test_programs_get_pages_too_unless_they_ask_for_json(tmp_path: Path) -> None:
    client = visitor(example(tmp_path))
    assert client.get("/", headers={"Accept": "*/*"}).headers["content-type"].startswith("text/html")
    mixed = client.get("/", headers={"Accept": "application/json;q=0.5, text/html"})
    assert mixed.headers["content-type"].startswith("text/html")
    assert json.loads(client.get("/", headers={**BROWSER, "Accept": "application/json"}).content)["projects"]


def test_a_project_tells_what_its_datasets_come_to(tmp_path: Path) -> None:
    write(example(tmp_path), f"{DATASET}/summary.json", dataset({KEY: cell([None, 1.0])}, {KEY: cell([None])}))
    client = visitor(tmp_path)
    [entry] = client.get("/projects/data-agent?format=json").json()["datasets"]
    counts = {"tasks": 2, "models": 1, "harnesses": 1, "cells": 2, "measured_cells": 1, "attempts": 3, "problems": 0}
    assert entry["counts"] == counts
    assert "1 of 2" in client.get("/projects/data-agent").text


def test_a_project_does_not_wait_for_large_datasets(tmp_path: Path) -> None:
    write(example(tmp_path), f"{DATASET}/summary.json", json.dumps({"tasks": [], "padding": "x" * MOST_OF_ONE}))
    page = visitor(tmp_path).get("/projects/data-agent")
    assert "counted when it is opened: 2.0 MiB" in page.text


def test_a_dataset_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    write(example(tmp_path), f"{DATASET}/summary.json", '{"tasks": [')
    page = visitor(tmp_path).get("/projects/data-agent")
    assert page.status_code == 200
    text = " ".join(Markup(page.text).text.split())
    assert f"Error {DATASET}/summary.json is no JSON object, or only the beginning of one." in text
    assert "eval-v1 cannot be read" in text
