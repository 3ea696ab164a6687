"""Logs that no program wrote are in the form in which Harbor reads them."""

import json

from harbor.agents.installed.cursor_cli import Event

from support.agent_logs import KEPT


def test_every_line_of_the_log_of_cursor_is_one_that_harbor_reads() -> None:
    lines = (KEPT / "cursor-cli" / "basic" / "cursor-cli.txt").read_text().splitlines()
    assert {Event.validate_python(json.loads(line)).type for line in lines} == {
        "system", "user", "thinking", "assistant", "tool_call", "interaction_query", "result",
    }  # fmt: skip
