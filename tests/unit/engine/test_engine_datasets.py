"""Datasets through Harbor's own registry code: what is fetched, and what a registry cannot make us do."""

import asyncio
import io
import json
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from oddish.engine import datasetcache
from oddish.engine.datasets import Refused, serve


class Registry:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.cache = root / "cache"
        self.file = root / "registry" / "registry.json"
        self.file.parent.mkdir()

    def ask(
        self, tasks: Sequence[Mapping[str, object]], *chosen: int, reference: str = "mine@1", **request: object
    ) -> list[dict[str, Any]]:
        """What is answered when the tasks at the places ``chosen`` are asked for."""
        self.file.write_text(
            json.dumps(
                [{"name": "mine", "version": version, "description": "", "tasks": list(tasks)} for version in "12"]
            )
        )
        asked = {
            "reference": reference,
            "cache": str(self.cache),
            "directory": str(self.root / "here"),
            "registry_path": str(self.file),
        }
        lines = io.StringIO(f"{json.dumps(asked | request)}\n{json.dumps({'chosen': chosen})}\n")
        answers: list[dict[str, Any]] = []
        asyncio.run(serve(lines, lambda answer: answers.append(dict(answer))))
        return answers

    def refusal(self, *tasks: Mapping[str, object], **request: Any) -> str:
        with pytest.raises((Refused, ValueError)) as caught:
            self.ask(tasks, 0, **request)
        return str(caught.value)


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    for name in ("GIT_ALLOW_PROTOCOL", "TMPDIR"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setattr("tempfile.tempdir", None)
    return Registry(tmp_path)


def repository(root: Path, **files: str) -> tuple[str, str]:
    """Address and commit."""
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)

    def git(*arguments: str) -> str:
        who = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
        done = subprocess.run(["git", *who, *arguments], cwd=root, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "tasks")
    return root.as_uri(), git("rev-parse", "HEAD")


def test_tasks_of_a_repository_are_fetched_once_for_each_commit(registry: Registry, tmp_path: Path) -> None:
    url, commit = repository(tmp_path / "origin", **{"tasks/one/task.toml": "1", "tasks/two/task.toml": "2"})
    tasks = [
        {"name": name, "path": f"tasks/{name}", "git_url": url, "git_commit_id": revision}
        for name, revision in (("one", commit), ("two", commit), ("two", None))
    ]
    found, fetched, *rest = registry.ask(tasks, 1, 2, 0)
    assert found == {"found": ["one", "two", "two"]}
    assert "fetched" in fetched
    two, again, one = map(Path, rest[-1]["paths"])
    assert [path.name for path in (two, again, one)] == ["two", "two", "one"]
    assert two == again, "what a branch stands for is the commit"
    assert (one / "task.toml").read_text() == "1"
    assert [entry for entry in registry.cache.iterdir() if entry.name.startswith(".")] == []
    (tmp_path / "origin").rename(tmp_path / "gone")
    assert registry.ask(tasks, 0, 1)[1:] == [{"paths": [str(one), str(two)]}]
    with pytest.raises(subprocess.CalledProcessError):
        registry.ask(tasks, 2)


def test_directories_are_looked_for_here_and_beside_the_registry_file(registry: Registry, tmp_path: Path) -> None:
    here, beside = tmp_path / "here" / "a", registry.file.parent / "deep" / "b"
    for directory in (here, beside):
        directory.mkdir(parents=True)
    answers = registry.ask([{"name": "a", "path": "a"}, {"name": "b", "path": "deep/b"}], 1, 0)
    assert answers == [{"found": ["a", "b"]}, {"paths": [str(beside), str(here)]}]
    refused = registry.refusal({"name": "c", "path": "missing"})
    assert str(tmp_path / "here" / "missing") in refused
    assert str(registry.file.parent / "missing") in refused


def test_a_dataset_that_is_not_there_is_answered_with_those_that_are(registry: Registry) -> None:
    task = {"name": "a", "path": "a"}
    assert registry.refusal(task, reference="mine@3") == "Version 3 of dataset mine not found. It has mine@1, mine@2."
    assert registry.refusal(task, reference="other") == "Dataset other not found. It has mine@1, mine@2."
    assert registry.refusal(reference="mine@1") == "It has no tasks."


@pytest.mark.parametrize(
    "task",
    [
        {"git_url": "--upload-pack=touch /tmp/x", "path": "a"},
        {"git_url": "https://example.com/r.git", "git_commit_id": "--upload-pack=x", "path": "a"},
        {"git_url": "https://example.com/r.git", "git_commit_id": "a b", "path": "a"},
        {"git_url": "https://example.com/r.git", "path": "."},
        {"git_url": "https://example.com/r.git", "path": "a\n/etc"},
        {"git_url": "https://example.com/r.git", "path": "tasks/.hidden"},
        {"git_url": "https://example.com/r.git", "path": "../outside"},
        {"git_url": "https://example.com/r.git", "path": "/etc"},
    ],
)
def test_a_registry_does_not_decide_how_git_is_called(registry: Registry, task: dict[str, object]) -> None:
    refused = registry.refusal({"name": "a", **task})
    assert "cannot be fetched" in refused or "Git task paths must" in refused
    assert not registry.cache.exists()


def test_a_registry_elsewhere_names_no_directory_of_this_machine(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from harbor.models.registry import Registry as HarborRegistry

    (tmp_path / "here" / "a").mkdir(parents=True)
    monkeypatch.setattr(HarborRegistry, "from_url", lambda url: HarborRegistry.from_path(registry.file))
    elsewhere: dict[str, object] = {"registry_path": None, "registry_url": "https://example.com/registry.json"}
    assert "as only a registry file may" in registry.refusal({"name": "a", "path": "a"}, **elsewhere)
    url, _ = repository(tmp_path / "origin", **{"a/task.toml": "1"})
    with pytest.raises(subprocess.CalledProcessError) as caught:
        registry.ask([{"name": "a", "path": "a", "git_url": url}], 0, **elsewhere)
    assert b"transport 'file' not allowed" in caught.value.stderr


def test_what_nobody_has_used_for_long_is_deleted(tmp_path: Path) -> None:
    def fetched() -> Path:
        directory = tmp_path / "fetched"
        directory.mkdir()
        return directory

    cache = datasetcache.DatasetCache(tmp_path / "cache")
    old, used = cache.add("old", fetched(), "a"), cache.add("used", fetched(), "b")
    assert cache.add("used", fetched(), "b") == used
    long_ago = time.time() - datasetcache.KEPT_SECONDS - 1
    for path in (old, used):
        os.utime(path.parent, (long_ago, long_ago))
    assert cache.find("used") == used
    cache = datasetcache.DatasetCache(tmp_path / "cache")
    assert (cache.find("old"), cache.find("used")) == (None, used)
