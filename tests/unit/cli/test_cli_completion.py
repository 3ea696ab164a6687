"""What the tab key brings, by the shells' own ways of asking."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from oddish.cli import cli

PROGRAM = Path(sys.executable).with_name("oddish")
ASK = """
source <(oddish completion bash) || exit 1
ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _oddish_completion oddish; echo "${COMPREPLY[*]}"; }
ask oddish c
ask oddish admin limits un
ask oddish run --agent-setup
ask oddish run my-task -P ''
ask oddish run my-task -e dock
complete -p oddish
"""


def completed(shell: str, words: str, place: str) -> list[str]:
    asked = {"_ODDISH_COMPLETE": f"{shell}_complete", "COMP_WORDS": words, "COMP_CWORD": place}
    return subprocess.run(
        [PROGRAM], env=os.environ | asked, check=True, capture_output=True, text=True
    ).stdout.splitlines()


def test_bash_completes_commands_options_and_known_values() -> None:
    environ = os.environ | {"PATH": f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}"}
    answer = subprocess.run(["bash", "--norc", "-c", ASK], env=environ, check=True, capture_output=True, text=True)
    assert answer.stderr == ""
    commands, limits, option, priorities, environments, registered = answer.stdout.splitlines()
    assert {"cancel", "check", "completion"} <= set(commands.split())
    assert limits == "unset"
    assert option == "--agent-setup-timeout-multiplier"
    assert priorities == "low high"
    assert environments == "docker"
    assert registered.endswith("-F _oddish_completion oddish")


def test_fish_and_zsh_get_descriptions_too() -> None:
    assert "plain,cancel\tStop trials that are queued or running." in completed("fish", "oddish can", "can")
    assert completed("zsh", "oddish can", "1") == ["plain", "cancel", "Stop trials that are queued or running."]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_of_the_shell(shell: str) -> None:
    script = CliRunner().invoke(cli, ["completion", shell], prog_name="oddish").stdout
    assert f"_ODDISH_COMPLETE={shell}_complete" in script
    if (program := shutil.which(shell)) is not None:
        subprocess.run([program, "-n"], input=script, check=True, text=True)


def test_another_shell_is_refused() -> None:
    assert CliRunner().invoke(cli, ["completion", "tcsh"]).exit_code == 2
