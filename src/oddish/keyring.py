"""The deployment's secret key: encrypts stored secrets and derives the keys that sign URLs."""

import hashlib
import hmac
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from oddish.errors import OddishError
from oddish.home import private_directory, write_atomically


class KeyringError(OddishError):
    """The secret key is missing, malformed, or not the one a value was encrypted with."""

    code = "keyring"
    status = 500


class Keyring:
    """Fernet keys, newest first: the first encrypts and signs, all of them decrypt."""

    def __init__(self, keys: list[str], *, configured: bool = True) -> None:
        """``configured``: they are those of ODDISH_SECRET_KEY, not one that was made here."""
        self.configured = configured
        try:
            self._fernet = MultiFernet([Fernet(key) for key in keys])
        except ValueError as error:
            raise KeyringError(
                f"ODDISH_SECRET_KEY is not a list of Fernet keys ({error}).",
                fix="A key is 32 random bytes in URL-safe base64, as `Fernet.generate_key()` makes them.",
            ) from error
        self._signing_root = keys[0].encode()

    def encrypt(self, plaintext: bytes) -> bytes:
        return self._fernet.encrypt(plaintext)

    def decrypt(self, ciphertext: bytes) -> bytes:
        """Raises ``KeyringError`` when no key fits."""
        try:
            return self._fernet.decrypt(ciphertext)
        except InvalidToken as error:
            if not self.configured:
                raise KeyringError(
                    "A stored secret was encrypted with another key than this process made for itself, as "
                    "ODDISH_SECRET_KEY is not set here.",
                    fix="Set it to the value that the servers have. If the key is lost, store the secret again.",
                ) from error
            raise KeyringError(
                "A stored secret was encrypted with a key that is not in ODDISH_SECRET_KEY here.",
                fix="Set it to the value that the servers have, or add the former key after the current one.",
            ) from error

    def derive(self, purpose: str) -> bytes:
        """A 32-byte key for one purpose; it changes when the newest key changes."""
        return hmac.digest(self._signing_root, b"oddish:" + purpose.encode(), hashlib.sha256)


def load_keyring(configured: str | None, home: Path) -> Keyring:
    """The configured keys, else the one in ``home/secret.key``, made on first use with mode 0600."""
    if configured:
        return Keyring([key.strip() for key in configured.split(",") if key.strip()])
    path = private_directory(home) / "secret.key"
    if not path.exists():
        write_atomically(path, Fernet.generate_key(), replace=False)
    try:
        return Keyring([path.read_text(encoding="ascii").strip()], configured=False)
    except (KeyringError, UnicodeDecodeError) as error:
        raise KeyringError(
            f"{path} does not hold the secret key.",
            fix="Restore it from a backup: without it the stored secrets are lost. Removing the file makes a new key.",
        ) from error
