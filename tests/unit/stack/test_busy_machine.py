from pathlib import Path

import pytest

from oddish.errors import Unavailable
from oddish.stack import account, binaries


def write_slow_program(path: Path) -> None:
    path.write_text("#!/bin/sh\nexec /bin/sleep 20\n")
    path.chmod(0o700)


def test_an_account_that_cannot_be_tried_in_time_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_slow_program(tmp_path / "unshare")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(account, "PATIENCE", 0.1)
    with pytest.raises(Unavailable, match=r"unshare did not answer.*less busy"):
        account.in_namespace()


def test_programs_that_do_not_tell_their_version_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in binaries.PROGRAMS:
        write_slow_program(tmp_path / name)
    monkeypatch.setenv(binaries.SETTING, str(tmp_path))
    monkeypatch.setattr(binaries, "PATIENCE", 0.1)
    with pytest.raises(Unavailable, match=r"postgres did not tell its version.*less busy"):
        binaries.installed()
