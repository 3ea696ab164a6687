from pathlib import Path

import pytest

from oddish.keyring import KeyringError, load_keyring


def test_the_key_is_made_once(tmp_path: Path) -> None:
    encrypted = load_keyring(None, tmp_path).encrypt(b"secret")
    assert load_keyring(None, tmp_path).decrypt(encrypted) == b"secret"


@pytest.mark.parametrize("content", [b"", b"\n", b"not a key", bytes(32), b"\xff" * 44])
def test_a_damaged_key_file_is_named_with_the_fix(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "secret.key").write_bytes(content)
    with pytest.raises(KeyringError, match=r"secret\.key does not hold the secret key.*backup.*lost.*makes a new key"):
        load_keyring(None, tmp_path)
    assert (tmp_path / "secret.key").read_bytes() == content


def test_a_damaged_setting_is_named() -> None:
    with pytest.raises(KeyringError, match="ODDISH_SECRET_KEY is not a list of Fernet keys"):
        load_keyring("nonsense", Path("/nowhere"))
