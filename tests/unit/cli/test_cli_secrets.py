"""What ``oddish secrets set`` makes of a value where no value belongs. No server is needed: none is asked."""

import pytest
from click.testing import CliRunner

from oddish.cli import cli

VALUE = "sk-ant-0123456789abcdef"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["ACME_API_KEY", VALUE], 2),
        (["ACME_API_KEY", f"--{VALUE}"], 2),
        (["ACME_API_KEY", VALUE, "--json"], 2),
        ([f"ACME_API_KEY={VALUE}"], 1),
        ([VALUE], 1),
    ],
)
def test_a_value_on_the_command_line_is_refused_and_not_repeated(arguments: list[str], code: int) -> None:
    result = CliRunner().invoke(cli, ["secrets", "set", *arguments], input="other")
    assert result.exit_code == code
    assert VALUE not in result.output
    assert "standard input" in " ".join(result.output.split()) or code == 1


@pytest.mark.parametrize("options", [[], ["--from-env"]])
def test_a_name_that_no_variable_has_is_refused_before_a_value_is_asked_for(options: list[str]) -> None:
    result = CliRunner().invoke(cli, ["secrets", "set", "bad name", *options], input="")
    assert result.exit_code == 1
    assert "letters, digits and underscores" in result.output
    assert "empty" not in result.output


def test_no_value_at_all_is_refused() -> None:
    result = CliRunner().invoke(cli, ["secrets", "set", "ACME_API_KEY"], input="")
    assert result.exit_code == 1
    assert "The value of 'ACME_API_KEY' is empty." in result.output
