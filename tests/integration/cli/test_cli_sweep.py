"""``oddish run -c`` and ``--task`` against a server that speaks the wire format."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oddish.cli import watch

SWEEP = """
agents:
  - name: claude-code
    model_name: acme/model
    n_trials: 3
    kwargs: {effort: low, turns: 5}
    env: {LEVEL: debug}
  - {name: nop, n_trials: 2, environment: docker}
  - name: oracle
n_trials: 4
environment: local
experiment: nightly
priority: high
max_trial_attempts: 2
user: ada
tags: [nightly]
link: https://ci.example/7
github_user: octo
github_meta: {run: 7}
harbor:
  ref: main
  environment: {override_cpus: 2, kwargs: {region: us, zone: a}}
  verifier: {disable: true}
  artifacts: [/app/out]
"""
FOUR = "agents: [{name: oracle}, {name: nop}, {name: 'my:Failing'}, {name: 'my:Crashing'}]\n"
NO_WATCH = "--no-watch"


@pytest.fixture(autouse=True)
def quick_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "QUICKEST", 0.01)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    def write(content: str, name: str = "sweep.yaml") -> Path:
        (tmp_path / name).write_text(content)
        return tmp_path / name

    return write


def sent(server: Any) -> Any:
    return server.bodies("POST", "/tasks/sweep")[-1]


def test_all_that_a_file_says_is_one_submission_of_each_task(
    server: Any, invoke: Any, make_task_dir: Any, tmp_path: Path, write: Any
) -> None:
    for name in ("a", "bb", "other"):
        make_task_dir(name, tmp_path / "set")
    file = write(f"{SWEEP}path: {tmp_path / 'set'}\ntask_names: [a, 'b*']\n")
    result = invoke("run", "-c", file, "--json")
    assert result.exit_code == 0, result.output
    bodies = server.bodies("POST", "/tasks/sweep")
    assert sorted(body.pop("task_id") for body in bodies) == ["a-00000001", "bb-00000002"]
    for body in bodies:
        assert body.pop("content_hash").startswith("oddish1:")
        assert body == {
            "configs": [
                {
                    "agent": "claude-code",
                    "model": "acme/model",
                    "n_trials": 3,
                    "environment": "local",
                    "agent_config": {"kwargs": {"effort": "low", "turns": 5}, "env": {"LEVEL": "debug"}},
                },
                {"agent": "nop", "model": None, "n_trials": 2, "environment": "docker"},
                {"agent": "oracle", "model": None, "n_trials": 4, "environment": "local"},
            ],
            "priority": "high",
            "experiment_id": "nightly",
            "max_trial_attempts": 2,
            "user": "ada",
            "tags": {"nightly": ""},
            "link": "https://ci.example/7",
            "github_username": "octo",
            "github_meta": {"run": 7},
            "harbor": {
                "ref": "main",
                "environment": {"override_cpus": 2, "kwargs": {"region": "us", "zone": "a"}},
                "verifier": {"disable": True},
                "artifacts": ["/app/out"],
            },
        }
    assert json.loads(result.stdout)["total_trials"] == 18


def test_flags_win_over_the_file_one_by_one(server: Any, invoke: Any, make_task_dir: Any, write: Any) -> None:
    flags = ("-E", "mine", "-P", "low", "--max-trial-attempts", "5", "-u", "bob", "--n-trials", "1", "-e", "modal")
    flags += ("--ak", "effort=high", "--ae", "MORE=1", "--allow-agent-host", "docs.example", "-m", "acme/other")
    flags += ("--harbor", "0.25.0", "--override-cpus", "4", "--environment-kwarg", "zone=b", "--enable-verification")
    flags += ("--artifact", "/app/more", "--artifact", "/app/out")
    result = invoke("run", make_task_dir(), *flags, "-c", write(SWEEP), NO_WATCH)
    assert result.exit_code == 0, result.output
    body = sent(server)
    everyone = {"extra_allowed_hosts": ["docs.example"], "env": {"MORE": "1"}, "kwargs": {"effort": "high"}}
    assert body["configs"] == [
        {
            "agent": "claude-code",
            "model": "acme/other",
            "n_trials": 1,
            "environment": "modal",
            "agent_config": {
                "extra_allowed_hosts": ["docs.example"],
                "env": {"LEVEL": "debug", "MORE": "1"},
                "kwargs": {"effort": "high", "turns": 5},
            },
        },
        {"agent": "nop", "model": None, "n_trials": 1, "environment": "modal", "agent_config": everyone},
        {"agent": "oracle", "model": None, "n_trials": 1, "environment": "modal", "agent_config": everyone},
    ]
    assert body["harbor"] == {
        "source": "package",
        "ref": "0.25.0",
        "environment": {"override_cpus": 4, "kwargs": {"region": "us", "zone": "b"}},
        "verifier": {"disable": False},
        "artifacts": ["/app/out", "/app/more"],
    }
    assert (body["experiment_id"], body["priority"], body["max_trial_attempts"], body["user"]) == (
        "mine",
        "low",
        5,
        "bob",
    )


def test_an_agent_of_the_command_line_takes_the_place_of_those_of_the_file(
    server: Any, invoke: Any, make_task_dir: Any, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODDISH_HARBOR", "0.25.0")
    assert invoke("run", make_task_dir(), "-c", write(SWEEP), "-a", "nop", NO_WATCH).exit_code == 0
    body = sent(server)
    assert body["configs"] == [{"agent": "nop", "model": None, "n_trials": 4, "environment": "local"}]
    assert body["harbor"]["ref"] == "main", "a file says more than the shell"


def test_a_path_of_the_command_line_takes_the_place_of_that_of_the_file(
    server: Any, invoke: Any, make_task_dir: Any, tmp_path: Path, write: Any
) -> None:
    file = write(f"agents: [{{name: nop}}]\npath: {tmp_path / 'missing'}\n")
    assert invoke("run", make_task_dir(), "-c", file, NO_WATCH).exit_code == 0
    refused = invoke("run", "-c", file)
    assert (refused.exit_code, "missing does not exist" in refused.output) == (2, True)


def test_one_run_shows_all_agents_and_what_became_of_each(
    server: Any, invoke: Any, make_task_dir: Any, write: Any
) -> None:
    ends = {
        "oracle": {"status": "success", "reward": 1.0},
        "nop": {"status": "success", "reward": 0.0},
        "my:Failing": {"status": "success", "reward": 0.0},
        "my:Crashing": {"status": "failed", "error_message": "LookupError: nothing here"},
    }
    server.tick = lambda fake: [trial.update(ends[trial["agent"]]) for trial in fake.trials()]
    result = invoke("run", make_task_dir(), "-c", write(FOUR))
    assert result.exit_code == 1, result.output
    assert "4 trials queued." in result.output
    rows = {line.split()[1]: line.split()[3:8] for line in result.output.splitlines() if line.startswith("greet ")}
    assert rows == {
        "oracle": ["1", "1", "1", "1/1", "–"],
        "nop": ["1", "0", "0", "0/1", "–"],
        "my:Failing": ["1", "0", "0", "0/1", "–"],
        "my:Crashing": ["1", "–", "–", "–", "1"],
    }
    assert "LookupError: nothing here" in result.output


def test_a_gate_adds_the_baselines_that_a_file_does_not_name(
    server: Any, invoke: Any, make_task_dir: Any, write: Any
) -> None:
    file = write("agents: [{name: oracle, n_trials: 2}, {name: 'my:Agent'}]\nbaseline_gate: true\n")
    assert invoke("run", make_task_dir(), "-c", file, NO_WATCH).exit_code == 0
    body = sent(server)
    assert body["gate_baselines"] is True
    assert [(config["agent"], config["n_trials"]) for config in body["configs"]] == [
        ("nop", 1),
        ("oracle", 2),
        ("my:Agent", 1),
    ]
    assert "gate_baselines" not in (
        invoke("run", make_task_dir(), "-c", file, "--no-baseline-gate", NO_WATCH) and sent(server)
    )


def test_what_several_agents_and_the_file_name_is_handed_over_once_agreed(
    server: Any, invoke: Any, make_task_dir: Any, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.deployment = "local"
    shell = {"ACME_API_KEY": "sk-of-the-agent", "OWN": "sk-of-the-file", "JUDGE": "sk-of-the-verifier"}
    for name, value in {**shell, "OTHER_KEY": "sk-nobody-names-this"}.items():
        monkeypatch.setenv(name, value)
    file = write(
        "agents: [{name: nop}, {name: claude-code, model_name: acme/m}, {name: codex, model_name: acme/m, "
        "env: {TOKEN: '${OWN}'}}]\nharbor: {verifier: {env: {KEY: '${JUDGE}'}}}\n"
    )
    task = make_task_dir()
    refused = invoke("run", task, "-c", file, NO_WATCH)
    assert (refused.exit_code, server.bodies("POST", "/tasks/upload/init")) == (1, [])
    assert invoke("run", task, "-c", file, NO_WATCH, "--yes").exit_code == 0
    assert sent(server)["credentials"] == shell
    assert "sk-" not in refused.output


def test_a_job_of_harbor_is_a_file_too(server: Any, invoke: Any, make_task_dir: Any, write: Any) -> None:
    job = {
        "job_name": "from-harbor",
        "n_attempts": 2,
        "n_concurrent_trials": 16,
        "environment": {"type": "docker"},
        "agents": [{"name": "nop"}, {"name": "codex", "model_name": "acme/m"}],
        "datasets": [{"path": str(make_task_dir("one").parent), "task_names": ["one"]}],
        "tasks": [{"path": str(make_task_dir("two"))}],
    }
    result = invoke("run", "-c", write(json.dumps(job), "job.json"), NO_WATCH)
    assert result.exit_code == 0, result.output
    assert "The file is a job of Harbor; not used of it: n_concurrent_trials." in result.stderr
    assert [body["task_id"][:3] for body in server.bodies("POST", "/tasks/sweep")] == ["one", "two"]
    body = sent(server)
    assert body["experiment_id"] == "from-harbor"
    assert [(entry["agent"], entry["n_trials"], entry["environment"]) for entry in body["configs"]] == [
        ("nop", 2, "docker"),
        ("codex", 2, "docker"),
    ]


@pytest.mark.parametrize(
    ("content", "flags", "named"),
    [
        ("agents: [{name: nop, trials: 3}]", (), "line 1: agents[0].trials is not known."),
        ("verifier: {disable: true}\nn_trials: 1", (), "It belongs to harbor.verifier."),
        ("agents: [{name: a}, {name: b}, {name: nop}]", ("-m", "acme/m"), "-m acme/m is the model of one agent"),
        ("n_trials: 10000\nagents: [{name: a}, {name: nop}]", (), "20000 trials of each task are more than 10000."),
        ("agents: [{name: a}]\nbaseline_gate: true\nharbor: {verifier: {disable: true}}", (), "judges rewards"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused_before_anything_is_sent(
    server: Any, invoke: Any, make_task_dir: Any, write: Any, content: str, flags: tuple[str, ...], named: str
) -> None:
    result = invoke("run", make_task_dir(), "-c", write(content), *flags, "--json")
    assert (result.exit_code, server.calls) == (2, [])
    document = json.loads(result.stdout)
    assert (document["code"], named in document["error"]) == ("usage", True), document


def test_a_file_without_tasks_says_where_they_are_named(server: Any, invoke: Any, write: Any) -> None:
    result = invoke("run", "-c", write("agents: [{name: nop}]"))
    assert (result.exit_code, server.calls) == (2, [])
    assert "No task is named: give PATH, or `path`, `task` or `dataset` in the file." in result.output


def test_trials_are_added_to_a_task_that_the_server_has(server: Any, invoke: Any, write: Any) -> None:
    server.tick = lambda fake: [trial.update(status="success", reward=1.0) for trial in fake.trials()]
    result = invoke("run", "--task", "there-0a1b2c3d", "-a", "oracle", "-E", "more", "--n-trials", "2")
    assert result.exit_code == 0, result.output
    assert "Experiment more: adding trials to there-0a1b2c3d at " in result.output
    assert sent(server) == {
        "task_id": "there-0a1b2c3d",
        "configs": [{"agent": "oracle", "model": None, "n_trials": 2}],
        "priority": "low",
        "experiment_id": "more",
        "append_to_task": True,
    }
    assert [path for method, path, _, _ in server.calls if method == "POST"] == ["/tasks/sweep"]
    assert invoke("run", "-c", write("task: other-0a1b2c3d\nagents: [{name: nop}]"), NO_WATCH).exit_code == 0
    assert (sent(server)["task_id"], sent(server)["append_to_task"]) == ("other-0a1b2c3d", True)


def test_what_a_task_on_the_server_names_is_handed_over_once_agreed(
    server: Any, invoke: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = '[verifier.env]\nJUDGE = "${JUDGE}"\n[solution.env]\nSOLVER = "${SOLVER}"\n'
    shown = {"content": config, "encoding": "utf-8"}
    server.refusals["GET", "/tasks/there-0a1b2c3d/files/task.toml"] = (200, shown)
    server.deployment = "local"
    monkeypatch.setenv("JUDGE", "sk-of-the-judge")
    monkeypatch.setenv("SOLVER", "sk-of-the-oracle")
    more = ("run", "--task", "there-0a1b2c3d", "-a", "nop", NO_WATCH)
    assert "JUDGE would be sent to" in invoke(*more).output
    assert invoke(*more, "--yes").exit_code == 0
    assert sent(server)["credentials"] == {"JUDGE": "sk-of-the-judge"}
    shown["content"] = "[["
    assert invoke(*more).exit_code == 0
    assert "credentials" not in sent(server)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("{task}", "--task", "a-0a1b2c3d"), "is to be sent and --task a-0a1b2c3d is on the server: give one of them."),
        (("-p", "{task}", "--task", "a-0a1b2c3d"), "give one of them."),
        (("--task", "a-0a1b2c3d", "-t", "x*", "-l", "2"), "-t and -l would choose among the tasks of a directory"),
        (("--task", "a-0a1b2c3d", "-x", "y"), "-x would choose among"),
        (("--task", " "), "--task is empty"),
        (
            ("a-0a1b2c3d",),
            "a-0a1b2c3d does not exist. If it is the id of a task that the server has: --task a-0a1b2c3d",
        ),
        (("-c", "missing.yaml", "{task}"), "missing.yaml"),
    ],
)
def test_two_sources_and_filters_of_one_task_are_refused_by_name(
    server: Any, invoke: Any, make_task_dir: Any, arguments: tuple[str, ...], named: str
) -> None:
    task = make_task_dir()
    result = invoke("run", *(argument.format(task=task) for argument in arguments), "-a", "nop")
    assert (result.exit_code, server.calls) == (2, [])
    assert named in result.output


def test_a_task_of_the_command_line_takes_the_place_of_what_a_file_would_send(
    server: Any, invoke: Any, write: Any
) -> None:
    file = write("path: missing\ntask_names: ['a*']\nagents: [{name: nop}]\n")
    assert invoke("run", "-c", file, "--task", "there-0a1b2c3d", NO_WATCH).exit_code == 0
    assert sent(server)["task_id"] == "there-0a1b2c3d"
