"""What is in a backup: a directory with a dump, perhaps files and the key, and a description that is written last."""

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from oddish.errors import InvalidInput, NotFound
from oddish.storage.errors import InvalidKey
from oddish.storage.keys import checked_key

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


_CONTENTS, _STORED = TypeAdapter(Contents), TypeAdapter(Stored)
_ANOTHER = "Restore another backup, or another copy of this one."


def read(directory: Path) -> Contents:
    """Raises ``InvalidInput`` when ``directory`` holds no backup, one of another format or a changed description."""
    try:
        content = (directory / DESCRIPTION).read_bytes()
        document = from_json(content)
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"{directory} is no backup: {DESCRIPTION} cannot be read ({error}).",
            fix="Name a directory that 'oddish backup' has made, or the one that holds them.",
        ) from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InvalidInput(
            f"{directory} is a backup of a format that this oddish does not know.",
            fix="Restore it with the version of oddish that made it, or a newer one.",
        )
    try:
        return _CONTENTS.validate_json(content, strict=True)
    except ValidationError as error:
        raise InvalidInput(f"{directory / DESCRIPTION} describes no backup: {_fault(error)}.", fix=_ANOTHER) from error


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


def read_list(directory: Path) -> list[Stored]:
    """The files that are in the backup. Raises ``InvalidInput`` for a list with a line that names none."""
    files: list[Stored] = []
    try:
        with (directory / LIST).open("rb") as lines:
            for line in lines:
                entry = _STORED.validate_json(line, strict=True)
                checked_key(entry.key)
                files.append(entry)
    except (OSError, ValidationError, InvalidKey) as error:
        reason = _fault(error) if isinstance(error, ValidationError) else str(error).removesuffix(".")
        where = f"{directory / LIST}, line {len(files) + 1},"
        raise InvalidInput(f"{where} names no file of a backup: {reason}.", fix=_ANOTHER) from error
    return files


def write_list(directory: Path, files: list[Stored]) -> None:
    with (directory / LIST).open("w", encoding="utf-8") as target:
        for entry in sorted(files, key=lambda entry: entry.key):
            target.write(json.dumps(asdict(entry)) + "\n")


def sha256(path: Path) -> str:
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def _fault(error: ValidationError) -> str:
    """The first of its faults, with the member it is in."""
    first = error.errors(include_url=False)[0]
    member = ".".join(str(part) for part in first["loc"])
    return f"{member}: {first['msg']}" if member else first["msg"]
