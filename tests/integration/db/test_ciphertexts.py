"""A process with another secret key than the deployment's does not start."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from cryptography.fernet import Fernet

from oddish.db.ciphertexts import Latest
from oddish.db.url import plain
from oddish.doctor import database as doctor
from oddish.errors import EXIT_UNREADABLE_SETTING
from oddish.keyring import Keyring, KeyringError

OURS, THEIRS = (Fernet.generate_key().decode() for _ in range(2))

type Store = Callable[[str, int], None]


@pytest.fixture
def store(database_url: str) -> Store:
    """Stores a secret with a key, some hours ago."""

    def one(key: str, hours: int) -> None:
        ciphertext = Keyring([key]).encrypt(b"value")
        with psycopg.connect(plain(database_url)) as connection:
            connection.execute("INSERT INTO organisations (id, name) VALUES ('o', 'o') ON CONFLICT DO NOTHING")
            connection.execute(
                "INSERT INTO secrets (id, org_id, ciphertext, created_at, expires_at) "
                "VALUES (%s, 'o', %s, now() - %s * interval '1 hour', now() + interval '1 day')",
                [f"s{hours}", ciphertext, hours],
            )

    return one


def started(program: str, database_url: str, home: Path, key: str | None) -> tuple[int, str]:
    """Exit code and words of a process that is expected to end by itself."""
    own = {"ODDISH_HOME": str(home), "ODDISH_DATABASE_URL": database_url, "ODDISH_PORT": "1"}
    done = subprocess.run(
        [sys.executable, "-m", program],
        env={**os.environ, **own, **({"ODDISH_SECRET_KEY": key} if key else {})},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(("program", "who"), [("oddish.api", "server"), ("oddish.worker", "worker")])
@pytest.mark.parametrize("key", [None, OURS], ids=["no key", "the former key"])
def test_a_process_with_another_key_is_refused_by_name(
    database_url: str, oddish_home: Path, store: Store, program: str, who: str, key: str | None
) -> None:
    store(OURS, 2)
    store(THEIRS, 1)
    code, said = started(program, database_url, oddish_home, key)
    assert code == EXIT_UNREADABLE_SETTING
    assert f"The secret key of this {who} is not that of the deployment" in said
    assert "Set ODDISH_SECRET_KEY to the servers' value" in said
    assert ("ODDISH_SECRET_KEY is not set here" in said) is (key is None)
    with psycopg.connect(plain(database_url)) as connection:
        assert connection.execute("SELECT count(*) FROM workers").fetchone() == (0,)


def test_doctor_says_the_same(
    database_url: str, oddish_home: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODDISH_DATABASE_URL", database_url)
    store(THEIRS, 1)
    (found,) = [finding for finding in doctor.look() if finding.subject == "Secret key"]
    assert found.level == "problem"
    assert "not that of the deployment" in found.found
    assert "ODDISH_SECRET_KEY is not set here" in found.found
    assert not oddish_home.exists()
    monkeypatch.setenv("ODDISH_SECRET_KEY", f"{OURS},{THEIRS}")
    assert not [finding for finding in doctor.look() if finding.subject == "Secret key"]


@pytest.mark.parametrize(("of_organisation", "read"), [(2, True), (0, False)])
def test_only_what_was_stored_last_decides(
    database_url: str, store: Store, monkeypatch: pytest.MonkeyPatch, of_organisation: int, read: bool
) -> None:
    monkeypatch.setenv("ODDISH_DATABASE_URL", database_url)
    monkeypatch.setenv("ODDISH_SECRET_KEY", OURS)
    store(THEIRS, 3)
    store(OURS, 1)
    with psycopg.connect(plain(database_url)) as connection:
        connection.execute("INSERT INTO users (id, org_id, name, role) VALUES ('u', 'o', 'u', 'admin')")
        connection.execute(
            "INSERT INTO org_secrets (org_id, name, ciphertext, created_by, created_at, updated_at) "
            "VALUES ('o', 'n', %s, 'u', now() - interval '9 hours', now() - %s * interval '1 hour')",
            [Keyring([THEIRS]).encrypt(b"value"), of_organisation],
        )
    assert (not [finding for finding in doctor.look() if finding.subject == "Secret key"]) is read


def test_a_local_stack_that_has_lost_its_key_is_warned_and_goes_on(
    oddish_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODDISH_SECRET_KEY", OURS)
    stored = Latest(Keyring([THEIRS]).encrypt(b"value"), str(oddish_home / "postgres" / "18"))
    assert [finding.level for finding in doctor.judge_key(stored, oddish_home)] == ["warning"]
    assert not Latest(stored.ciphertext, None).is_of(oddish_home)


def test_a_secret_of_another_key_names_the_variable_that_is_not_set() -> None:
    theirs = Keyring([THEIRS]).encrypt(b"value")
    with pytest.raises(KeyringError, match="ODDISH_SECRET_KEY is not set here"):
        Keyring([OURS], configured=False).decrypt(theirs)
    with pytest.raises(KeyringError, match="not in ODDISH_SECRET_KEY here"):
        Keyring([OURS]).decrypt(theirs)
