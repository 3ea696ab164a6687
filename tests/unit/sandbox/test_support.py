"""A machine that refuses sandboxes is told what would change that."""

from pathlib import Path

import pytest

from oddish.sandbox import support


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The kernel's settings, as files that a test may write."""
    for name in ("_USER_NAMESPACES_RESTRICTED", "_CLONE_ALLOWED", "_MAX_USER_NAMESPACES"):
        monkeypatch.setattr(support, name, tmp_path / name)
    return tmp_path


@pytest.mark.parametrize(
    ("setting", "value", "fix"),
    [
        ("_USER_NAMESPACES_RESTRICTED", "1\n", "sysctl kernel.apparmor_restrict_unprivileged_userns=0"),
        ("_CLONE_ALLOWED", "0\n", "sysctl kernel.unprivileged_userns_clone=1"),
        ("_MAX_USER_NAMESPACES", "0\n", "sysctl user.max_user_namespaces=15000"),
        ("_MAX_USER_NAMESPACES", "100\n", "use the docker environment"),
    ],
)
def test_an_ordinary_user_is_told_the_setting(settings: Path, setting: str, value: str, fix: str) -> None:
    (settings / setting).write_text(value)
    said = support.explain("setting up uid map: Permission denied", privileged=False)
    assert "Permission denied" in said
    assert said.endswith(fix) or fix in said


def test_root_without_mounts_is_told_where_to_go(settings: Path) -> None:
    said = support.explain("Failed to make / slave: Operation not permitted", privileged=True)
    assert "may mount filesystems, or use the docker environment" in said
