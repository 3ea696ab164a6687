"""Recorded Harbor jobs become a dataset that the check has nothing to say of, and go on from there."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from oddish.cli import cli
from oddish.errors import Conflict
from oddish.pull.folder import Folder
from oddish.viewer import atif, exporting, tracefiles, writing
from oddish.viewer.attempts import TrialDirectory
from oddish.viewer.checking import check
from oddish.viewer.exporting import Exported, export
from oddish.viewer.policies import RULES
from oddish.viewer.results import Results
from oddish.viewer.summaries import Summary
from oddish.viewer.taskfiles import TaskFiles
from oddish.viewer.traces import Trace
from oddish.viewer.trials import read_result
from support.harbor_jobs import JOBS, TRIALS
from support.results import SUMMARY, write

TERMINUS = JOBS / "14a-terminus2-solved"
type Export = Callable[..., Exported]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "results"


@pytest.fixture
def exported(root: Path) -> Export:
    def run(*directories: Path, task: str | None = None) -> Exported:
        trials = [
            TrialDirectory(directory.parent.name, directory, TaskFiles(task or directory.name.partition("__")[0]))
            for directory in directories
        ]
        with Folder(root) as folder:
            return export(trials, folder, "p", "d")

    return run


def finished(job: Path) -> list[Path]:
    return sorted(result.parent for result in job.glob("*/result.json"))


def summary_in(root: Path) -> Summary:
    found = Results(root).summary("p", "d").value
    assert found is not None
    return found


def traces_in(root: Path) -> list[Trace]:
    results = Results(root)
    named = [attempt.trace for cell in summary_in(root).cells for attempt in cell.attempts if attempt.trace]
    return [trace for path in named if (trace := results.trace("p", "d", path).value) is not None]


def result(**members: Any) -> dict[str, Any]:
    return {"agent_info": {"name": "a"}, "verifier_result": {"rewards": {"reward": 1.0}}} | members


def trial(root: Path, name: str, document: object) -> Path:
    return write(root, f"job/{name}/result.json", document).parent


def test_every_recorded_trial_is_an_attempt_with_the_reward_that_was_recorded(root: Path, exported: Export) -> None:
    recorded = [trial for trial in TRIALS if trial.has_result]
    done = exported(*(trial.directory for trial in recorded))
    assert done.flawed == ()
    assert summary_in(root).tasks == done.summary.tasks
    assert check(root).findings == ()
    traces = {trace.extra["trial"]: trace for trace in traces_in(root)}
    assert {name: trace.reward for name, trace in traces.items()} == {trial.name: trial.reward for trial in recorded}
    assert {name: trace.n_turns for name, trace in traces.items()} == {
        trial.name: trial.steps.get("agent", 0) if trial.steps else None for trial in recorded
    }


def test_what_was_not_verified_is_unmeasured_and_what_timed_out_is_not(root: Path, exported: Export) -> None:
    exported(*finished(JOBS / "06-agent-timeout"), *finished(JOBS / "07-no-reward-file"))
    found = {task.id: task.cells[0] for task in summary_in(root).tasks}
    assert {name: cell.attempts[0].reward for name, cell in found.items()} == {
        "timeout-after-work": 1.0,
        "timeout-before-work": 0.0,
        "verifier-no-reward": None,
    }
    assert {(cell.model, cell.harness) for cell in found.values()} == {("none", "oracle")}


def test_attempts_are_numbered_by_when_they_began(root: Path, exported: Export) -> None:
    exported(*finished(TERMINUS))
    (task,) = summary_in(root).tasks
    assert [(cell.model, cell.harness, len(cell.attempts)) for cell in task.cells] == [
        ("openai/scripted-a", "terminus-2", 2),
        ("openai/scripted-b", "terminus-2", 2),
    ]
    times = {
        directory.name: json.loads((directory / "result.json").read_text())["started_at"]
        for directory in finished(TERMINUS)
    }
    for cell in task.cells:
        began = [times[Path(attempt.trace or "").stem] for attempt in cell.attempts]
        assert began == sorted(began)


def test_traces_pair_calls_with_what_they_returned(root: Path, exported: Export) -> None:
    exported(*finished(TERMINUS))
    for trace in traces_in(root):
        calls = [call.id for message in trace.messages for call in message.tool_calls]
        returned = [message.tool_call_id for message in trace.messages if message.tool_call_id]
        assert trace.messages[0].role == "user"
        assert trace.n_turns == 5
        assert calls
        assert set(returned) <= set(calls)


def test_what_is_for_training_stays_behind() -> None:
    step = {
        "source": "agent",
        "message": "m",
        "reasoning_content": "r",
        "metrics": {"completion_token_ids": [1], "logprobs": [-0.1]},
        "tool_calls": [{"tool_call_id": "c", "function_name": "bash", "arguments": {"cmd": "ls"}}],
        "observation": {"results": [{"source_call_id": "c", "content": "out"}, {"content": None}]},
    }
    said, returned, nothing = atif.messages({"steps": [step, 7]})
    assert (said.role, said.extra, said.tool_calls[0].name) == ("assistant", {"reasoning_content": "r"}, "bash")
    assert (returned.role, returned.text, returned.tool_call_id) == ("tool", "out", "c")
    assert nothing.text == ""
    assert atif.turns({"steps": [step, step | {"is_copied_context": True}, {"source": "user"}]}) == 1
    assert atif.messages({"steps": "none"}) == []


def test_an_export_goes_on_where_the_last_one_was(tmp_path: Path, root: Path, exported: Export) -> None:
    job = Path(shutil.copytree(TERMINUS, tmp_path / "job"))
    first, *others = finished(job)
    assert exported(first, *others).files_written == len(others) + 3
    assert exported(first, *others).files_written == 0
    fewer = exported(*others)
    assert fewer.files_removed == 1
    assert len(traces_in(root)) == len(others)
    assert check(root).findings == ()


def test_what_others_put_beside_the_traces_stays(root: Path, exported: Export) -> None:
    own = root / "projects/p/datasets/d/traces/own.json"
    own.parent.mkdir(parents=True)
    own.write_text("{}")
    assert exported(*finished(TERMINUS)).files_removed == 0
    assert exported(finished(TERMINUS)[0]).files_removed == len(finished(TERMINUS)) - 1
    assert own.read_text() == "{}"


def test_a_dataset_that_somebody_else_made_stays(root: Path, exported: Export) -> None:
    for document in (SUMMARY, "{cut"):
        file = write(root, "projects/p/datasets/d/summary.json", document)
        before = file.read_text()
        with pytest.raises(Conflict):
            exported(*finished(TERMINUS))
        assert file.read_text() == before
    assert [path.name for path in root.rglob("*.json")] == ["summary.json"]


def test_a_project_that_is_there_stays_as_it_is(root: Path, exported: Export) -> None:
    file = write(root, "projects/p/project.json", {"project_id": "p", "label": "Mine"})
    exported(*finished(TERMINUS))
    assert json.loads(file.read_text())["label"] == "Mine"


def test_trials_of_one_name_or_of_one_that_is_no_id_have_traces_of_their_own(
    tmp_path: Path, root: Path, exported: Export
) -> None:
    exported(
        trial(tmp_path / "one", "same", result()),
        trial(tmp_path / "two", "same", result()),
        trial(tmp_path, "back\\slash", result()),
        trial(tmp_path, "n" * 255, result()),
        task="t",
    )
    assert len(traces_in(root)) == 4


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"agent_info": 7, "config": [], "verifier_result": "x", "step_results": [1], "exception_info": []},
        result(agent_info={"name": "a|b", "model_info": {"name": "\ud800"}}),
        result(verifier_result={"rewards": {"reward": float("nan"), "other": "1"}}),
        result(agent_execution={"started_at": "2026-01-02", "finished_at": "2026-01-01"}),
    ],
)
def test_whatever_a_record_holds_an_attempt_comes_of_it(
    tmp_path: Path, root: Path, exported: Export, document: dict[str, Any]
) -> None:
    exported(trial(tmp_path, "t", document))
    assert check(root).findings == ()
    assert len(traces_in(root)) == 1


def test_a_record_says_what_was_rewarded_raised_and_how_long_it_took() -> None:
    found = read_result(
        {
            "config": {"agent": {"model_name": "openai/gpt"}},
            "agent_info": {"name": "codex", "model_info": {"name": "gpt"}},
            "verifier_result": {"rewards": {"reward": 0.4, "style": 1}},
            "step_results": [
                {
                    "step_name": "build",
                    "agent_execution": {"started_at": "2026-01-01T00:00:00Z", "finished_at": "2026-01-01T00:00:02.5Z"},
                    "exception_info": {"exception_type": "AgentTimeoutError", "exception_message": "late"},
                }
            ],
        }
    )
    assert (found.model, found.harness, found.reward, found.elapsed_sec, found.steps) == (
        "openai/gpt",
        "codex",
        0.4,
        2.5,
        ("build",),
    )
    assert found.extra == {
        "rewards": {"reward": 0.4, "style": 1},
        "exceptions": [{"type": "AgentTimeoutError", "message": "late"}],
    }


def test_a_task_that_is_at_hand_says_what_it_asks(tmp_path: Path) -> None:
    settings = '[metadata]\ndifficulty = "hard"\ndifficulty_level = 3\nanswer = 0.5\nreward_mode = "numeric"\n'
    (tmp_path / "task.toml").write_text(settings)
    (tmp_path / "instruction.md").write_text("What is it?\n")
    found = TaskFiles("t", tmp_path).task()
    assert (found.question, found.answer, found.reward_mode) == ("What is it?", "0.5", "numeric")
    assert (found.difficulty, found.difficulty_level) == ("hard", 3)
    (tmp_path / "task.toml").write_text("[metadata\n")
    assert TaskFiles("t", tmp_path).task().difficulty is None


def test_the_question_of_a_task_with_steps_is_that_of_its_steps(tmp_path: Path) -> None:
    (tmp_path / "task.toml").write_text(
        '[[steps]]\nname = "build"\n[[steps]]\nname = "../out"\n[[steps]]\nname = "sum"\n'
    )
    for place in ("steps/build", "steps/sum", "out"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "instruction.md").write_text(f"In {place}.\n")
    assert TaskFiles("t", tmp_path).task().question == "In steps/build.\n\nIn steps/sum."


def test_the_command_exports_a_job_and_says_what_is_left_out(root: Path) -> None:
    words = [str(JOBS / "13-killed"), "--to", str(root), "--project", "p", "--dataset", "d"]
    result = CliRunner().invoke(cli, ["export", *words, "--json"])
    assert result.exit_code == 0
    document = json.loads(result.output)
    assert (document["tasks"], document["attempts"], document["files_written"]) == (1, 1, 3)
    (left,) = document["left_out"]
    assert left["trial"] == "13-killed/slow-count__pv9TXR5"
    assert "0 files written, 0 removed" in CliRunner().invoke(cli, ["export", *words]).output
    assert [path.name for path in root.iterdir()] == ["projects"]


def test_the_command_says_where_its_numbers_are_not_those_of_status(root: Path) -> None:
    words = ["--to", str(root), "--project", "p", "--dataset"]
    agreed = CliRunner().invoke(cli, ["export", str(TERMINUS), *words, "agreed"])
    assert "Numbers: as `oddish status` shows them, in 2 cells" in agreed.output
    differing = CliRunner().invoke(cli, ["export", str(JOBS / "15-agent-raises"), *words, "differing"])
    assert "Numbers: other than `oddish status` shows them in 1 of 1 cell" in differing.output
    (row,) = [line.split() for line in differing.output.splitlines() if line.startswith("hello-world ")]
    assert " ".join(row[3:]) == "0/0 passed, mean –, 1 error 0/1 passed, mean 0, 0 unmeasured errored"
    assert f"errored: {RULES['errored']}\n  hello-world__ygYm5mS (RuntimeError)" in differing.output
    both = CliRunner().invoke(cli, ["export", str(JOBS), *words, "both", "--json"])
    numbers = json.loads(both.stdout)["numbers"]
    assert (numbers["status_policy"], numbers["dataset_policy"]) == ("harbor", "measured")
    cells = [cell for cell in numbers["cells"] if cell["differences"]]
    assert numbers["differing_cells"] == len(cells) == 4
    assert numbers["rules"].keys() == {entry["rule"] for cell in cells for entry in cell["differences"]}
    assert all(cell["status"] == cell["dataset"] for cell in numbers["cells"] if cell not in cells)


def conversation(*messages: str) -> dict[str, Any]:
    return {"schema_version": "ATIF-v1.6", "steps": [{"source": "user", "message": text} for text in messages]}


@pytest.mark.parametrize(
    ("trajectory", "said"),
    [
        (conversation("short", "x" * 2000), "on the page of its trace messages[1] has "),
        ("{cut", "agent/trajectory.json is malformed, so its messages are not in the trace"),
        (conversation(*["x" * 900] * 9), "its trace is left out: projects/p/datasets/d/traces/t.json has "),
    ],
    ids=["message", "broken", "trace"],
)
def test_what_of_a_conversation_cannot_be_looked_at_is_said(
    tmp_path: Path, root: Path, exported: Export, monkeypatch: pytest.MonkeyPatch, trajectory: object, said: str
) -> None:
    monkeypatch.setattr(tracefiles, "MESSAGE_LIMIT", 1000)
    monkeypatch.setattr(exporting, "HEAD_LIMIT", 1000)
    monkeypatch.setattr(writing, "TRACE_LIMIT", 8000)
    directory = trial(tmp_path, "t", result())
    write(tmp_path, "job/t/agent/trajectory.json", trajectory)
    ((name, reason),) = exported(directory).flawed
    assert name == "t"
    assert reason.startswith(said)
    (attempt,) = next(summary_in(root).cells).attempts
    assert (attempt.trace is None) == reason.startswith("its trace is left out")
    assert exported(directory).flawed == ((name, reason),)


def test_tasks_are_no_trials(tmp_path: Path) -> None:
    write(tmp_path, "task/task.toml", "")
    words = ["--to", str(tmp_path / "out"), "--project", "p", "--dataset", "d"]
    assert CliRunner().invoke(cli, ["export", str(tmp_path / "task"), *words]).exit_code == 2
