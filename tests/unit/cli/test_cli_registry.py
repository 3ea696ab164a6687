"""How a registry login is written on the command line."""

import click
import pytest

from oddish.cli.credentials import Sources
from oddish.cli.registry import read_logins, split_login
from oddish.errors import InvalidInput
from oddish.registries import RegistryLogin

TOKEN = "dckr_pat_of-a-test"
HUB = {"ODDISH_DOCKERHUB_USERNAME": "acme", "ODDISH_DOCKERHUB_TOKEN": TOKEN}
NOTHING = Sources()


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("username=u,token=t", {"username": "u", "token": "t"}),
        (" Username = u , token=t,registry=ghcr.io", {"username": "u", "token": "t", "registry": "ghcr.io"}),
        ("username=u,token='a,b'", {"username": "u", "token": "a,b"}),
        ("token=\"a,'b\",username='u'", {"username": "u", "token": "a,'b"}),
        ("username=u,token=a=b==", {"username": "u", "token": "a=b=="}),
        ("username=u,token=it's", {"username": "u", "token": "it's"}),
        ("username=,token=''", {"username": "", "token": ""}),
    ],
)
def test_parts_stand_between_commas_unless_quoted(text: str, parts: dict[str, str]) -> None:
    assert split_login(text) == parts


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "begins with none of"),
        (TOKEN, "begins with none of"),
        (f"username=u,token=a,{TOKEN}", "begins with none of"),
        (f"username=u,token='{TOKEN}", "quote at token= that is not closed"),
        (f"username=u,token='{TOKEN}'x", "goes on after the quote that ends token="),
        (f"token={TOKEN},token=t,username=u", "has token= twice"),
        (f"token={TOKEN}", "has no username="),
        ("username=u", "has no token="),
        (f"username=u,token={TOKEN},registry=https://x", "no host of a registry"),
        (f"username=,token={TOKEN}", "user name for the registry docker.io"),
        ("username=u,token=", "token for the registry docker.io"),
    ],
)
def test_a_malformed_login_is_refused_without_showing_the_token(text: str, reason: str) -> None:
    with pytest.raises(click.BadParameter) as refusal:
        read_logins(["username=u,token=t,registry=ghcr.io", text], NOTHING, [None])
    assert reason in refusal.value.message
    assert "number 2" in refusal.value.message
    assert TOKEN not in str(refusal.value)


def test_two_logins_at_one_registry_are_refused() -> None:
    with pytest.raises(click.BadParameter, match=r"two logins at the registry docker\.io"):
        read_logins(["username=u,token=t", "username=v,token=t"], NOTHING, [None])


@pytest.mark.parametrize("environment", [None, "docker"])
def test_a_login_at_docker_hub_may_come_from_the_shell(environment: str | None) -> None:
    other = RegistryLogin.of("u", "t", "ghcr.io")
    given = ["username=u,token=t,registry=ghcr.io"]
    assert read_logins(given, Sources(shell=HUB), [environment]) == [other, RegistryLogin.of("acme", TOKEN)]


def test_an_option_goes_before_the_shell() -> None:
    assert read_logins(["username=u,token=t"], Sources(shell=HUB), [None]) == [RegistryLogin.of("u", "t")]


def test_the_shell_s_login_stays_where_no_docker_engine_fetches_images() -> None:
    assert read_logins([], Sources(shell=HUB), [None, "modal"]) == []


@pytest.mark.parametrize("name", sorted(HUB))
def test_half_a_login_in_the_shell_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match=f"{name} has a value and ODDISH_DOCKERHUB_") as refusal:
        read_logins([], Sources(file={name: HUB[name]}), [None])
    assert TOKEN not in str(refusal.value)
