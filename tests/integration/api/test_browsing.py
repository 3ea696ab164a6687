"""Finding tasks: every filter against plain Python, over HTTP and from the command line."""

import json
import random

import httpx2
import pytest
from click.testing import CliRunner

from oddish.browsing import parse
from oddish.browsing.table import PARAMETERS
from oddish.cli import cli

from .population import TaskFacts, figures, ids, passing, populate
from .serving import KEY, Server

SINGLE: dict[str, list[str]] = {
    "query": [
        *(
            "shop",
            "SLOW",
            '"slow query" -3',
            "100%",
            "%",
            "_",
            "a/b",
            "shop OR NOT author:ann",
            "tag:wip",
            "tag:size=big",
            "shopping",
            "web",
            "eve_1",
        ),
        *("NOT tag:web", "github:hub", "user:BOB -shop", "\\", "absent", '-"%_d"'),
    ],
    "tags": ["web", "web,wip", "50+_off", "absent", "size", "size=big", "size=small"],
    "tags_any": ["wip,50+_off", "absent,Web"],
    "tags_none": ["web", "wip,Web", "absent", "size=big"],
    "author": ["ann", "Eve_1,bob", "hub-ann", "me", "admin"],
    "statuses": ["pending", "running", "completed", "failed", "pending,failed"],
    "priorities": ["high", "low,high"],
    "created_after": ["2026-01-01T20:00:00Z", "2027-01-01"],
    "created_before": ["2026-01-02", "2025-01-01"],
    "has_link": ["true", "false"],
    "run_analysis": ["true", "false"],
    "run_probe": ["true", "false"],
    "experiment_ids": ["e1", "second", "e1,second", "absent"],
    "models": ["gpt-5", "openai/gpt-5", "grok_4", "grok%4", "openai/gpt-5,grok_4", "5"],
    "agents": ["oracle", "codex,claude-code", "absent"],
    "agent_models": ["codex:openai/gpt-5", "oracle:"],
    "providers": ["openai", "x,default"],
    "environments": ["docker"],
    "trial_statuses": ["running", "queued,skipped"],
    "origins": ["imported", "oddish"],
    "trial_is_probe": ["true", "false"],
    "harbor_shas": ["abc", "def"],
    "harbor_stages": ["cancelled", "completed"],
    "trial_finished_after": ["2026-01-05"],
    "trial_finished_before": ["2026-01-03T00:00:30+00:00"],
    "min_steps": ["4", "31", str(2**63 - 1)],
    "max_steps": ["4", "2"],
    "min_duration_seconds": ["12.5", "121"],
    "max_duration_seconds": ["12.5"],
    "min_tool_calls": ["8", "0"],
    "max_tool_calls": ["3"],
    "tool_names": ["bash", "bash,edit", "absent"],
    "tool_count_mins": ['{"bash": 5}', '{"bash": 4, "edit": 7}', f'{{"bash": {2**31 - 1}}}'],
    "min_tokens": ["150", str(2**63 - 1)],
    "max_tokens": ["100"],
    "reward_min": ["0.5"],
    "reward_max": ["0"],
    "min_attempts": ["3"],
    "has_error": ["true", "false"],
    "has_trajectory": ["true", "false"],
    "trial_metric_match": ["all", "any"],
    "total_trials_min": ["3", str(2**63 - 1)],
    "completed_count_min": ["1", "2"],
    "failed_count_min": ["1"],
    "pass_count_min": ["1"],
    "partial_count_min": ["1"],
    "fail_count_min": ["1"],
    "harness_count_min": ["1"],
    "avg_score_min": ["0", "33"],
    "avg_score_max": ["60"],
    "pass_rate_min": ["40"],
    "pass_rate_max": ["40"],
    "total_tokens_min": ["2000"],
    "total_tokens_max": ["2000"],
    "runtime_total_min": ["100"],
    "runtime_total_max": ["100"],
    "runtime_avg_min": ["30"],
    "runtime_avg_max": ["30"],
}
"""Values of each filter that means something by itself."""
TOGETHER: list[dict[str, str]] = [
    {"compare_by": "agent", "compare_a": "codex", "compare_b": "oracle"},
    {"compare_by": "agent", "compare_a": "oracle", "compare_b": "codex", "compare_metric": "pass_rate"},
    {"compare_by": "agent", "compare_a": "codex", "compare_b": "claude-code", "compare_metric": "runtime"},
    {
        "compare_by": "model",
        "compare_a": "openai/gpt-5",
        "compare_b": "x/grok_4",
        "compare_metric": "tokens",
        "compare_agg": "best",
        "compare_margin": "10",
        "compare_margin_unit": "percent",
    },
    {
        "compare_by": "model",
        "compare_a": "x/grok_4",
        "compare_b": "openai/gpt-5",
        "compare_metric": "steps",
        "compare_agg": "median",
        "compare_margin": "5",
        "compare_margin_unit": "absolute",
    },
    {"top_by": "agent", "top_value": "codex"},
    {"top_by": "model", "top_value": "openai/gpt-5", "top_metric": "runtime"},
    {"agents": "codex", "min_steps": "4", "has_error": "false", "trial_metric_match": "all"},
    {"experiment_ids": "first", "tool_names": "bash", "trial_metric_match": "all"},
    {"trial_is_probe": "true", "max_steps": "4", "experiment_ids": "e2"},
    {"tags_any": "web,wip", "or_groups": '[{"agents": ["codex"], "min_tokens": 150}, {"statuses": "failed"}]'},
    {"or_groups": '[{"avg_score_min": 50}, {"query": "shop -tag:web", "has_link": true}]', "priorities": "low"},
]


