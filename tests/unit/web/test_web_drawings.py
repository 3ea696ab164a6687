"""Charts of training runs are drawn once, until there is anything new to see."""

import json
from pathlib import Path

import pytest

from oddish.viewer.results import Results
from oddish.web.viewer.drawings import Drawings, Drawn, RunFiles
from oddish.web.viewer.links import Links
from support.results import RUN, STEP, example, write

RUN_FILE, METRICS_FILE = f"{RUN}/run.json", f"{RUN}/train/metrics.jsonl"


class Pages:
    """What the page of a run shows, time after time."""

    def __init__(self, root: Path) -> None:
        self.root, self._results, self._drawings = root, Results(root), Drawings(Links())

    def drawn(self, find: str = "") -> Drawn:
        run, metrics = self._results.run("data-agent", "rl-1"), self._results.metrics("data-agent", "rl-1")
        return self._drawings.of("data-agent", [RunFiles("rl-1", run.value, metrics.value)], find)


@pytest.fixture
def pages(tmp_path: Path) -> Pages:
    return Pages(example(tmp_path / "results"))


def test_nothing_is_drawn_again_while_no_file_changes(pages: Pages) -> None:
    first = pages.drawn()
    assert pages.drawn() is first
    only = pages.drawn("kl")
    assert (len(only.charts), only.charted.found) == (1, 1)
    assert pages.drawn() is first
    assert pages.drawn("kl") is only


def test_a_step_more_is_another_drawing(pages: Pages) -> None:
    first = pages.drawn()
    with (pages.root / METRICS_FILE).open("a") as file:
        file.write(json.dumps(STEP | {"step": 4, "reward": 1}) + "\n")
    second = pages.drawn()
    assert second.version != first.version
    assert (first.runs[0].progress.steps, second.runs[0].progress.steps) == (1, 2)
    assert second.runs[0].progress.best_step == 4


def test_another_label_is_another_drawing(pages: Pages) -> None:
    first = pages.drawn()
    write(pages.root, RUN_FILE, {"label": "another label"})
    assert pages.drawn().runs[0].label == "another label"
    assert pages.drawn().version != first.version


def test_a_run_without_metrics_has_no_charts(pages: Pages) -> None:
    (pages.root / METRICS_FILE).unlink()
    found = pages.drawn()
    assert (found.charts, found.charted.of, found.runs[0].progress.steps) == ((), 0, 0)
