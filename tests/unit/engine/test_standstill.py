"""A shell that only waits for the rest of a command is told from everything that looks like it."""

import pytest

from oddish.engine.agents.standstill import Standstill, last_line

HEREDOC = "root@host:/app# cat > greet.sh <<'EOF'\n> #!/bin/sh\n>   EOF\n>\n\n\n"


@pytest.mark.parametrize("line", [">", "> EOF", ">   EOF", "> )", "heredoc>", "cmdsubst heredoc> EOF", "dquote>"])
def test_continuation_prompts(line: str) -> None:
    assert Standstill.is_prompt(line)


@pytest.mark.parametrize(
    "line",
    ["", "root@host:/app#", "$", ">>>", "mysql>", "   ->", "...>", "> tsc -p .", "< old", "2>", "a > b", ">EOF", " >"],
)
def test_lines_that_are_none(line: str) -> None:
    assert not Standstill.is_prompt(line)


def test_the_last_line_is_above_what_is_blank() -> None:
    assert last_line(HEREDOC) == ">"
    assert last_line("\n \n") == ""


def episodes(*seen: tuple[str, int]) -> list[int]:
    standstill = Standstill()
    counts = []
    for screen, column in seen:
        standstill.see(screen, column)
        counts.append(standstill.episodes)
    return counts


def test_episodes_count_while_nothing_changes_at_a_prompt() -> None:
    assert episodes(*[(HEREDOC, 2)] * 4) == [0, 1, 2, 3]


def test_typing_on_begins_anew() -> None:
    typed = HEREDOC.rstrip() + "\n> EOF\n"
    assert episodes((HEREDOC, 2), (HEREDOC, 2), (typed, 5), (typed, 5)) == [0, 1, 0, 1]


def test_what_runs_below_a_line_like_a_prompt_may_be_silent_for_long() -> None:
    npm = "root@host:/app# npm test\n\n> greet@1.0.0\n> jest\n"
    assert episodes(*[(npm, 0)] * 9) == [0] * 9


def test_a_shell_that_waits_for_a_new_command_may_be_left_alone() -> None:
    assert episodes(*[("root@host:/app#\n", 16)] * 9) == [0] * 9
