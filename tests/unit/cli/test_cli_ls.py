"""What ``oddish ls`` refuses before it asks a server."""

import json

import pytest
from click.testing import CliRunner

from oddish.cli import cli


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["slow", "query"], "Words are searched for with -q: oddish ls -q 'slow query'"),
        (["-q", "model:x"], "--query looks in model:"),
        (["-q", 'tag:"a b"'], "--query names 'a b', which is no tag"),
        (["--min-steps", "9", "--max-steps", "8"], "--min-steps is above --max-steps"),
        (["--min-steps", "many"], "--min-steps is 'many'. It is a whole number"),
        (["--tag", "wip,a b"], "--tag names 'a b', which is no tag"),
        (["--not-tag", "=1"], "--not-tag names '=1', which is no tag: it has no name"),
        (["--tag-any", "x" * 65], "which is no tag: its name is longer than 64 characters"),
        (["-m", "gpt*"], "--model names 'gpt*', which is no model"),
        (["-m", "openai/"], "--model names 'openai/', which is no model"),
        (["--agent-model", "codex"], "--agent-model names 'codex', which has no colon. Write AGENT:MODEL."),
        (["--limit", "0"], "0 is not in the range"),
    ],
)
def test_what_can_find_nothing_is_no_command_line(arguments: list[str], said: str) -> None:
    result = CliRunner().invoke(cli, ["ls", *arguments])
    assert (result.exit_code, said in result.output) == (2, True), result.output
    document = json.loads(CliRunner().invoke(cli, ["ls", "--json", *arguments]).stdout)
    assert (document["code"], said in document["error"]) == ("usage", True)
