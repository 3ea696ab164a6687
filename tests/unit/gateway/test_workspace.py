"""What a verification finds in /workspace: the task's visible seed, and a fixture on top of it."""

import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from oddish.errors import TooLarge
from oddish.gateway.workspace import UnusableWorkspace, keep_workspace
from oddish.storage.store import ArtifactStore
from oddish.tasks.archive import ArchiveLimits
from oddish.worker.taskcache import TaskCache

pytestmark = pytest.mark.anyio

SCRIPT = "#!/bin/sh\n"
LIMITS = ArchiveLimits(max_extracted_bytes=100_000, max_entries=20)


class Workspaces:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.store = ArtifactStore.open(f"file://{directory}/store")
        (directory / "cache").mkdir()
        self._cache = TaskCache(directory / "cache", self.store, LIMITS)
        self._made = 0

    async def keep(self, seed: Mapping[str, str] | None, fixture: Mapping[str, str] | None = None) -> str:
        """Values are contents; those that begin with "->" the targets of links, and scripts may be executed."""
        self._made += 1
        scratch = self._directory / str(self._made)
        (scratch / "task/tests").mkdir(parents=True)
        (scratch / "task/tests/test.sh").write_text(SCRIPT)
        for name, content in (seed or {}).items():
            path = scratch / "task/visible_seed" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if content.startswith("->"):
                path.symlink_to(content[2:])
            else:
                path.write_text(content)
                path.chmod(0o755 if content == SCRIPT else 0o644)
        return await keep_workspace(self.store, "org", scratch / "task", self._zip(scratch, fixture), scratch, LIMITS)

    async def content(self, key: str) -> dict[str, str]:
        """As a worker unpacks it; a directory without content is "/"."""
        async with self._cache.workspace(key) as workspace:
            assert workspace is not None
            return {str(path.relative_to(workspace)): _shown(path) for path in workspace.rglob("*") if _shown(path)}

    def _zip(self, scratch: Path, fixture: Mapping[str, str] | None) -> Path | None:
        if fixture is None:
            return None
        with zipfile.ZipFile(scratch / "fixture.zip", "w") as packed:
            for name, content in fixture.items():
                info = zipfile.ZipInfo(name)
                kind = 0o120777 if content.startswith("->") else 0o100755 if content == SCRIPT else 0o100644
                info.external_attr = kind << 16
                packed.writestr(info, content.removeprefix("->"))
        return scratch / "fixture.zip"


def _shown(path: Path) -> str:
    if path.is_symlink():
        return f"->{path.readlink()}"
    if path.is_dir():
        return "" if any(path.iterdir()) else "/"
    return path.read_text()


@pytest.fixture
def workspaces(tmp_path: Path) -> Workspaces:
    return Workspaces(tmp_path)


@pytest.mark.parametrize(
    ("seed", "fixture", "workspace"),
    [
        (None, None, {}),
        ({"a": "1", ".hidden": "2"}, None, {"a": "1", ".hidden": "2"}),
        (None, {"x/y": "1", "empty/": ""}, {"x/y": "1", "empty": "/"}),
        ({"a": "1", "d/b": "2"}, {"a": "3", "d/c": "4"}, {"a": "3", "d/b": "2", "d/c": "4"}),
        ({"a/b": "1", "a/c/d": "2"}, {"a": "3"}, {"a": "3"}),
        ({"a": "1"}, {"a/b": "2"}, {"a/b": "2"}),
        ({"a/b": "1"}, {"a/": ""}, {"a/b": "1"}),
        ({"real": "1", "link": "->real"}, {"link": "2"}, {"real": "1", "link": "2"}),
        ({"d/b": "1"}, {"e/c": "2", "d": "->e"}, {"d": "->e", "e/c": "2"}),
    ],
)
async def test_the_fixture_wins_where_both_have_something(
    workspaces: Workspaces,
    seed: Mapping[str, str] | None,
    fixture: Mapping[str, str] | None,
    workspace: Mapping[str, str],
) -> None:
    assert await workspaces.content(await workspaces.keep(seed, fixture)) == workspace


async def test_equal_workspaces_are_kept_once(workspaces: Workspaces) -> None:
    first = await workspaces.keep({"a/b": "1", "run": SCRIPT})
    assert await workspaces.keep({"run": "2"}, {"a/b": "1", "run": SCRIPT}) == first
    assert await workspaces.keep({"a/b": "1", "run": "#!/bin/sh"}) != first
    assert len((await workspaces.store.list("workspaces/org")).objects) == 2


@pytest.mark.parametrize(
    ("seed", "fixture", "what"),
    [
        ({"tests": "->../tests"}, None, "The workspace .*tests"),
        ({"d/x": "->a/../../y", "d/a/f": ""}, {"d/a": "->.."}, "The workspace .*d/x"),
        (None, {"../x": ""}, "The fixture .*"),
        (None, {"x": "->/etc/passwd"}, "The fixture .*x"),
    ],
)
async def test_nothing_leads_out_of_a_workspace(
    workspaces: Workspaces, seed: Mapping[str, str] | None, fixture: Mapping[str, str] | None, what: str
) -> None:
    with pytest.raises(UnusableWorkspace, match=what):
        await workspaces.keep(seed, fixture)


async def test_the_limits_are_those_of_both_together(workspaces: Workspaces) -> None:
    with pytest.raises(TooLarge, match="The workspace"):
        await workspaces.keep({"a": "1" * 60_000}, {"b": "2" * 60_000})
