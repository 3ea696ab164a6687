"""Checks of a task's files: can they travel, are they what they seem, do they give something away."""

import re
from collections.abc import Iterator, Sequence

from oddish.soundness.contents import Content, Contents
from oddish.soundness.verdict import Check, failed, ok, warning

FILES, SECRETS, SCRIPTS = "files", "secrets", "scripts"
MIB = 1024 * 1024
LARGE_FILE = 50 * MIB
LARGE_TASK = 500 * MIB
_SHOWN = 5
_POINTER = b"version https://git-lfs.github.com/spec/"
_SECRET_FILE = re.compile(r"(\.env(\.local|\.production)?|\.netrc|\.pypirc|id_(rsa|dsa|ecdsa|ed25519))")
_SECRET = re.compile(
    rb"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----"
    rb"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    rb"|\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{32,}"
    rb"|\bgh[pousr]_[A-Za-z0-9]{36}"
    rb"|\bgithub_pat_[A-Za-z0-9_]{40,}"
    rb"|\bxox[abpr]-[0-9A-Za-z-]{20,}"
    rb"|\bAIza[0-9A-Za-z_-]{35}"
    rb"|\bok_[0-9a-f]{32}\b"
)


def check_files(contents: Contents) -> Iterator[Check]:
    pointers = [file.path for file in contents.files if file.head.startswith(_POINTER)]
    if pointers:
        yield failed(FILES, f"Git LFS pointers instead of files: {_some(pointers)}.", "Run: git lfs pull")
    elif contents.refusal is not None:
        yield failed(FILES, contents.refusal.message, contents.refusal.fix)
    large = [f"{file.path} ({file.size / MIB:.0f} MiB)" for file in contents.files if file.size > LARGE_FILE]
    if large:
        yield warning(
            FILES,
            f"Large, and sent and unpacked for every new version: {_some(large)}.",
            "Fetch them in environment/Dockerfile.",
        )
    total = sum(file.size for file in contents.files)
    if total > LARGE_TASK:
        yield warning(
            FILES,
            f"All files together have {total / MIB:.0f} MiB; servers refuse archives of more than 512 MiB by default.",
            "Leave out by .gitignore what the task does not need.",
        )
    if not (pointers or contents.refusal or large or total > LARGE_TASK):
        count = len(contents.files)
        yield ok(FILES, f"{count} file{'s' if count != 1 else ''}, {_size(total)}")


def check_secrets(files: Sequence[Content]) -> Check:
    """Names and beginnings of files; what was found is not repeated."""
    found = [
        file.path for file in files if _SECRET_FILE.fullmatch(file.path.rpartition("/")[2]) or _SECRET.search(file.head)
    ]
    if found:
        return warning(
            SECRETS,
            f"May hold a key or a password: {_some(found)}.",
            "Take it out, and pass secrets as variables; whoever can read the task has it.",
        )
    return ok(SECRETS, "nothing that looks like a key or a password")


def check_scripts(files: Sequence[Content]) -> Check:
    """A carriage return at the end of a line is part of the command, or of the interpreter's name."""
    found = [file.path for file in files if (_is_shell(file) and b"\r\n" in file.head) or _has_damaged_shebang(file)]
    if found:
        return failed(
            SCRIPTS, f"Windows line ends, which no shell understands: {_some(found)}.", "Run: sed -i 's/\\r$//' FILE"
        )
    return ok(SCRIPTS, "Unix line ends")


def _is_shell(file: Content) -> bool:
    first = file.head.partition(b"\n")[0]
    return file.path.endswith((".sh", ".bash")) or (first.startswith(b"#!") and b"sh" in first.rpartition(b"/")[2])


def _has_damaged_shebang(file: Content) -> bool:
    return file.head.startswith(b"#!") and file.head.partition(b"\n")[0].endswith(b"\r")


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _size(count: int) -> str:
    return f"{count} bytes" if count < 1024 else f"{count / 1024:.0f} KiB" if count < MIB else f"{count / MIB:.1f} MiB"
