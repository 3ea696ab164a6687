import time
from pathlib import Path

import pytest

from oddish.doctor.kept import Measured, judge, judge_replaced, look, measure
from oddish.stack.layout import layout

MIB = 1024**2
HOME = Path("/home/me/oddish")
DATABASE, FILES = Measured(HOME / "postgres" / "18", 70 * MIB, 900), Measured(HOME / "store", 300 * MIB, 4000)


def test_it_says_how_large_database_and_files_are() -> None:
    found = judge([DATABASE], FILES, free=1024 * MIB, directory=HOME)
    assert found.level == "ok"
    assert found.found == "a database of 70.0 MiB, 4000 files of 300 MiB, in /home/me/oddish"


def test_what_takes_more_than_is_left_is_a_warning_with_the_way_out() -> None:
    found = judge([DATABASE], FILES, free=369 * MIB, directory=HOME)
    assert found.level == "warning"
    assert found.fix is not None
    assert "move /home/me/oddish to a larger disk" in found.fix


def test_a_database_that_was_replaced_is_named_with_its_size() -> None:
    found = judge_replaced([Measured(HOME / "postgres" / "15.backup1", 40 * MIB, 800)])
    assert found.found.startswith("/home/me/oddish/postgres/15.backup1 (40.0 MiB): kept")


def test_a_tree_is_measured_as_far_as_there_is_time(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "file").write_bytes(bytes(MIB))
    assert measure(tmp_path, time.monotonic() + 60) == Measured(tmp_path, MIB, 1)
    assert str(measure(tmp_path, 0.0)) == "more than 0 bytes"


def test_a_home_without_a_stack_keeps_nothing_yet(oddish_home: Path) -> None:
    assert [finding.found for finding in look()] == ["nothing yet"]


@pytest.mark.usefixtures("oddish_home")
def test_databases_set_aside_are_found_beside_the_present_one() -> None:
    for name in ("18", "18.backup1", "15.backup2", "18.backup1-of-mine"):
        (layout().postgres / name).mkdir(parents=True)
    kept, replaced = look()
    assert kept.level == "ok"
    assert "15.backup2" in replaced.found
    assert "18.backup1 (" in replaced.found
    assert "of-mine" not in replaced.found
