"""``--max-cost``: an amount of money."""

import click
import pytest
from click.testing import CliRunner

from oddish.cli.costlimit import max_cost_option
from oddish.cli.sweep.shapes import POSITIVE


@click.command()
@max_cost_option
def command(max_cost: float) -> None:
    click.echo(max_cost)


@pytest.mark.parametrize("amount", ["nan", "-nan", "inf", "1e999", "0", "-1", "ten"])
def test_what_is_no_amount_is_refused(amount: str) -> None:
    result = CliRunner().invoke(command, [f"--max-cost={amount}"])
    assert (result.exit_code, "--max-cost" in result.stderr) == (2, True)


def test_an_amount_is_taken() -> None:
    assert CliRunner().invoke(command, ["--max-cost", "0.5"]).stdout == "0.5\n"


@pytest.mark.parametrize("amount", [float("nan"), float("inf"), 0, -1, True, "1"])
def test_a_file_has_no_endless_amount_either(amount: object) -> None:
    assert not POSITIVE.fits(amount)
