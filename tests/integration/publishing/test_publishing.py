"""``oddish export --to hf://…`` against a Hub that speaks the real wire format, through the real client."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from oddish.cli import cli
from oddish.publishing.bucket import PLAIN_HTTP
from oddish.viewer.checking import check
from support.command_line import Cli
from support.harbor_jobs import JOBS
from support.hub import READER, Hub, Stored, hub
from support.results import SUMMARY

BUCKET = "team/results"
JOB = JOBS / "14a-terminus2-solved"
DATASET = "projects/bench/datasets/eval"


@pytest.fixture(scope="module")
def served() -> Iterator[Hub]:
    with hub() as found:
        yield found


@pytest.fixture
def files(served: Hub) -> dict[str, Stored]:
    """Those of the bucket, which is empty."""
    served.buckets = {BUCKET: {}}
    served.batches = []
    served.refused = set()
    return served.buckets[BUCKET]


@pytest.fixture(autouse=True)
def environment(served: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in (served.environment() | {"HF_HOME": str(tmp_path / "hf"), PLAIN_HTTP: "1"}).items():
        monkeypatch.setenv(name, value)


def run(source: Path, to: str) -> tuple[int, Any]:
    words = ["export", str(source), "--to", to, "--project", "bench", "--dataset", "eval", "--json"]
    result = CliRunner().invoke(cli, words)
    return result.exit_code, json.loads(result.stdout)


def export(source: Path = JOB, to: str = f"hf://buckets/{BUCKET}") -> Any:
    code, document = run(source, to)
    assert code == 0, document
    return document


def refused(to: str = f"hf://buckets/{BUCKET}") -> Any:
    code, document = run(JOB, to)
    assert code == 1, document
    return document


def test_a_bucket_holds_what_was_made_here_and_the_check_has_nothing_to_say(
    files: dict[str, Stored], served: Hub, tmp_path: Path
) -> None:
    done = export()
    assert (done["bucket"], done["files_uploaded"]) == (f"hf://buckets/{BUCKET}", len(files))
    mine = tmp_path / ".oddish" / "hf" / BUCKET
    assert {path: stored.content for path, stored in files.items()} == {
        path.relative_to(mine).as_posix(): path.read_bytes() for path in mine.rglob("*.json")
    }
    assert check(mine).findings == ()
    order = [str(operation["path"]) for batch in served.batches for operation in batch]
    assert order[-1] == f"{DATASET}/summary.json"
    assert served.batches[-1][0]["path"] == order[-1]

    sent = served.uploaded_bytes
    assert (again := export())["files_uploaded"] == again["files_written"] == 0
    assert served.uploaded_bytes == sent

    job = Path(shutil.copytree(JOB, tmp_path / JOB.name))
    shutil.rmtree(next(result.parent for result in job.glob("*/result.json")))
    fewer = export(job)
    assert (fewer["attempts"], fewer["files_deleted"]) == (done["attempts"] - 1, 1)
    assert len(files) == done["files_uploaded"] - 1


def test_another_machine_goes_on_and_the_projects_own_words_stay(files: dict[str, Stored], tmp_path: Path) -> None:
    words = json.dumps({"project_id": "bench", "label": "Our bench"}).encode()
    files["deep/er/projects/bench/project.json"] = Stored(words, 1_700_000_000_123)
    files["deep/other.txt"] = Stored(b"x", 1_700_000_000_123)
    export(to=f"hf://buckets/{BUCKET}/deep/er/")
    shutil.rmtree(tmp_path / ".oddish")
    done = export(to=f"hf://buckets/{BUCKET}/deep/er")
    assert done["files_deleted"] == 0
    assert files["deep/er/projects/bench/project.json"].content == words
    assert files["deep/other.txt"].content == b"x"


def test_a_dataset_that_something_else_wrote_stays(files: dict[str, Stored]) -> None:
    theirs = json.dumps(SUMMARY).encode()
    files[f"{DATASET}/summary.json"] = Stored(theirs, 1_700_000_000_000)
    assert refused()["code"] == "conflict"
    assert {path: stored.content for path, stored in files.items()} == {f"{DATASET}/summary.json": theirs}


def test_what_the_bucket_refuses_is_named_and_the_summary_waits(files: dict[str, Stored], served: Hub) -> None:
    served.refused = {f"{DATASET}/traces/{next(JOB.glob('*/result.json')).parent.name}.json"}
    document = refused()
    assert document["code"] == "unavailable"
    assert "quota exceeded" in document["error"]
    assert f"{DATASET}/summary.json" not in files


@pytest.mark.parametrize(
    ("variables", "to", "code", "fix"),
    [
        ({"HF_TOKEN": ""}, BUCKET, "unauthenticated", "set HF_TOKEN"),
        ({"HF_TOKEN": "hf_nobody"}, BUCKET, "unauthenticated", "settings/tokens"),
        ({"HF_TOKEN": READER}, BUCKET, "forbidden", "write access"),
        ({}, "team/other", "not_found", "hf buckets create team/other"),
    ],
)
def test_a_refusal_names_its_fix(
    files: dict[str, Stored], variables: dict[str, str], to: str, code: str, fix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    document = refused(f"hf://buckets/{to}")
    assert document["code"] == code
    assert fix in document["fix"]
    assert not files


def test_without_the_extra_the_fix_is_to_install_it(tmp_path: Path, served: Hub) -> None:
    hidden = tmp_path / "hidden" / "huggingface_hub"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").write_text("raise ImportError")
    program = Cli(tmp_path / "home")
    program.environ |= served.environment() | {"PYTHONPATH": str(hidden.parent)}
    words = ["--to", f"hf://buckets/{BUCKET}", "--project", "bench", "--dataset", "eval", "--json"]
    code, output = program.answer("export", JOB, *words)
    document = json.loads(output)
    assert (code, document["code"]) == (1, "missing_extra")
    assert document["fix"] == "Install it with `pip install 'oddish[hf]'`."
