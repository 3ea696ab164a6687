import click
import pytest
from click.testing import CliRunner

from oddish.cli.output import confirmed, notice
from oddish.errors import InvalidInput


@click.command()
@click.option("--quiet", is_flag=True)
def command(quiet: bool) -> None:
    notice("Starting ...")


@pytest.mark.parametrize(("arguments", "said"), [([], "Starting ...\n"), (["--quiet"], "")])
def test_notices_are_not_said_under_quiet(arguments: list[str], said: str) -> None:
    result = CliRunner().invoke(command, arguments)
    assert (result.stdout, result.stderr) == ("", said)


def test_notices_outside_of_any_command(capsys: pytest.CaptureFixture[str]) -> None:
    notice("Starting ...")
    assert capsys.readouterr().err == "Starting ...\n"


def test_a_question_that_nobody_answers_ends_its_line() -> None:
    @click.command()
    def asking() -> None:
        with pytest.raises(InvalidInput, match="so nothing was done"):
            confirmed("Do it?", "nothing was done", "--yes")

    result = CliRunner().invoke(asking, input="")
    assert result.exit_code == 0
    assert result.stderr.splitlines(keepends=True)[0] == "Do it? [y/N]: \n"
