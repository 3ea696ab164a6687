"""Browsers that act for a key."""

import json
import webbrowser
from datetime import timedelta
from pathlib import Path

import httpx2
import pytest
from click.testing import CliRunner

from oddish.api import signin
from oddish.cli import cli
from oddish.identity.principal import Scope
from support.results import example

from .furnishing import SHELF
from .serving import KEY, Server

pytestmark = pytest.mark.usefixtures("quiet_logs")

PAGE = f"/viewer/{SHELF}/projects/data-agent"
HTML = {"Accept": "text/html"}


@pytest.fixture(autouse=True)
def shown(server: Server) -> None:
    example(server.services.settings.viewer_directories[SHELF])


@pytest.fixture
def browser(server: Server) -> httpx2.Client:
    """One that knows no key yet."""
    browser = server.client(None)
    browser.headers.update(HTML)
    return browser


def link(client: httpx2.Client) -> str:
    made = client.post("/sign-in")
    assert made.status_code == 200, made.text
    assert made.json()["expires_in_seconds"] == 600
    return str(made.json()["url"])


def test_a_link_signs_one_browser_in_to_pages_and_to_nothing_else(
    client: httpx2.Client, browser: httpx2.Client, server: Server
) -> None:
    refused = browser.get(PAGE)
    assert (refused.status_code, "oddish open" in refused.text) == (401, True)
    url = link(client)
    assert url.startswith(str(client.base_url))
    previewed = browser.head(url)
    assert (previewed.status_code, "set-cookie" in previewed.headers) == (200, False)
    entered = browser.get(url)
    assert entered.status_code == 200
    cookie = entered.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
    assert "Data-Agent Bench" in browser.get(PAGE).text
    assert browser.get(f"/viewer/{SHELF}").status_code == browser.get("/viewer").status_code == 200
    assert browser.get("/tasks").status_code == browser.post("/sign-in").status_code == 401
    another = server.client(None)
    assert another.get(url).status_code == 401
    assert another.get(PAGE).status_code == 401


def test_a_cookie_ends_with_its_key(server: Server, browser: httpx2.Client) -> None:
    browser.get(link(server.client(server.key("x1", scope=Scope.READ))))
    assert browser.get(PAGE).status_code == 200
    server.sql("UPDATE api_keys SET revoked_at = now() WHERE id = 'key-x1'")
    assert browser.get(PAGE).status_code == 401


def test_links_and_cookies_are_no_substitutes_for_each_other(
    server: Server, client: httpx2.Client, browser: httpx2.Client
) -> None:
    keyring = server.services.keyring
    server.key("c0")
    name = f"oddish-{client.base_url.port}"
    session = signin.seal(keyring, "session", "key-c0", timedelta(minutes=1))
    code = signin.seal(keyring, "link", "key-c0", timedelta(minutes=1))
    assert browser.get("/sign-in", params={"code": session}).status_code == 401
    for value in (code, f"{session}x", session.replace(".", ""), "", "é"):
        assert browser.get(PAGE, headers={"Cookie": f"{name}={value}".encode()}).status_code == 401
    late = signin.seal(keyring, "session", "key-c0", timedelta(seconds=-1))
    assert browser.get(PAGE, headers={"Cookie": f"{name}={late}"}).status_code == 401
    assert browser.get(PAGE, headers={"Cookie": f"{name}={session}"}).status_code == 200


def test_a_call_for_a_link_that_is_repeated_is_answered_the_same(client: httpx2.Client) -> None:
    answers = [client.post("/sign-in", headers={"Idempotency-Key": "one"}).json() for _ in range(2)]
    assert answers[0] == answers[1]


def test_what_is_wrong_is_a_page_for_browsers_and_a_problem_for_programs(client: httpx2.Client) -> None:
    for path in ("/viewer/absent", f"/viewer/{SHELF}/projects/absent"):
        page = client.get(path, headers=HTML)
        assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
        assert "script-src 'self'" in page.headers["content-security-policy"]
        problem = client.get(path, headers={"Accept": "application/json"})
        assert (problem.status_code, problem.json()["code"]) == (404, "not_found")


def test_pages_below_the_server_lead_to_one_another(client: httpx2.Client) -> None:
    first = client.get("/viewer?format=json").json()
    assert first["directories"] == [{"name": SHELF, "address": f"/viewer/{SHELF}"}]
    assert first["exports"] == []
    assert '<nav class="navigation"' in client.get("/viewer").text
    projects = client.get(f"/viewer/{SHELF}?format=json").json()["projects"]
    assert [project["address"] for project in projects] == [PAGE]
    assert client.get(PAGE, params={"format": "json"}).json()["datasets"][0]["address"] == f"{PAGE}/datasets/eval-v1"


def test_the_command_asks_for_a_link_with_its_key(client: httpx2.Client, browser: httpx2.Client) -> None:
    server = {"ODDISH_API_URL": str(client.base_url), "ODDISH_API_KEY": KEY}
    for words in (["--json"], ["--print"]):
        result = CliRunner().invoke(cli, ["open", *words], env=server)
        assert result.exit_code == 0, result.output
        url = json.loads(result.output)["url"] if words == ["--json"] else result.output.strip()
        assert browser.get(url).status_code == 200


def test_a_browser_is_opened_where_there_is_a_desktop(
    client: httpx2.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, called = tmp_path / "browser", tmp_path / "called"
    program.write_text(f'#!/bin/sh\necho "$1" > {called}\n')
    program.chmod(0o755)
    monkeypatch.setattr(webbrowser, "_tryorder", None)
    monkeypatch.setattr(webbrowser, "_browsers", {})
    server = {"ODDISH_API_URL": str(client.base_url), "ODDISH_API_KEY": KEY}
    for variables, opens in (({"DISPLAY": ":9", "BROWSER": f"{program} %s"}, True), ({"DISPLAY": ""}, False)):
        called.unlink(missing_ok=True)
        monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
        result = CliRunner().invoke(cli, ["open"], env=server | variables)
        assert result.exit_code == 0, result.output
        assert called.exists() is opens
        assert ("/sign-in?code=" in (called.read_text() if opens else result.stdout)) is True
