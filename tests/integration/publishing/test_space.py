"""The Space of ``deploy/space``: its card agrees with its Dockerfile, and what that starts is in the wheel."""

import json
import os
import shlex
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import httpx2
import pytest
import yaml

from oddish.sandbox.dockerfile import parse
from support.results import example

ROOT = Path(__file__).parents[3]
SPACE = ROOT / "deploy" / "space"
PORT = 7860


def instructions(name: str) -> list[str]:
    return [found.value for found in parse((SPACE / "Dockerfile").read_text()) if found.name == name]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is installed from it."""
    made = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", made],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (built,) = made.glob("oddish-*.whl")
    zipfile.ZipFile(built).extractall(made / "installed")
    return made / "installed"


def test_the_card_names_the_port_that_the_container_listens_on() -> None:
    _, card, words = (SPACE / "README.md").read_text().split("---\n")
    settings = yaml.safe_load(card)
    assert (settings["sdk"], settings["app_port"]) == ("docker", PORT)
    assert len(settings["short_description"]) <= 60
    assert words.strip()
    (command,) = map(json.loads, instructions("CMD"))
    assert instructions("EXPOSE") == [command[command.index("--port") + 1]] == [str(PORT)]
    assert instructions("USER") == ["1000"]


def test_the_container_shows_the_data_to_everybody_from_the_wheel_alone(wheel: Path, tmp_path: Path) -> None:
    (command,) = map(json.loads, instructions("CMD"))
    assert command.pop(0) == "oddish"
    command[command.index("--port") + 1] = "0"
    data = dict(shlex.split(value)[0].split("=") for value in instructions("ENV"))
    assert data == {"DATA_DIR": "/data"}
    environment = {"DATA_DIR": str(example(tmp_path)), "HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    program = f"import sys; sys.path.insert(0, {str(wheel)!r}); from oddish.cli import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", program, *command, "--json"],
        stdout=subprocess.PIPE,
        text=True,
        env=environment | {"PYTHONPATH": str(wheel)},
        cwd=tmp_path,
    ) as process:
        try:
            assert process.stdout is not None
            port = json.loads(process.stdout.readline())["url"].rpartition(":")[2]
            url = f"http://127.0.0.1:{port}"
            page = httpx2.get(f"{url}/projects/data-agent", headers={"Host": "team-viewer.example"})
            assert page.status_code == 200
            assert "Data-Agent Bench" in page.text
            for address in (part.split('"')[0] for part in page.text.split('="') if part.startswith("/assets/")):
                assert httpx2.get(f"{url}{address}").status_code == 200
            assert httpx2.post(f"{url}/projects/data-agent").status_code == 405
        finally:
            process.send_signal(signal.SIGINT)
