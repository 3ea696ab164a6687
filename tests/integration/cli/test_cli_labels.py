"""Labels and rehearsals of ``oddish run`` before any server hears of them."""

import json
from typing import Any

import pytest

from oddish.tasks.package import content_hash, publish_set

NOP = ("-a", "nop", "--no-watch")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--github-meta", "{"), "line 1, column 2"),
        (("--github-meta", "[]"), "no object"),
        (("--github-meta", '{"a": Infinity}'), "a is inf"),
        (("--link", "javascript:alert(1)"), "neither http:// nor https://"),
        (("--tag", "two words"), "'two words'"),
        (("--tag", "a=1", "--tag", "a=2"), "'1' and '2'"),
    ],
)
def test_a_label_that_cannot_be_is_refused_before_anything_is_sent(
    server: Any, invoke: Any, make_task_dir: Any, options: tuple[str, ...], why: str
) -> None:
    result = invoke("run", make_task_dir(), *NOP, *options)
    assert (result.exit_code, why in result.output) == (2, True), result.output
    assert server.calls == []


def test_without_labels_nothing_is_said_of_the_task(server: Any, invoke: Any, make_task_dir: Any) -> None:
    assert invoke("run", make_task_dir(), *NOP, "--no-publish").exit_code == 0
    (body,) = server.bodies("POST", "/tasks/sweep")
    labels = {"tags", "link", "github_username", "github_meta", "publish_experiment", "run_analysis", "run_probe"}
    assert not body.keys() & labels


def test_a_rehearsal_says_what_would_be_sent_and_asks_nobody(
    server: Any, invoke: Any, make_task_dir: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ODDISH_API_URL")
    monkeypatch.delenv("ODDISH_API_KEY")
    first = make_task_dir("greet")
    make_task_dir("part", first.parent)
    asked = ("-a", "codex", "-m", "acme/m", "--n-trials", "3", "-e", "docker", "--ae", "API_KEY=sk-nobody-sees-it")
    options = ("-E", "mine", "--baseline-gate", "--tag", "wip", "--publish", "--dry-run")
    result = invoke("run", first.parent, *asked, *options, "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert "sk-nobody" not in result.output
    files = publish_set(first)
    assert document["tasks"][0] == {
        "name": "greet",
        "path": str(first),
        "content_hash": content_hash(files),
        "files": len(files),
        "bytes": sum(file.size for file in files),
        "agents": [
            {"agent": "oracle", "model": None, "n_trials": 1, "environment": "docker"},
            {"agent": "nop", "model": None, "n_trials": 1, "environment": "docker"},
            {"agent": "codex", "model": "acme/m", "n_trials": 3, "environment": "docker"},
        ],
    }
    assert (document["dry_run"], document["experiment"], document["total_trials"]) == (True, "mine", 10)
    assert document["labels"] == {"tags": {"wip": ""}, "publish_experiment": True}
    text = invoke("run", first.parent, *asked, "--dry-run").output
    assert "2 tasks, 6 trials at most" in text
    assert text.count("codex") == 2
    assert server.calls == []


def test_a_rehearsal_refuses_what_a_run_would(server: Any, invoke: Any, make_task_dir: Any) -> None:
    broken = make_task_dir("bad", **{"task.toml": "nonsense"})
    result = invoke("run", broken, *NOP, "--dry-run")
    assert (result.exit_code, "bad" in result.output) == (1, True)
    assert server.calls == []
