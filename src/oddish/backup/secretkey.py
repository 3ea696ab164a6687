"""The secret key of a home directory, and the copy of it that a backup may have."""

import os
from pathlib import Path

from oddish.errors import InvalidInput
from oddish.keyring import Keyring, KeyringError, load_keyring
from oddish.stack.layout import Layout
from oddish.stack.upgrade import set_aside

KEY = "secret.key"
"""Its name in both."""


def key_id(where: Layout) -> str | None:
    """Tells secret keys apart without telling them; None when no key has been made."""
    configured = os.environ.get("ODDISH_SECRET_KEY")
    if not configured and not (where.home / KEY).exists():
        return None
    return _id(load_keyring(configured, where.home))


def take_key(where: Layout, staging: Path) -> bool:
    """Copy it into the directory ``staging``; False when there is none. ``InvalidInput`` for one in a variable."""
    if os.environ.get("ODDISH_SECRET_KEY"):
        raise InvalidInput(
            "The secret key is the one in ODDISH_SECRET_KEY, which is not written to files.",
            fix="Leave out --with-key, and keep that key in a safe place yourself.",
        )
    if not (where.home / KEY).exists():
        return False
    _copy(where.home / KEY, staging / KEY)
    return True


def check_key(backup: Path, expected: str | None) -> None:
    """Raises ``InvalidInput`` unless the copy in ``backup`` is the key with the id ``expected``."""
    try:
        found = _id(Keyring([(backup / KEY).read_text(encoding="ascii").strip()]))
    except (OSError, UnicodeDecodeError, KeyringError):
        found = None
    if found is None or found != expected:
        raise InvalidInput(
            f"{backup / KEY} is not the key that was backed up.",
            fix="Restore another backup, or another copy of this one.",
        )


def put_key(backup: Path, where: Layout) -> tuple[bool, tuple[Path, ...]]:
    """Whether the key in the backup is a new one here, and where the one from before is now."""
    target = where.home / KEY
    kept: tuple[Path, ...] = ()
    if target.exists():
        if target.read_bytes() == (backup / KEY).read_bytes():
            return False, ()
        kept = (set_aside(target),)
    _copy(backup / KEY, target)
    return True, kept


def _id(keyring: Keyring) -> str:
    return keyring.derive("backup").hex()[:16]


def _copy(source: Path, target: Path) -> None:
    target.touch(mode=0o600)
    target.write_bytes(source.read_bytes())
