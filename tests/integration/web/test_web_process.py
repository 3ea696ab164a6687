"""``oddish view`` and ``oddish open`` as programs."""

import json
import subprocess
from pathlib import Path

import httpx2
import pytest

from support.results import example
from support.viewing import PROGRAM, viewing


def opened(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PROGRAM, "open", *words], capture_output=True, text=True, check=False)


def test_a_directory_is_shown_to_who_has_a_link_until_told_to_stop(tmp_path: Path, oddish_home: Path) -> None:
    directory = example(tmp_path / "results")
    with viewing(str(directory), "--port", "0") as said:
        [note] = (oddish_home / "run" / "views").iterdir()
        assert note.stat().st_mode & 0o077 == 0
        assert said["directory"] == str(directory)
        with httpx2.Client(base_url=said["url"]) as browser:
            assert browser.get("/").status_code == 401
            assert browser.get(said["link"]).status_code == 200
            assert "Data-Agent Bench" in browser.get("/").text
        answer = opened(str(directory), "--json")
        made = json.loads(answer.stdout)
        assert made["url"].startswith(f"{said['url']}/sign-in?code=")
        assert made["url"] != said["link"]
        with httpx2.Client() as another:
            assert another.get(made["url"]).status_code == 200
            assert another.get(said["url"]).status_code == 200
    assert not note.exists()
    gone = opened(str(directory), "--json")
    assert gone.returncode == 1
    assert json.loads(gone.stdout)["code"] == "not_shown"


def test_a_public_one_listens_where_others_reach_it_and_lets_them_in(tmp_path: Path) -> None:
    with viewing(str(example(tmp_path)), "--public", "--host", "0.0.0.0", "--port", "0") as said:  # noqa: S104
        port = said["url"].rpartition(":")[2]
        assert httpx2.get(f"http://127.0.0.1:{port}/", headers={"Host": "space.example"}).status_code == 200


@pytest.mark.parametrize("words", [("--host", "0.0.0.0"), ("--host", "192.0.2.1")])  # noqa: S104
def test_others_are_not_reached_by_accident(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = subprocess.run(
        [*PROGRAM, "view", str(tmp_path), *words, "--json"], capture_output=True, text=True, check=False, timeout=20
    )
    assert done.returncode == 1
    assert "--public" in json.loads(done.stdout)["fix"]