@pytest.fixture
def tasks(server: Server) -> list[TaskFacts]:
    return populate(server, tasks=60, rng=random.Random(5))


def listed(client: httpx2.Client, **given: str | int) -> list[str]:
    answer = client.get("/tasks/browse", params={"limit": 100, **given})
    assert answer.status_code == 200, answer.text
    return [item["id"] for item in answer.json()["items"]]


def test_every_filter_finds_what_plain_python_finds_in_one_statement(
    server: Server, client: httpx2.Client, tasks: list[TaskFacts], quiet_logs: None
) -> None:
    singles = [{name: text} for name, texts in SINGLE.items() for text in texts]
    assert {name for given in (*singles, *TOGETHER) for name in given} >= PARAMETERS.keys()
    rng = random.Random(6)
    random_pairs = [rng.choice(singles) | rng.choice(singles) | {"trial_metric_match": "all"} for _ in range(25)]
    differing, telling = [], 0
    for given in [*singles, *TOGETHER, *random_pairs]:
        expected = ids(passing(tasks, parse(given.items()).filter))
        with server.counting_statements() as statements:
            found = listed(client, **given)
        if found != expected or len(statements) != 1:
            differing.append((given, len(statements), found, expected))
        telling += 0 < len(expected) < len(passing(tasks, parse([]).filter))
    assert [one[0] for one in differing] == [], differing[:2]
    assert telling > 90, "most filters have to let some tasks pass and others not"


def test_pages_counts_and_orders(client: httpx2.Client, tasks: list[TaskFacts], quiet_logs: None) -> None:
    everything = ids(passing(tasks, parse([]).filter))
    first = client.get("/tasks/browse").json()
    assert ([item["id"] for item in first["items"]], first["has_more"]) == (everything[:25], True)
    assert (first["limit"], first["offset"]) == (25, 0)
    rest = client.get("/tasks/browse", params={"limit": 100, "offset": 25}).json()
    assert ([item["id"] for item in rest["items"]], rest["has_more"]) == (everything[25:], False)
    assert client.get("/tasks/browse", params={"count_only": True}).json() == {"total": len(everything)}
    counted = client.get("/tasks/browse?count_only=1&agents=codex&avg_score_min=1").json()
    assert counted == {"total": len(passing(tasks, parse([("agents", "codex"), ("avg_score_min", "1")]).filter))}
    by_id = {task.id: figures(task) for task in tasks}
    for sort in ("cost_desc", "avg_score_asc", "total_tokens_desc", "runtime_total_asc", "runtime_avg_desc"):
        figure, _, way = sort.rpartition("_")
        found = listed(client, sort=sort)
        assert sorted(found) == sorted(everything)
        values = [by_id[task_id][figure] for task_id in found]
        known = [value for value in values if value is not None]
        assert values[: len(known)] == sorted(known, reverse=way == "desc"), sort


def test_an_item_says_what_the_trials_of_the_current_version_came_to(
    client: httpx2.Client, tasks: list[TaskFacts]
) -> None:
    items = {item["id"]: item for item in client.get("/tasks/browse?limit=100").json()["items"]}
    for task in passing(tasks, parse([]).filter):
        item, counted, known = items[task.id], task.counted(), figures(task)
        rewards = [one.scored for one in counted if one.scored is not None]
        assert (item["name"], item["current_version"], item["version_count"]) == (task.name, task.version, task.version)
        assert item["current_version_id"] == f"{task.id}-v{task.version}"
        assert (item["total_trials"], item["completed_trials"]) == (known["total"], known["completed"])
        assert (item["failed_trials"], item["reward_success"]) == (known["failed"], known["passed"])
        assert (item["reward_sum"], item["reward_total"]) == (sum(rewards), len(rewards))
        assert item["cost_usd"] == known["cost"]
        costs = [one.cost for one in counted if one.cost is not None]
        assert item["cost_trial_count"] == len(costs)
        assert (item["cost_has_estimated"], item["cost_has_native"]) == (2.0 in costs, 0.25 in costs)
        newest = sorted(counted, key=lambda one: one.index, reverse=True)
        assert [one["id"] for one in item["latest_trials"]] == ids_of(newest)
        assert {experiment["id"] for experiment in item["experiments"]} == set(task.experiments)
        assert item["user_tags"] == task.tags
        ran = [one.finished or one.started for one in task.trials if not one.probe and not one.gone]
        last = max((moment for moment in ran if moment is not None), default=None)
        assert item["last_run_at"] == (last and last.isoformat().replace("+00:00", "Z"))


