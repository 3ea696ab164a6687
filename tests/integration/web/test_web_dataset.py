"""The page of a dataset: what it shows, what can be chosen, and what it makes of bad input."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.testclient import TestClient

from oddish.viewer.sorting import SORTS
from oddish.web.viewer.dataset import MOST_COLUMNS
from oddish.web.viewer.tasktable import MOST_MARKS, SHORT
from support.pages import Markup, visitor
from support.results import DATASET, HARNESS, KEY, MODEL, PROJECT, cell, dataset, example, write

PAGE = "/projects/data-agent/datasets/eval-v1"
OTHER = f"{MODEL}|opencode"
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\" autofocus onfocus='alert(1)"


def results(root: Path, summary: object) -> TestClient:
    """A client of a directory whose dataset has this summary."""
    write(root, "projects/data-agent/project.json", PROJECT)
    write(root, f"{DATASET}/summary.json", summary)
    return visitor(root)


def words(client: TestClient, query: str = "") -> str:
    answer = client.get(f"{PAGE}{query}")
    assert answer.status_code == 200, answer.text
    return " ".join(Markup(answer.text).text.split())


def twin(client: TestClient, query: str = "") -> dict[str, Any]:
    answer = client.get(f"{PAGE}{query}", headers={"Accept": "application/json"})
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.json()
    return document


def ids(client: TestClient, query: str) -> list[str]:
    return [task["id"] for task in twin(client, query)["shown"]["chosen"]["tasks"]]


def infrastructure() -> dict[str, Any]:
    """Eight tasks, of which five were never measured, and one of the other three passed."""
    measured = [cell([0.0, 0.0, 1.0, 0.0]), cell([0.0] * 4), cell([0.0] * 4)]
    return dataset(*({KEY: entry} for entry in [*measured, *[cell([None] * 4)] * 5]))


def two_columns() -> dict[str, Any]:
    """One task that only the first column passed, one that only the second, one that both, and one not measured."""
    passed, failed, dead = cell([0.0, 1.0]), cell([0.0, 0.0]), cell([None, None])
    pairs = [(passed, failed), (failed, passed), (passed, passed), (passed, dead)]
    document = dataset(*({KEY: first, OTHER: second} for first, second in pairs), k_max=2)
    for position, task in enumerate(document["tasks"]):
        task |= {"index": position, "difficulty": ("easy", "hard")[position % 2], "question": f"Question {position}?"}
        task |= {"answer": f"the answer is {position}", "reward_mode": ("exact", "llm")[position // 2]}
    return document


def test_infrastructure_that_failed_is_beside_the_rate_and_not_in_it(tmp_path: Path) -> None:
    client = results(tmp_path, infrastructure())
    text = words(client)
    assert "8 tasks, 3 of 8 cells measured" in text
    assert "5 tasks without any reward, in no rate" in text
    assert "0.333" in text
    assert "1 of 3" in text
    assert "0.125" not in text
    shown = twin(client)["shown"]
    assert shown["numbers"]["counts"]["n_all_infra"] == 5
    (standing,) = shown["leaderboard"]
    assert standing["rates"][1]["share"] == pytest.approx(1 / 3)
    assert (standing["measured_cells"], standing["cells"]) == (3, 8)
    assert standing["rates"][1]["interval"]["low"] > 0
    assert ids(client, "?infra=all") == [f"task-{number}" for number in range(3, 8)]


def test_the_contracts_example_is_shown(tmp_path: Path) -> None:
    client = visitor(example(tmp_path))
    text = words(client)
    for said in ("What is the median?", MODEL, HARNESS, "easy", "numeric", "1 of 1"):
        assert said in text
    assert "0.4056" not in text
    assert "0.4056" in words(client, "?show=answer")
    assert "What is the median?" not in words(client, "?show=nothing")
    page = Markup(client.get(PAGE).text)
    marks = [attributes.get("title") for _, attributes in page.elements if "mark " in (attributes.get("class") or "")]
    assert [title for title in marks if title] == ["1: failed", "2: not listed", "3: passed", "4: not listed"]
    (trace,) = [href for href in page.addresses if "/trace" in href]
    assert trace.startswith(f"{PAGE}/trace/traces/")


def test_what_no_task_tells_takes_no_column(tmp_path: Path) -> None:
    told = {name for name, found in twin(results(tmp_path, two_columns()))["shown"]["sortings"].items() if found}
    assert told == {"index", "id", "difficulty", "passes", "disagreement"}
    text = words(results(tmp_path, infrastructure()))
    assert "Difficulty" not in text
    assert "Turns" not in text
    assert {"Difficulty", "Turns"} <= set(words(visitor(example(tmp_path))).split())


def test_some_reward_does_not_look_like_none(tmp_path: Path) -> None:
    page = Markup(results(tmp_path, dataset({KEY: cell([0.75, 0.0, -1.0])}, k_max=3)).get(PAGE).text)
    looks = {
        title: attributes.get("class")
        for _, attributes in page.elements
        if (title := attributes.get("title")) and "mark" in (attributes.get("class") or "")
    }
    assert looks == {"1: reward 0.75": "mark fail partial", "2: failed": "mark fail", "3: reward -1": "mark fail"}


def test_support_is_shown_for_the_harnesses_that_are_used(tmp_path: Path) -> None:
    text = words(results(tmp_path, two_columns()))
    assert "opencode experimental knows no limit of steps" in text
    assert "mini-swe-agent stable" in text
    assert "experimental" not in words(results(tmp_path, infrastructure()))


def test_a_column_is_what_one_wants(tmp_path: Path) -> None:
    client = results(tmp_path, two_columns())
    for pivot, keys in (("both", [KEY, OTHER]), ("model", [MODEL]), ("harness", [HARNESS, "opencode"])):
        shown = twin(client, f"?pivot={pivot}")["shown"]
        assert [column["key"] for column in shown["columns"]] == keys
        assert [len(cells) for cells in shown["chosen"]["tasks"][0]["columns"]] == [2 // len(keys)] * len(keys)
    (link,) = [href for href in Markup(client.get(f"{PAGE}?q=a&first={KEY}").text).addresses if "pivot=model" in href]
    assert link == "?pivot=model&q=a"


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("?difficulty=hard", ["task-1", "task-3"]),
        ("?difficulty=hard&difficulty=easy&mode=llm", ["task-2", "task-3"]),
        ("?passed=all", ["task-2", "task-3"]),
        ("?passed=none", []),
        ("?disagreement=yes", ["task-0", "task-1"]),
        ("?infra=any", ["task-3"]),
        ("?q=question+2", ["task-2"]),
        ("?q=ANSWER+IS+1", ["task-1"]),
        (f"?first={KEY}&second={OTHER}&flipped=first", ["task-0"]),
        (f"?first={KEY}&second={OTHER}&flipped=any", ["task-0", "task-1"]),
        ("?sort=-index&size=2", ["task-3", "task-2"]),
        ("?sort=-index&size=2&page=2", ["task-1", "task-0"]),
        ("?size=2&page=99", ["task-2", "task-3"]),
    ],
)
def test_tasks_are_chosen_and_ordered_by_the_address(tmp_path: Path, query: str, found: list[str]) -> None:
    assert ids(results(tmp_path, two_columns()), query) == found


def test_the_heads_of_the_columns_rate_the_tasks_that_are_chosen(tmp_path: Path) -> None:
    client = results(tmp_path, two_columns())
    chosen = twin(client, "?difficulty=hard")["shown"]["chosen"]
    assert [standing["rates"][1]["share"] for standing in chosen["standings"]] == [0.5, 1]
    assert [(standing["measured_cells"], standing["cells"]) for standing in chosen["standings"]] == [(2, 2), (1, 2)]
    assert "chosen by what came of them" not in words(client, "?difficulty=hard")
    assert "chosen by what came of them" in words(client, "?passed=any&disagreement=yes")


def test_two_columns_are_compared_on_the_tasks_that_both_have(tmp_path: Path) -> None:
    client = results(tmp_path, two_columns())
    comparison = twin(client, f"?first={OTHER}&second={KEY}")["shown"]["comparison"]
    assert (comparison["first"]["key"], comparison["second"]["key"]) == (OTHER, KEY)
    contest = comparison["contests"][1]
    assert (contest["measure"], contest["verdict"]) == ("pass@2", "open")
    paired = contest["paired"]
    assert (paired["wins"], paired["ties"], paired["losses"]) == (1, 1, 1)
    assert (paired["difference"]["tasks"], paired["difference"]["left_out"]) == (3, 1)
    assert (comparison["won"]["ids"], comparison["lost"]["ids"]) == (["task-1"], ["task-0"])
    assert ids(client, comparison["won"]["address"].partition("#")[0]) == ["task-1"]
    assert "cannot be told" in words(client)


def test_all_that_was_chosen_stays_in_every_link(tmp_path: Path) -> None:
    client = results(tmp_path, two_columns())
    page = Markup(client.get(f"{PAGE}?pivot=harness&q=question&difficulty=easy&difficulty=hard&size=1").text)
    orders = [href for href in page.addresses if "sort=" in href]
    assert len(orders) == len(SORTS) - len({"turns", "time"})
    for href in [*orders, *(href for href in page.addresses if "page=" in href)]:
        query = urlsplit(href).query
        assert "pivot=harness&q=question&difficulty=easy&difficulty=hard" in query
        assert twin(client, f"?{query}")["shown"]["notices"] == []
    hidden = [field["name"] for field in page.all("input") if field.get("type") == "hidden"]
    assert {"pivot", "size"} <= {*hidden}


def test_a_parameter_that_is_not_of_the_page_is_named(tmp_path: Path) -> None:
    client = results(tmp_path, two_columns())
    assert '"colour" is no parameter of this page.' in words(client, "?colour=red")
    assert len(ids(client, "?colour=red")) == 4


def test_states_with_nothing_to_show_say_so(tmp_path: Path) -> None:
    client = results(tmp_path, two_columns())
    assert "No task passes these filters." in words(client, "?q=absent")
    assert "There is no task in this dataset yet." in words(results(tmp_path, dataset()))
    assert "–" in words(results(tmp_path, dataset({}, {KEY: cell([1.0])})))


def test_a_file_that_breaks_leaves_what_it_last_held(tmp_path: Path) -> None:
    client = results(tmp_path, infrastructure())
    assert "0.333" in words(client)
    write(tmp_path, f"{DATASET}/summary.json", '{"k_max": 4, "tasks": [')
    text = words(client)
    assert "0.333" in text
    assert "is no JSON object, or only the beginning of one; what it last held is shown." in text
    assert twin(client)["is_stale"]


def test_a_file_that_never_could_be_read_is_named(tmp_path: Path) -> None:
    client = results(tmp_path, "{")
    assert "The tasks of this dataset cannot be shown." in words(client)
    assert twin(client)["shown"] is None


@pytest.mark.parametrize(
    "document",
    [
        {"tasks": [None, 1, "x", [], {}]},
        {"tasks": [{"id": "a", "cells": {"": {}, "|": {}, "a|": {}, "|b": {}, "a": {"attempts": None}, "b|c": 3}}]},
        {"k_max": 10_000, "tasks": [{"cells": {"a|b": {"passed_at": 10_000, "attempts": [{"attempt": 9_999}]}}}] * 60},
        {"k_max": -1, "tasks": [{"id": "a", "cells": {"a|b": cell([0.5, -3.0, 1e300, 1e-300])}}] * 2},
        {"tasks": [{"id": 1, "index": 1.5, "difficulty": [], "cells": {"a|b": cell([1.0])}, "question": 3.5}]},
        json.loads('{"tasks": [{"id": "x", "cells": {"a|b": {"attempts": [{"reward": NaN}, {"reward": Infinity}]}}}]}'),
        {"tasks": [{"id": "a", "cells": {f"m{number}|h": cell([1.0]) for number in range(300)}}]},
        {"tasks": [{"id": "\ud800\u202e\x07", "question": "\x00", "cells": {"\ud800|\x1b": cell([1.0])}}]},
    ],
)
@pytest.mark.parametrize("pivot", ["both", "model", "harness"])
def test_whatever_a_summary_holds_there_is_a_page(tmp_path: Path, document: object, pivot: str) -> None:
    client = results(tmp_path, document)
    assert twin(client, f"?pivot={pivot}")["shown"]["numbers"]
    assert words(client, f"?pivot={pivot}&sort=-passes&show=answer")
    assert words(client, f"?pivot={pivot}&flipped=any&disagreement=yes")


def test_a_page_has_an_end_however_much_there_is(tmp_path: Path) -> None:
    many = {f"m{number}|h": {"passed_at": None, "attempts": []} for number in range(300)}
    client = results(tmp_path, {"k_max": 10_000, "tasks": [{"id": str(number), "cells": many} for number in range(50)]})
    shown = twin(client)["shown"]
    assert len(shown["columns"]) == len(shown["leaderboard"]) == MOST_COLUMNS
    assert f"There are 300 columns; the first {MOST_COLUMNS} are shown." in words(client)
    cells = [entry for task in shown["chosen"]["tasks"] for column in task["columns"] for entry in column]
    assert sum(len(entry["marks"]) for entry in cells) <= MOST_MARKS
    assert all(len(entry["marks"]) + entry["marks_left_out"] == 10_000 for entry in cells)


def test_long_texts_are_folded_and_longer_ones_cut(tmp_path: Path) -> None:
    document = dataset({KEY: cell([1.0])})
    document["tasks"][0]["question"] = "word " * 10_000
    (task,) = twin(results(tmp_path, document))["shown"]["chosen"]["tasks"]
    question = task["question"]
    assert 0 < len(question["begin"]) <= SHORT
    assert len(question["begin"]) + len(question["rest"]) + question["left_out"] == 50_000
    assert f"and {question['left_out']:,} characters more" in words(visitor(tmp_path))


def test_what_a_summary_says_is_text(tmp_path: Path) -> None:
    document = dataset({f"{HOSTILE}|{HOSTILE}": cell([0.0, 1.0]), f"b|{HOSTILE}": cell([1.0, 0.5])})
    for attempt in document["tasks"][0]["cells"][f"{HOSTILE}|{HOSTILE}"]["attempts"]:
        attempt["trace"] = f"traces/{HOSTILE}.json"
    document["tasks"][0] |= dict.fromkeys(("id", "question", "answer", "difficulty", "reward_mode"), HOSTILE)
    client = results(tmp_path, document)
    write(tmp_path, f"{DATASET}/dataset.json", {"label": HOSTILE, "notes": HOSTILE})
    for pivot in ("both", "model", "harness"):
        answer = client.get(PAGE, params={"pivot": pivot, "show": "answer", "q": HOSTILE, HOSTILE: HOSTILE})
        page = Markup(answer.text)
        assert not [script for script in page.all("script") if not (script.get("src") or "").startswith("/assets/")]
        assert page.all("img") == []
        assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
        assert not [attributes for _, attributes in page.elements if "autofocus" in attributes or "style" in attributes]
        assert all(href.startswith(("/", "?", "#")) for href in page.addresses)
        assert HOSTILE in page.text
    assert twin(client, "?show=answer")["shown"]["chosen"]["tasks"][0]["answer"]["begin"] == HOSTILE


@pytest.mark.parametrize("path", [f"{PAGE}x", "/projects/absent/datasets/eval-v1", f"{PAGE}%2f.."])
def test_a_dataset_that_is_not_there_is_not_found(tmp_path: Path, path: str) -> None:
    assert visitor(example(tmp_path)).get(path).status_code == 404


def test_a_page_that_has_not_changed_is_not_sent_again(tmp_path: Path) -> None:
    client = visitor(example(tmp_path))
    tag = client.get(PAGE).headers["etag"]
    assert client.get(PAGE, headers={"If-None-Match": tag}).status_code == 304
    assert client.get(f"{PAGE}?pivot=model", headers={"If-None-Match": tag}).status_code == 200
