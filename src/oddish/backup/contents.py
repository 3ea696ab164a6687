"""What is in a backup: a directory with a dump, perhaps files and the key, and a description that is written last."""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from oddish.errors import InvalidInput, NotFound

FORMAT = 1
DESCRIPTION, DUMP, LIST, FILES = "backup.json", "database.dump", "store.jsonl", "store"
NAME = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ(-\d+)?")


@dataclass(frozen=True, slots=True)
class Stored:
    """A file of the store: key, bytes, SHA-256 in hex."""

    key: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Contents:
    """The description of a backup. Sizes in bytes, sums as SHA-256 in hex."""

    made_at: str
    version: str
    revision: str
    schema_remark: str | None
    postgres: int
    """Major version of the server."""
    tasks: int
    trials: int
    database_bytes: int
    dump_bytes: int
    dump_sha256: str
    store_url: str
    list_sha256: str | None
    """Of the list of the files that are in the backup; None when they are not."""
    files: int
    file_bytes: int
    missing: tuple[str, ...]
    """Keys that the database names and the store did not have."""
    damaged: tuple[str, ...]
    """Keys whose bytes were not those that had been stored."""
    key_included: bool
    key_id: str | None
    """Tells keys apart; None when no key had been made."""
    format: int = FORMAT

    def write(self, directory: Path) -> None:
        (directory / DESCRIPTION).write_text(json.dumps(asdict(self), indent=2) + "\n")


def read(directory: Path) -> Contents:
    """Raises ``InvalidInput`` when ``directory`` holds no backup, or one of another format."""
    try:
        document = json.loads((directory / DESCRIPTION).read_bytes())
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise InvalidInput(
                f"{directory} is a backup of a format that this oddish does not know.",
                fix="Restore it with the version of oddish that made it, or a newer one.",
            )
        known = {name: document[name] for name in (member.name for member in fields(Contents))}
        known["missing"], known["damaged"] = tuple(known["missing"]), tuple(known["damaged"])
        return Contents(**known)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidInput(
            f"{directory} is no backup: {DESCRIPTION} cannot be read ({error}).",
            fix="Name a directory that 'oddish backup' has made, or the one that holds them.",
        ) from error


def backups(directory: Path) -> list[Path]:
    """Those in ``directory``, the oldest first."""
    if not directory.is_dir():
        return []
    return sorted(path for path in directory.iterdir() if NAME.fullmatch(path.name) and (path / DESCRIPTION).is_file())


def find(place: Path) -> Path:
    """The backup at ``place``, or the newest of those in it. Raises ``NotFound``."""
    if (place / DESCRIPTION).is_file():
        return place
    if found := backups(place):
        return found[-1]
    raise NotFound(f"There is no backup in {place}.", fix="Name a directory that 'oddish backup' was given.")


def read_list(directory: Path) -> Iterator[Stored]:
    """The files that are in the backup."""
    with (directory / LIST).open(encoding="utf-8") as lines:
        for line in lines:
            yield Stored(**json.loads(line))


def write_list(directory: Path, files: list[Stored]) -> None:
    with (directory / LIST).open("w", encoding="utf-8") as target:
        for entry in sorted(files, key=lambda entry: entry.key):
            target.write(json.dumps(asdict(entry)) + "\n")


def sha256(path: Path) -> str:
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()
