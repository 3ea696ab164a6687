"""The examples of docs/python.md, run one after the other against a server."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from .serving import KEY, Server, TaskFolder

PAGE = Path(__file__).parents[3] / "docs" / "python.md"


def test_the_examples_do_what_the_page_says(
    server: Server,
    new_task: Callable[..., TaskFolder],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    server.offer()
    monkeypatch.chdir(new_task("my-task").path.parent)
    monkeypatch.setenv("ODDISH_API_URL", server.url)
    monkeypatch.setenv("ODDISH_API_KEY", KEY)
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), names)  # noqa: S102
        if "client.sweep" in block:
            run_all(server)
    printed = capsys.readouterr().out
    assert printed.startswith("healthy\n")
    assert len(re.findall(r"^my-task-\w{8}-\d success 1\.0 \[\]$", printed, re.MULTILINE)) == 2
    assert "=== agent/log.txt ===\nsaid\n" in printed
    assert "404 not_found " in printed


def run_all(server: Server) -> None:
    """As a worker does."""
    for (trial_id,) in server.sql("SELECT id FROM trials"):
        server.leave_files(str(trial_id), {"agent/log.txt": b"said\n"})
    server.sql("UPDATE jobs SET state = 'done', finished_at = now()")
    server.sql("UPDATE trials SET reward = 1")
