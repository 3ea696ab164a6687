"""What is said of Harbor's environments beforehand is what the installed Harbor says itself."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from harbor.environments import factory

from oddish.environments import TABLE, login, login_names, missing_login, read_environments
from support.harbor_environments import LOGINS, PROGRAMS, load

TESTS = Path(__file__).parents[2]
NAMES = sorted(kind.value for kind in factory._ENVIRONMENT_REGISTRY)
NEEDS_ITS_LIBRARY = {"ack", "islo", "prime", "runta", "smol", "tensorlake"}
"""Their modules cannot be read without it."""
ASKED_BY_ITS_LIBRARY = {"aca-sandbox", "beam", "blaxel", "boxd", "hyperbrowser", "langsmith", "novita", "superserve"}
ASKED_BY_ITS_LIBRARY |= {"use-computer", "vercel", "openshift"}
"""Their preflight asks for the library, or runs the provider's program, before it looks at variables."""
HOME_OF_THE_PROCESS = {"hf-sandbox"}
"""Its library settles where files are when it is loaded."""
WITHOUT_LOGIN = {"apple-container", "cwsandbox", "docker", "kata", "podman", "sail", "sbx", "singularity", "snowflake"}
"""They run on the worker's machine, or their library alone knows what it takes."""
ASKED_HERE = sorted(
    name for name, asked in LOGINS.items() if asked.one_of and name not in NEEDS_ITS_LIBRARY | ASKED_BY_ITS_LIBRARY
)


def test_the_table_says_what_the_installed_harbor_says() -> None:
    asking = subprocess.run(
        [sys.executable, "-m", "support.harbor_environments"],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert asking.returncode == 0, asking.stderr
    assert asking.stdout == TABLE.read_text(encoding="utf-8"), "run scripts/environments and look at what changed"


def test_every_environment_of_harbor_is_in_the_table_and_ours_too() -> None:
    assert read_environments().keys() == {*NAMES, "local"}
    assert LOGINS.keys() | PROGRAMS.keys() <= set(NAMES)


def test_every_environment_is_asked_about_its_login() -> None:
    assert set(NAMES) - LOGINS.keys() - NEEDS_ITS_LIBRARY == WITHOUT_LOGIN


def test_options_are_known_of_all_but_those_that_need_their_library() -> None:
    unknown = {name for name, facts in read_environments().items() if facts["options"] is None}
    assert unknown == {name for name in NAMES if load(name) is None} <= NEEDS_ITS_LIBRARY


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No variable of any provider is set, the home directory is empty, and the programs of all providers are there."""
    for variable in {variable for name in LOGINS for variable in login_names(name)}:
        monkeypatch.delenv(variable, raising=False)
    programs = tmp_path / "bin"
    programs.mkdir()
    for program in {program for some in PROGRAMS.values() for program in some}:
        (programs / program).symlink_to("/bin/true")
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("HOME", str(home))
    return home


def preflight(name: str) -> str | None:
    """What Harbor itself says is missing; None when it is content."""
    loaded = load(name)
    assert loaded is not None
    facts = read_environments()[name]
    try:
        loaded.preflight(dict.fromkeys(facts["required"], "x") if name != "ec2" else {"region": "x"})
    except SystemExit as error:
        return str(error)
    return None


@pytest.mark.parametrize("name", ASKED_HERE)
def test_harbor_asks_for_the_same_logins(name: str, bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = preflight(name)
    missing = missing_login(name, os.environ, bare)
    assert refusal is not None
    assert missing is not None
    facts = read_environments()[name]
    for group in facts["login"]:
        with monkeypatch.context() as context:
            for variable in group:
                context.setenv(variable, str(bare))
            assert preflight(name) is None, f"{name} with {group}"
            assert missing_login(name, os.environ, bare) is None
            for variable in group[1:]:
                context.delenv(variable)
                assert preflight(name) is not None
                assert missing_login(name, os.environ, bare) is not None
    for file in () if name in HOME_OF_THE_PROCESS else facts["files"]:
        (bare / file).parent.mkdir(parents=True, exist_ok=True)
        (bare / file).write_text("x")
        assert preflight(name) is None, f"{name} with {file}"
        assert missing_login(name, os.environ, bare) is None


def test_the_providers_that_are_named_most_are_among_those() -> None:
    assert {"daytona", "e2b", "modal", "runloop", "gke"} <= set(ASKED_HERE)


@pytest.mark.parametrize("name", sorted(ASKED_BY_ITS_LIBRARY))
def test_other_preflights_name_the_variables_in_their_source(name: str) -> None:
    """Or in that of the module around it, where they are constants."""
    loaded = load(name)
    assert loaded is not None
    source = Path(sys.modules[loaded.__module__].__file__ or "").read_text()
    for variable in {variable for group in LOGINS[name].one_of for variable in group} - {"KUBECONFIG"}:
        assert re.search(rf"\b{variable}\b", source), variable


def test_a_worker_without_a_login_is_told_every_way_to_have_one(tmp_path: Path) -> None:
    assert missing_login("daytona", {}, tmp_path) == (
        "The worker has no credentials: it takes DAYTONA_API_KEY or DAYTONA_JWT_TOKEN with DAYTONA_ORGANIZATION_ID."
    )
    assert missing_login("modal", {"MODAL_TOKEN_ID": "id"}, tmp_path) == (
        "The worker has no credentials: it takes MODAL_TOKEN_ID with MODAL_TOKEN_SECRET or ~/.modal.toml "
        "(modal token new)."
    )
    assert "(az login)" in str(missing_login("aca-sandbox", {}, tmp_path))


def test_environments_of_the_machine_and_unknown_ones_need_no_login(tmp_path: Path) -> None:
    for name in ("docker", "local", "podman", "ec2", "nowhere"):
        assert missing_login(name, {}, tmp_path) is None


def test_an_attempt_is_given_the_variables_of_its_own_provider_alone() -> None:
    shell = {"DAYTONA_API_KEY": "d", "DAYTONA_TARGET": "eu", "E2B_API_KEY": "e", "EMPTY": "", "OPENAI_API_KEY": "o"}
    assert login("daytona", shell) == {"DAYTONA_API_KEY": "d", "DAYTONA_TARGET": "eu"}
    assert login("e2b", shell, ["OPENAI_API_KEY", "EMPTY"]) == {"E2B_API_KEY": "e", "OPENAI_API_KEY": "o"}
    for name in ("local", "docker", "nowhere"):
        assert login(name, shell) == {}
