"""What the doctor says of directories, keys and variables."""

import re
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

import oddish
from oddish import own_variables
from oddish.doctor import state, variables
from oddish.doctor.finding import Finding
from oddish.doctor.state import Entry

HOME = Path("/data/oddish")


def names(**environ: str) -> list[Finding]:
    return list(variables.judge_names(environ))


@pytest.mark.parametrize(
    ("entry", "level", "said"),
    [
        (Entry(HOME, exists=True, owner=7), "ok", "/data/oddish"),
        (Entry(HOME, exists=False), "ok", "first start"),
        (Entry(HOME, exists=False, writable=False), "problem", "may not be made"),
        (Entry(HOME, exists=True, is_directory=False, owner=7), "problem", "not a directory"),
        (Entry(HOME, exists=True, owner=0), "problem", "belongs to user id 0, and you are 7"),
        (Entry(HOME, exists=True, owner=7, writable=False), "problem", "may not be written"),
        (Entry(HOME, exists=True, owner=7, mode=0o755), "warning", "mode 0755"),
    ],
)
def test_the_state_directory_is_ours_alone(entry: Entry, level: str, said: str) -> None:
    found = state.judge_directory(entry, me=7)
    assert found.level == level
    assert said in found.found
    assert (found.fix is None) == (level == "ok")


def test_a_secret_that_others_may_read_is_taken_as_known() -> None:
    found = state.judge_private_file("Secret key", Entry(HOME, True, False, owner=7, mode=0o644), me=7)
    assert found.level == "warning"
    assert "chmod 600" in str(found.fix)
    assert state.judge_private_file("Secret key", Entry(HOME, True, False, owner=7, mode=0o600), me=7).level == "ok"
    assert (
        state.judge_private_file("Secret key", Entry(HOME, True, False, owner=8, mode=0o600), me=7).level == "problem"
    )


def test_a_damaged_key_is_a_problem_and_never_shown() -> None:
    key = Fernet.generate_key().decode()
    assert state.judge_key("/data/secret.key", [key]).level == "ok"
    for damaged in ([key[:-5]], [""], [key, "more"]):
        found = state.judge_key("/data/secret.key", damaged)
        assert found.level == "problem"
        assert key[:20] not in f"{found.found}{found.fix}"


def test_looking_at_a_directory_changes_nothing(oddish_home: Path) -> None:
    assert [finding.level for finding in state.look()] == ["ok"]
    assert not oddish_home.exists()
    oddish_home.mkdir(mode=0o755)
    (oddish_home / "secret.key").write_bytes(Fernet.generate_key())
    (oddish_home / "secret.key").chmod(0o644)
    assert [finding.level for finding in state.look()] == ["warning", "warning"]
    assert oddish_home.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("ODDISH_WORKER_CONCURENCY", "ODDISH_WORKER_CONCURRENCY"),
        ("ODDISH_DATABASE", "ODDISH_DATABASE_URL"),
        ("ODDISH_APIKEY", "ODDISH_API_KEY"),
    ],
)
def test_a_misspelt_setting_is_named_with_the_closest_one(name: str, meant: str) -> None:
    (found,) = names(**{name: "x", "ODDISH_PORT": "1", "PATH": "/bin"})
    assert found.level == "warning"
    assert name in found.found
    assert found.fix == f"Write {meant}."


def test_a_variable_like_no_setting_is_to_be_unset() -> None:
    (found,) = names(ODDISH_FLUX_CAPACITOR="x")
    assert found.fix == "Unset it."


def test_settings_that_are_known_are_listed_without_their_values() -> None:
    (found,) = names(ODDISH_PORT="1", oddish_secret_key="hidden", ODDISH_TEST_DATABASE_URL="x")
    assert (found.level, found.found) == ("ok", "ODDISH_PORT, ODDISH_TEST_DATABASE_URL and oddish_secret_key")
    assert names()[0].level == "ok"


def test_every_variable_that_the_program_names_is_known() -> None:
    modules = set(Path(oddish.__file__).parent.rglob("*.py")) - {Path(own_variables.__file__)}
    source = "".join(path.read_text() for path in modules)
    quoted = set(re.findall(r"[\"'`]((?:ODDISH|SANDBOX)_[A-Z0-9_]*[A-Z0-9])[\"'`]", source))
    assert quoted - variables.known() == set()
    assert variables.OTHERS - quoted == {*own_variables.TESTS}


def test_a_value_that_no_server_would_start_with_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(variables.judge_values()) == []
    monkeypatch.setenv("ODDISH_PORT", "s3cret")
    monkeypatch.setenv("ODDISH_HEARTBEAT_SECONDS", "-1")
    found = list(variables.judge_values())
    assert {finding.level for finding in found} == {"problem"}
    assert [finding.found.partition(":")[0] for finding in found] == ["ODDISH_PORT", "ODDISH_HEARTBEAT_SECONDS"]
    assert not any("s3cret" in finding.found for finding in found)


def test_a_list_that_is_no_json_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODDISH_OFFERED_ENVIRONMENTS", "local,docker")
    (found,) = variables.judge_values()
    assert found.level == "problem"
    assert found.found.startswith("ODDISH_OFFERED_ENVIRONMENTS: it is no JSON")
    assert variables.offered() == ["docker", "local"]


def test_a_proxy_that_would_take_local_traffic_is_a_warning() -> None:
    found = variables.judge_proxies({"HTTP_PROXY": "http://proxy:3128", "no_proxy": "example.com"})
    assert found.level == "warning"
    assert found.fix == "Set NO_PROXY=127.0.0.1,localhost"
    for spared in ("127.0.0.1,localhost", "example.com, LOCALHOST", "*"):
        assert variables.judge_proxies({"https_proxy": "http://proxy:3128", "NO_PROXY": spared}).level == "ok"
    assert variables.judge_proxies({"HTTP_PROXY": ""}).found == "none"
