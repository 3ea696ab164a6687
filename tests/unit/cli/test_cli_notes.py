"""What ``status`` shows of how the environment of a trial differed from the container that its task was written for."""

from typing import cast

import pytest

from oddish.cli.details import Details
from oddish.cli.views import print_trial
from oddish.client.types import JSON, Trial


def trial(result: dict[str, JSON] | None) -> Trial:
    made = {
        "id": "a-00000000-0",
        "task_id": "a-00000000",
        "experiment_id": "00000000",
        "agent": "oracle",
        "model": None,
        "status": "success",
        "reward": 1.0,
        "attempts": 1,
        "max_attempts": 6,
        "started_at": None,
        "finished_at": None,
        "result": result,
    }
    return cast("Trial", made)


def test_each_note_has_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_trial(
        trial({"_environment": {"notes": ["the image debian is replaced", "two\nlines\x1b[31m", 7]}}), Details()
    )
    shown = capsys.readouterr().out.splitlines()
    heading = next(line for line in shown if "differs from" in line)
    after = shown[shown.index(heading) + 1 :]
    assert after[0] == "  the image debian is replaced"
    assert after[1].startswith("  two lines")
    assert "\x1b" not in after[1]
    assert len(after) == 2


@pytest.mark.parametrize(
    "result", [None, {}, {"_environment": {}}, {"_environment": 3}, {"_environment": {"notes": 1}}]
)
def test_without_notes_nothing_is_said(capsys: pytest.CaptureFixture[str], result: dict[str, JSON] | None) -> None:
    print_trial(trial(result), Details())
    assert "differs from" not in capsys.readouterr().out
