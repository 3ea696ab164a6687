"""Training runs over HTTP: their charts, several over one another, and while they grow."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from oddish.viewer.steps import MOST_OTHERS
from oddish.web.viewer.drawings import MOST_CHARTS
from support.pages import Markup, visitor
from support.results import RUN, STEP, example, write

RUNS = "/projects/data-agent/runs"
METRICS = f"{RUN}/train/metrics.jsonl"
HOSTILE = '<script>alert(1)</script>"onload=alert(1) '


def lines(*documents: dict[str, Any]) -> str:
    return "".join(
        json.dumps(STEP | {"step": number} | document) + "\n" for number, document in enumerate(documents, 1)
    )


@pytest.fixture
def root(tmp_path: Path) -> Path:
    example(tmp_path)
    write(tmp_path, METRICS, lines({"reward": 0.25, "reward_std": 0}, {"reward": 0.75}, {"reward": None, "lr": 0.1}))
    write(tmp_path, "projects/data-agent/runs/other/run.json", {"label": "Other"})
    write(tmp_path, "projects/data-agent/runs/other/train/metrics.jsonl", lines({"reward": 1}, {"reward": 0}))
    return tmp_path


@pytest.fixture
def view(root: Path) -> TestClient:
    return visitor(root)


def version(page: str) -> str | None:
    (live,) = [division for division in Markup(page).all("div") if division.get("id") == "live"]
    return live["data-version"]


def test_a_run_has_a_chart_of_each_metric_and_what_came_of_it(view: TestClient) -> None:
    answer = view.get(f"{RUNS}/rl-1")
    assert answer.status_code == 200
    page = Markup(answer.text)
    text = " ".join(page.text.split())
    for name in ("Reward", "Loss", "KL divergence", "Entropy", "Importance ratio", "Seconds per step", "lr"):
        assert f"<figcaption>{name}</figcaption>" in answer.text
    assert "0.75 in step 2" in text
    assert "0.333 1 of 3 steps" in text
    assert "0.125 3 of 24 rollouts" in text
    assert "flat steps: they taught nothing" in text
    assert f"{RUNS}?run=rl-1" in page.addresses


def test_the_twin_has_the_numbers(view: TestClient) -> None:
    (run,) = view.get(f"{RUNS}/rl-1", params={"format": "json"}).json()["runs"]
    assert run["columns"]["reward"] == [0.25, 0.75, None]
    assert run["progress"]["flat"] == {"count": 1, "of": 3}
    assert (run["progress"]["last_reward"], run["progress"]["best_step"]) == (0.75, 2)


def test_all_steps_are_at_hand_as_csv(view: TestClient) -> None:
    answer = view.get(f"{RUNS}/rl-1/metrics.csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"].startswith("attachment")
    head, *rows = csv.reader(answer.text.splitlines())
    assert head == [*STEP, "lr"]
    assert [row[1] for row in rows] == ["0.25", "0.75", ""]
    assert rows[2][-1] == "0.1"


def test_several_runs_lie_over_one_another(view: TestClient) -> None:
    answer = view.get(RUNS, params={"run": ["rl-1", "other"]})
    assert answer.text.count("<figcaption>Reward</figcaption>") == 1
    assert 'data-label="rl-1"' in answer.text
    assert 'data-label="Other"' in answer.text
    twin = view.get(RUNS, params={"run": ["rl-1", "other"], "format": "json"}).json()
    assert [run["id"] for run in twin["runs"]] == ["rl-1", "other"]
    assert [(choice["id"], choice["is_shown"]) for choice in twin["choices"]] == [("rl-1", True), ("other", True)]


def test_runs_can_be_chosen_before_any_is_shown(view: TestClient) -> None:
    page = view.get(RUNS)
    assert page.status_code == 200
    assert "No run is chosen." in page.text
    assert page.text.count('name="run"') == 2


def test_what_is_too_much_for_one_drawing_is_said(view: TestClient, root: Path) -> None:
    for number in range(7):
        write(root, f"projects/data-agent/runs/r{number}/run.json", {})
    answer = view.get(RUNS, params={"run": [f"r{number}" for number in range(7)]})
    assert answer.status_code == 200
    assert "names 7 runs, of which the first 6 are shown" in " ".join(Markup(answer.text).text.split())


def test_of_many_metrics_some_are_drawn_and_the_others_looked_for(view: TestClient, root: Path) -> None:
    chosen = [f"r{number}" for number in range(6)]
    for run in chosen:
        write(root, f"projects/data-agent/runs/{run}/run.json", {})
        names = {f"{run}/metric-{number:04}": number for number in range(400)}
        write(root, f"projects/data-agent/runs/{run}/train/metrics.jsonl", lines(names))
    answer = view.get(RUNS, params={"run": chosen})
    of = len(STEP) - 2 + 6 * MOST_OTHERS
    assert answer.text.count("<figcaption>") == MOST_CHARTS
    text = " ".join(Markup(answer.text).text.split())
    assert f"{MOST_CHARTS} of {of} metrics; look for the others by their names." in text
    assert f"has {400 - MOST_OTHERS} metrics that are not shown." in text
    assert [field["value"] for field in Markup(answer.text).all("input") if field.get("name") == "metric"] == [""]
    found = view.get(RUNS, params={"run": chosen, "metric": "R5 0003"})
    assert found.text.count("<figcaption>") == 1
    assert f"1 of 1 metric with “R5 0003”, of {of} in all." in " ".join(Markup(found.text).text.split())
    twin = view.get(f"{RUNS}/r0", params={"metric": HOSTILE, "format": "json"}).json()
    assert twin["metrics"] == {"find": HOSTILE.strip(), "shown": 0, "found": 0, "of": of - 5 * MOST_OTHERS}
    assert HOSTILE.strip() in Markup(view.get(f"{RUNS}/r0", params={"metric": HOSTILE}).text).text


def test_new_steps_are_another_version_and_a_page_without_any_is_kept(view: TestClient, root: Path) -> None:
    first = view.get(f"{RUNS}/rl-1")
    assert view.get(f"{RUNS}/rl-1", headers={"If-None-Match": first.headers["etag"]}).status_code == 304
    with (root / METRICS).open("a") as file:
        file.write(json.dumps(STEP | {"step": 4, "reward": 0.9}) + "\n")
    grown = view.get(f"{RUNS}/rl-1", headers={"If-None-Match": first.headers["etag"]})
    assert grown.status_code == 200
    assert version(first.text) != version(grown.text)


@pytest.mark.parametrize("content", ["", "{cut", '{"step": NaN}\n', "\x00\n[1]\n", '{"step": 1, "reward": "<b>"}\n'])
def test_whatever_the_metrics_hold_there_is_a_page(view: TestClient, root: Path, content: str) -> None:
    write(root, METRICS, content)
    assert view.get(f"{RUNS}/rl-1").status_code == 200
    assert view.get(f"{RUNS}/rl-1/metrics.csv").status_code == 200


def test_a_run_without_metrics_says_what_belongs_there(view: TestClient, root: Path) -> None:
    (root / METRICS).unlink()
    assert "This run has no metrics yet." in view.get(f"{RUNS}/rl-1").text


def test_what_files_say_is_text(view: TestClient, root: Path) -> None:
    write(root, f"{RUN}/run.json", {"label": HOSTILE, "description": HOSTILE})
    write(root, METRICS, json.dumps(STEP | {HOSTILE: 1, "=1+1": 2}) + "\n")
    for answer in (view.get(f"{RUNS}/rl-1"), view.get(RUNS, params={"run": ["rl-1", "other"]})):
        page = Markup(answer.text)
        assert not [script for script in page.all("script") if not (script.get("src") or "").startswith("/assets/")]
        assert HOSTILE.strip() in page.text
        assert "style=" not in answer.text
    assert "'=1+1" in view.get(f"{RUNS}/rl-1/metrics.csv").text


def test_a_run_that_is_not_there_is_said_on_a_page(view: TestClient) -> None:
    for path in (f"{RUNS}/gone", f"{RUNS}/gone/metrics.csv", "/projects/gone/runs"):
        answer = view.get(path)
        assert (answer.status_code, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
