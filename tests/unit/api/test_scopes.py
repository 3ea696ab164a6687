"""Every route is in the table of scopes, and the table has no other."""

from pathlib import Path

import pytest
from fastapi import APIRouter, FastAPI

from oddish.api import routing, scopes
from oddish.api.app import create_app
from oddish.identity.principal import Scope
from oddish.settings import Settings


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    return create_app(Settings(home=tmp_path, database_url="postgresql+psycopg://nobody@/nothing"))


def test_every_route_is_listed_and_guarded(app: FastAPI) -> None:
    routing.check(app.routes)
    assert {(method, route.path) for route in app.routes for method in route.methods} == set(scopes.ACCESS)  # type: ignore[attr-defined]


def test_a_route_that_is_not_listed_cannot_be_made() -> None:
    with pytest.raises(scopes.UnlistedRoute, match="/hidden"):
        routing.router().get("/hidden")(lambda: None)


def test_a_route_around_the_guard_stops_the_server(app: FastAPI) -> None:
    plain = APIRouter()
    plain.get("/tasks")(lambda: None)
    with pytest.raises(scopes.UnlistedRoute, match="not guarded"):
        routing.check([*app.routes, *plain.routes])


def test_an_entry_without_a_route_stops_the_server(app: FastAPI) -> None:
    with pytest.raises(scopes.UnlistedRoute, match="differ"):
        routing.check(app.routes[1:])


def test_nothing_that_changes_anything_is_public_or_readable() -> None:
    for (method, path), needed in scopes.ACCESS.items():
        if method != "GET" and not path.startswith("/store/") and path != "/sign-in":
            assert needed is not None
            assert needed.scope.includes(Scope.TASKS)


def test_what_others_depend_on_is_for_admins() -> None:
    needed = {route for route, needs in scopes.ACCESS.items() if needs == scopes.Needs(Scope.FULL, "admin")}
    assert needed == {
        ("PUT", "/admin/concurrency"),
        ("PUT", "/admin/weights"),
        ("PUT", "/secrets/{name}"),
        ("DELETE", "/secrets/{name}"),
        ("DELETE", "/trials/{trial_id}"),
        ("DELETE", "/experiments/{experiment_id}"),
        ("DELETE", "/tasks/{task_id}"),
    }


def test_the_description_says_what_a_call_needs(app: FastAPI) -> None:
    paths = app.openapi()["paths"]
    limit = paths["/admin/concurrency"]["put"]
    assert {tuple(names) for way in limit["security"] for names in way.values()} == {("full", "admin")}
    assert limit["description"].endswith("Needs a key of scope `full` whose user has the role `admin`.")
    listing = paths["/tasks"]["get"]
    assert {tuple(names) for way in listing["security"] for names in way.values()} == {("read",)}
    assert listing["description"].endswith("Needs a key of scope `read`.")
    assert "security" not in paths["/health"]["get"]


def test_the_description_of_the_interface_lists_the_documented_routes(app: FastAPI) -> None:
    paths = app.openapi()["paths"]
    assert "/tasks/sweep" in paths
    assert not any(path.startswith("/store") for path in paths)


def test_a_post_that_cannot_be_repeated_stops_the_server(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(scopes.ACCESS, ("POST", "/forgetful"), scopes.TASKS)
    forgetful = routing.router()
    forgetful.post("/forgetful")(lambda: None)
    with pytest.raises(routing.UnrepeatableRoute, match="/forgetful"):
        routing.check([*app.routes, *forgetful.routes])
