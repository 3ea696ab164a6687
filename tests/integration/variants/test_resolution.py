"""Branches, tags and commits of real repositories."""

import subprocess
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from oddish.errors import Unavailable
from oddish.variants.reference import Reference
from oddish.variants.resolution import ANSWER_BYTES, UnknownReference, resolve

pytestmark = pytest.mark.anyio

type Git = Callable[..., str]
AUTHOR = ("-c", "user.name=t", "-c", "user.email=t@example.com")


@pytest.fixture
def git(tmp_path: Path) -> Git:
    directory = tmp_path / "harbor"

    def run(*arguments: str) -> str:
        done = subprocess.run(["git", *AUTHOR, "-C", directory, *arguments], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    directory.mkdir()
    run("init", "--quiet", "--initial-branch", "main")
    run("commit", "--quiet", "--allow-empty", "--message", "one")
    return run


async def test_a_branch_and_a_tag_are_fixed_to_their_commits(git: Git, tmp_path: Path) -> None:
    first = git("rev-parse", "HEAD")
    git("tag", "--annotate", "--message", "one", "v1")
    git("commit", "--quiet", "--allow-empty", "--message", "two")
    url = f"file://{tmp_path}/harbor"
    assert (await resolve(Reference.of(url, "main"))).sha == git("rev-parse", "HEAD")
    assert (await resolve(Reference.of(url, "v1"))).sha == first


async def test_an_endless_answer_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    endless = tmp_path / "git"
    endless.write_text("#!/bin/sh\nexec yes 0123456789\n")
    endless.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    tracemalloc.start()
    with pytest.raises(Unavailable, match="did not answer within"):
        await resolve(Reference("file:///nowhere", "main"), patience_seconds=1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16 * ANSWER_BYTES


async def test_a_branch_that_is_not_there_is_named(git: Git, tmp_path: Path) -> None:
    with pytest.raises(UnknownReference, match="'other'"):
        await resolve(Reference.of(f"file://{tmp_path}/harbor", "other"))


async def test_a_commit_and_a_release_are_asked_of_nobody() -> None:
    commit = Reference.of("https://nowhere.invalid/harbor", "a" * 40)
    assert await resolve(commit) == commit
    release = Reference.of("package", "0.25.0")
    assert await resolve(release) == release


async def test_a_repository_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="cannot be read"):
        await resolve(Reference.of(f"file://{tmp_path}/nothing", "main"))


async def test_a_repository_that_does_not_answer_is_not_waited_for(git: Git, tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="did not answer"):
        await resolve(Reference.of(f"file://{tmp_path}/harbor", "main"), patience_seconds=0)
