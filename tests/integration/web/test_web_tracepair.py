"""The page of two traces side by side."""

import re
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from oddish.web.viewer.links import Links
from support.hostile_text import HOSTILE
from support.pages import Markup, visitor
from support.results import DATASET, TRACE_DOCUMENT, example, write

LEFT, RIGHT = "traces/left.json", "traces/right.json"
PAGE = Links().compare("data-agent", "eval-v1", LEFT, RIGHT)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return example(tmp_path)


@pytest.fixture
def view(root: Path) -> TestClient:
    return visitor(root)


def act(command: str, result: str = "ok") -> list[dict[str, Any]]:
    call = {"id": command, "function": {"name": "bash", "arguments": {"command": command}}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": command, "content": result},
    ]


def both(root: Path, left: list[dict[str, Any]], right: list[dict[str, Any]], **members: Any) -> None:
    write(root, f"{DATASET}/{LEFT}", TRACE_DOCUMENT | {"messages": left})
    write(root, f"{DATASET}/{RIGHT}", TRACE_DOCUMENT | {"messages": right} | members)


def test_the_row_where_they_go_apart_is_marked_and_linked(view: TestClient, root: Path) -> None:
    both(root, [*act("ls"), *act("cat a", "1"), *act("make")], [*act("ls"), *act("cat a", "2"), *act("test")])
    twin = view.get(f"{PAGE}&format=json").json()
    assert [row["difference"] for row in twin["rows"]] == ["none", "result", "action"]
    assert (twin["first_action"], twin["first_result"], twin["same"]) == (3, 2, 2)
    page = Markup(view.get(PAGE).text)
    (link,) = [link["href"] for link in page.all("a") if link.get("class") == "divergence"]
    assert link is not None
    assert link.endswith("#r3")
    assert [row["id"] for row in page.all("section") if row.get("class") == "row action first"] == ["r3"]
    assert "Here they go apart." in page.text


def test_the_same_trace_twice_has_no_difference(view: TestClient, root: Path) -> None:
    both(root, act("ls"), act("ls"))
    text = Markup(view.get(PAGE).text).text
    assert "They act the same throughout." in text
    assert "Here they go apart." not in text


def test_of_nothing_nothing_is_said_to_be_the_same(view: TestClient, root: Path) -> None:
    both(root, [], [])
    page = view.get(PAGE).text
    assert "There is nothing to compare." in page
    assert "the same action" not in page
    assert not [text for text in re.findall(r"<li>(.*?)</li>", page, re.DOTALL) if not text.strip()]


def test_long_comparisons_come_in_pieces(view: TestClient, root: Path) -> None:
    left = [message for number in range(60) for message in act(f"step {number}")]
    both(root, left, [*left[:-2], *act("another")])
    first = view.get(f"{PAGE}&format=json").json()
    second = view.get(f"{first['later']}&format=json").json()
    assert [row["number"] for row in (*first["rows"], *second["rows"])] == list(range(1, 61))
    assert (second["later"], second["earlier"]) == (None, PAGE)
    page = view.get(f"{PAGE}&from=58").text
    ids = [attributes["id"] for _, attributes in Markup(page).elements if "id" in attributes]
    assert "r60" in ids
    assert len(ids) == len(set(ids))


def test_traces_of_different_tasks_are_compared_with_a_warning(view: TestClient, root: Path) -> None:
    both(root, act("ls"), act("ls"), task_id="another")
    assert "traces of different tasks" in Markup(view.get(PAGE).text).text


@pytest.mark.parametrize(
    ("left", "right", "status"),
    [("", RIGHT, 400), (LEFT, "", 400), (LEFT, "traces/absent.json", 404), (LEFT, "/etc/passwd", 404)],
)
def test_both_sides_have_to_be_traces(view: TestClient, root: Path, left: str, right: str, status: int) -> None:
    both(root, act("ls"), act("ls"))
    assert view.get(Links().compare("data-agent", "eval-v1", left, right)).status_code == status


def test_a_broken_trace_is_beside_a_whole_one(view: TestClient, root: Path) -> None:
    both(root, act("ls"), act("ls"))
    write(root, f"{DATASET}/{RIGHT}", '{"messages": [{"role": "user", "content": "half"}, {"role')
    answer = view.get(PAGE)
    assert answer.status_code == 200
    assert "ends in the middle" in answer.text
    write(root, f"{DATASET}/{RIGHT}", "nothing")
    assert "There is nothing to compare" not in view.get(PAGE).text
    both(root, [], [])
    assert "There is nothing to compare" in view.get(PAGE).text


def test_hostile_text_is_harmless_on_both_sides(view: TestClient, root: Path) -> None:
    messages = [step for text in HOSTILE for step in act(text, text)]
    both(root, messages, [{"role": text, "content": text} for text in HOSTILE], task_id=HOSTILE[0], model=HOSTILE[1])
    found = Markup(view.get(f"{PAGE}&limit=100").text)
    assert not found.tags & {"img", "svg", "iframe", "style", "base", "math", "!--"}
    assert not {name for name in found.attributes if name.startswith("on")}
    assert all(link.startswith(("/", "?", "#", "http://", "https://")) for link in found.values("href"))