def ids_of(trials: list[object]) -> list[str]:
    return [one.id for one in trials]  # type: ignore[attr-defined]


def test_what_filters_can_be_given_is_told(client: httpx2.Client, tasks: list[TaskFacts]) -> None:
    facets = client.get("/tasks/browse/facets").json()
    live = [task for task in tasks if not task.deleted]
    assert facets["tags"] == sorted({tag for task in live for tag in task.tags})
    assert facets["author"] == sorted({task.author for task in live})
    assert facets["models"] == ["openai/gpt-5", "x/grok_4"]
    assert "codex:x/grok_4" in facets["agent_models"]
    assert facets["tool_names"] == ["bash", "edit"]
    assert (facets["harbor_stages"], facets["harbor_shas"]) == (["cancelled", "completed"], ["abc"])
    options = client.get("/tasks/browse/experiment-options", params={"query": "SEC"}).json()
    assert options == {"items": [{"id": "e2", "name": "second"}]}
    named = client.get("/tasks/browse/experiment-options", params={"ids": "e1,second", "limit": 1}).json()["items"]
    assert len(named) == 1
    assert client.get("/tasks/browse/experiment-options", params={"query": "%"}).json() == {"items": []}


def test_nobody_finds_what_belongs_to_others(server: Server, client: httpx2.Client, tasks: list[TaskFacts]) -> None:
    stranger = server.client(server.key("b1", org="other"))
    assert listed(stranger) == []
    assert listed(stranger, experiment_ids="e1") == listed(stranger, agents="codex") == []
    facets = stranger.get("/tasks/browse/facets").json()
    assert [facets[name] for name in ("tags", "author", "agents", "models", "tool_names")] == [[], [], [], [], []]
    assert stranger.get("/tasks/browse/experiment-options?ids=e1").json() == {"items": []}


def test_what_cannot_be_understood_is_refused_with_what_there_is(client: httpx2.Client) -> None:
    for given, said in (
        ({"colour": "red"}, "There is no filter 'colour'."),
        ({"query": "model:gpt"}, "query looks in model:, and there is tag:, author:, github: and user: only."),
        ({"limit": "0"}, "limit is 0."),
        ({"analysis_classifications": "x"}, "which is not enabled here."),
        ({"min_steps": str(2**63)}, f"min_steps is '{2**63}'."),
    ):
        answer = client.get("/tasks/browse", params=given)
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_filter")
        assert said in answer.json()["detail"]
        assert answer.json()["fix"]


def test_the_command_lists_finds_and_pages(
    server: Server, tasks: list[TaskFacts], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODDISH_API_URL", server.url)
    monkeypatch.setenv("ODDISH_API_KEY", KEY)

    def ls(*arguments: str, code: int = 0) -> str:
        result = CliRunner().invoke(cli, ["ls", *arguments])
        assert result.exit_code == code, result.output
        return result.output

    everything = ids(passing(tasks, parse([]).filter))
    shown = ls("-n", "3", "--not-tag", "absent")
    assert shown.splitlines()[0].split()[:5] == ["Task", "Version", "Trials", "Passed", "Mean"]
    assert [line.split()[0] for line in shown.splitlines()[2:5]] == everything[:3]
    assert shown.endswith("show them with: oddish ls --not-tag absent --limit 3 --offset 3\n")
    picked = json.loads(ls("-m", "gpt-5", "--tool", "bash", "--tool-min", "edit=2", "--trial-match", "any", "--json"))
    asked = [("models", "gpt-5"), ("tool_names", "bash"), ("tool_count_mins", '{"edit": 2}')]
    assert [item["id"] for item in picked["items"]] == ids(passing(tasks, parse(asked).filter))
    assert picked.keys() == {"items", "limit", "offset", "has_more"}
    either = json.loads(ls("--or", '{"has_link": false}', "--or", '{"statuses": "failed"}', "--count", "--json"))
    both = parse([("or_groups", '[{"has_link": false}, {"statuses": "failed"}]')])
    assert either == {"total": len(passing(tasks, both.filter))}
    assert ls("--count") == f"{len(everything)} tasks\n"
    assert ls("--offset", "1000") == "There is no further task from 1000 on.\n"
    assert ls("-q", "nowhere") == "No task passes these filters.\n"


def test_without_tasks_the_command_says_how_to_begin(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODDISH_API_URL", server.url)
    monkeypatch.setenv("ODDISH_API_KEY", KEY)
    assert "There is no task yet." in CliRunner().invoke(cli, ["ls"]).output
