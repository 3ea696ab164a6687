from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from oddish.cli.backup import backup, restore


@pytest.mark.parametrize("command", [backup, restore])
def test_an_empty_directory_name_is_not_the_current_directory(
    command: click.Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(command, [""])
    assert result.exit_code == 2
    assert "DIRECTORY" in result.output
    assert list(tmp_path.iterdir()) == []
