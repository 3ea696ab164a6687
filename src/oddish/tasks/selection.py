"""Which files of a task directory count: ``.gitignore``, or defaults, for what is published; ``.harborignore`` for the
inputs of tests and solutions. Standard library only."""

import os
from pathlib import Path, PurePosixPath

from oddish.errors import InvalidTask
from oddish.tasks.ignore import Dialect, IgnoreRules, PatternError

GITIGNORE = ".gitignore"
HARBORIGNORE = ".harborignore"
DEFAULT_PATTERNS = ("__pycache__/", "*.pyc", ".DS_Store", "*.swp", "*.swo", "*~")
MAX_RULES_BYTES = 65_536


def published_rules(root: Path) -> IgnoreRules:
    """The rules of the task's ``.gitignore``, which replace the defaults. Raises ``InvalidTask``."""
    if not (root / GITIGNORE).exists():
        return IgnoreRules(DEFAULT_PATTERNS, "documented")
    return _read(root, GITIGNORE, "documented")


class InputFilter:
    """Applies the ``.harborignore`` files below tests/, solution/ and the same directories of steps.

    ``root`` is resolved. Each rules file is read once. Raises ``InvalidTask`` naming a rules file that cannot be used.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._rules: dict[tuple[str, ...], IgnoreRules | None] = {}

    def excludes(self, path: Path) -> bool:
        """Whether ``path``, or what it links to inside the task, is excluded. A path outside the task is not."""
        path = Path(os.path.abspath(path))  # noqa: PTH100 - must not follow links
        if not path.is_relative_to(self._root):
            return False
        if self._matches(path):
            return True
        try:
            resolved = path.resolve()
        except (OSError, RuntimeError):
            return False
        return resolved != path and resolved.is_relative_to(self._root) and self._matches(resolved)

    def _matches(self, path: Path) -> bool:
        parts = path.relative_to(self._root).parts
        if path.name == HARBORIGNORE:
            return True
        is_directory = path.is_dir()
        if not _in_scope(parts, is_directory=is_directory):
            return False
        active: list[tuple[int, IgnoreRules]] = []
        for depth in range(1, len(parts) + 1):
            rules = self._rules_of(parts[: depth - 1])
            if rules is not None:
                active.append((depth - 1, rules))
            below_it = depth < len(parts) or is_directory
            if not _in_scope(parts[:depth], is_directory=below_it):
                continue
            excluded = False
            for base, rules in active:
                relative = "/".join(parts[base:depth]) + ("/" if below_it else "")
                decision = rules.decision(relative)
                excluded = excluded if decision is None else decision
            if excluded:
                return True
        return False

    def _rules_of(self, directory: tuple[str, ...]) -> IgnoreRules | None:
        if not _in_scope(directory, is_directory=True):
            return None
        if directory not in self._rules:
            name = str(PurePosixPath(*directory, HARBORIGNORE))
            present = os.path.lexists(self._root / name)
            self._rules[directory] = _read(self._root, name, "git") if present else None
        return self._rules[directory]


def _in_scope(parts: tuple[str, ...], *, is_directory: bool) -> bool:
    for depth, start in ((1, 0), (3, 2)):
        if start == 2 and parts[:1] != ("steps",):
            continue
        if parts[start:depth] in (("tests",), ("solution",)):
            return is_directory or len(parts) > depth
    return False


def _read(root: Path, name: str, dialect: Dialect) -> IgnoreRules:
    path = root / name
    if not path.is_file() or not path.resolve().is_relative_to(root):
        raise InvalidTask(f"{name} is not a regular file inside the task.", fix="Replace it by a file of patterns.")
    try:
        with path.open("rb") as file:
            content = file.read(MAX_RULES_BYTES + 1)
        if len(content) > MAX_RULES_BYTES:
            raise InvalidTask(f"{name} is larger than {MAX_RULES_BYTES} bytes.", fix="Shorten its list of patterns.")
        return IgnoreRules(content.decode("utf-8").splitlines(), dialect)
    except UnicodeDecodeError as error:
        raise InvalidTask(f"{name} is not UTF-8 text (byte {error.start}).", fix="Save it as UTF-8.") from None
    except PatternError as error:
        raise InvalidTask(
            f"{name}, line {error.line}: the pattern cannot be used: {error.reason}.", fix="Correct that line."
        ) from None
    except OSError as error:
        raise InvalidTask(f"{name} cannot be read: {error.strerror}.", fix="Make it readable.") from None
