from pathlib import Path

import pytest
from click.testing import CliRunner

from oddish.cli import cli


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_an_empty_directory_name_is_not_the_current_directory(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, [command, ""])
    assert result.exit_code == 2
    assert "DIRECTORY" in result.output
    assert list(tmp_path.iterdir()) == []
