"""What ``run`` says of tasks before it sends them."""

from typing import Any

TYPO = 'schema_version = "1.4"\n[agent]\ntimeout_secs = 60.0\n'


def test_a_run_warns_of_keys_that_nothing_reads(server: Any, invoke: Any, make_task_dir: Any) -> None:
    task = make_task_dir(**{"task.toml": TYPO})
    result = invoke("run", task, "-a", "nop", "-b")
    assert result.exit_code == 0, result.output
    warning = "Warning: Task greet: task.toml: nothing reads agent.timeout_secs. Write agent.timeout_sec.\n"
    assert warning in result.stderr
    assert "Warning" not in result.stdout
    assert "Warning" not in invoke("run", task, "-a", "nop", "-b", "--quiet").output


def test_tasks_with_the_same_flaw_share_a_line(server: Any, invoke: Any, make_task_dir: Any, tmp_path: Any) -> None:
    for index in range(5):
        make_task_dir(f"t{index}", tmp_path / "all", **{"task.toml": TYPO})
    result = invoke("run", tmp_path / "all", "-a", "nop", "-b")
    assert "Warning: 5 tasks (t0, t1, t2 and 2 more): task.toml: nothing reads" in result.stderr
    assert result.stderr.count("Warning") == 1


def test_many_flaws_are_cut_with_the_command_that_shows_them(
    server: Any, invoke: Any, make_task_dir: Any, tmp_path: Any
) -> None:
    for index in range(13):
        make_task_dir(f"t{index}", tmp_path / "all", **{"task.toml": f"{TYPO}[nonsense{index}]\n"})
    result = invoke("run", tmp_path / "all", "-a", "nop", "-b")
    assert result.stderr.count("Warning") == 10
    assert f"and 4 warnings more; all of them: oddish check --skip-trials {tmp_path / 'all'}" in result.stderr


def test_a_task_that_cannot_start_is_not_sent(server: Any, invoke: Any, make_task_dir: Any) -> None:
    task = make_task_dir(**{"environment/Dockerfile": None, "environment/README.md": ""})
    result = invoke("run", task, "-a", "nop", "-b")
    assert result.exit_code == 1
    assert "Task greet: environment/ has neither a Dockerfile" in result.output
    assert [path for _, path, _, _ in server.calls if "upload" in path] == []
