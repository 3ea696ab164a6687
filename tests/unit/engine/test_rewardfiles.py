"""A reward is a file of the trial."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from harbor.verifier import verifier as harbor_verifier
from harbor.verifier.verifier import RewardFileNotFoundError, Verifier

from oddish.engine.rewardfiles import follow_no_links


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    for method in ("_parse_reward_text", "_parse_reward_json"):
        monkeypatch.setattr(Verifier, method, vars(Verifier)[method])
    follow_no_links()
    made = Verifier.__new__(Verifier)
    made.trial_paths = SimpleNamespace(  # type: ignore[assignment]
        reward_text_path=tmp_path / "reward.txt", reward_json_path=tmp_path / "reward.json"
    )
    return made


def test_files_are_read_as_ever(reader: Any, tmp_path: Path) -> None:
    (tmp_path / "reward.txt").write_text("0.5\n")
    (tmp_path / "reward.json").write_text('{"a": 1}')
    assert reader._parse_reward_text() == {"reward": 0.5}
    assert reader._parse_reward_json() == {"a": 1}
    (tmp_path / "reward.txt").write_text("")
    with pytest.raises(harbor_verifier.RewardFileEmptyError):
        reader._parse_reward_text()


def test_a_link_to_a_file_of_the_machine_is_not_followed(reader: Any, tmp_path: Path) -> None:
    (tmp_path / "key").write_text('{"key": "of the machine"}')
    (tmp_path / "reward.txt").symlink_to(tmp_path / "key")
    (tmp_path / "reward.json").symlink_to(tmp_path / "key")
    for parse in (reader._parse_reward_text, reader._parse_reward_json):
        with pytest.raises(RewardFileNotFoundError) as caught:
            parse()
        assert "of the machine" not in str(caught.value)


def test_a_pipe_is_not_waited_for(reader: Any, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "reward.txt")
    with pytest.raises(RewardFileNotFoundError):
        reader._parse_reward_text()
