import pytest

from oddish.registries import InvalidLogin, RegistryLogin, login_secrets, refuse_twice

TOKEN = "dckr_pat_of-a-test"


@pytest.mark.parametrize(
    ("given", "registry"),
    [
        ("docker.io", "docker.io"),
        ("index.docker.io", "docker.io"),
        ("Registry-1.Docker.io", "docker.io"),
        ("ghcr.io", "ghcr.io"),
        (" registry.example:5000 ", "registry.example:5000"),
        ("localhost:5000", "localhost:5000"),
    ],
)
def test_a_registry_is_its_host(given: str, registry: str) -> None:
    assert RegistryLogin.of("me", TOKEN, given).registry == registry


@pytest.mark.parametrize("registry", ["", "https://ghcr.io", "ghcr.io/acme", "a b", "-x.io", "x..io", "x:", "x" * 300])
def test_anything_else_is_no_registry(registry: str) -> None:
    with pytest.raises(InvalidLogin, match="no host of a registry") as refusal:
        RegistryLogin.of("me", TOKEN, registry)
    assert TOKEN not in str(refusal.value)


@pytest.mark.parametrize("username", ["", " ", "a:b", "a\n", "x" * 300])
def test_a_user_name_that_cannot_be_sent_is_refused(username: str) -> None:
    with pytest.raises(InvalidLogin, match=r"user name for the registry docker\.io") as refusal:
        RegistryLogin.of(username, TOKEN)
    assert TOKEN not in str(refusal.value)


@pytest.mark.parametrize("token", ["", "  ", "a\0b-and-more", "x" * 20_001])
def test_a_token_that_cannot_be_used_is_refused_without_being_shown(token: str) -> None:
    with pytest.raises(InvalidLogin, match=r"token for the registry docker\.io") as refusal:
        RegistryLogin.of("me", token)
    assert "and-more" not in str(refusal.value)


def test_one_login_a_registry() -> None:
    refuse_twice([RegistryLogin.of("me", TOKEN), RegistryLogin.of("me", TOKEN, "ghcr.io")])
    with pytest.raises(InvalidLogin, match=r"two logins at the registry docker\.io"):
        refuse_twice([RegistryLogin.of("me", TOKEN), RegistryLogin.of("you", TOKEN, "index.docker.io")])
    with pytest.raises(InvalidLogin, match="more than 20"):
        refuse_twice([RegistryLogin.of("me", TOKEN, f"r{number}.example") for number in range(21)])


def test_the_token_is_kept_out_of_sight_in_both_forms() -> None:
    login = RegistryLogin.of("me", TOKEN)
    assert TOKEN not in repr(login)
    assert login_secrets([login]) == {TOKEN, "bWU6ZGNrcl9wYXRfb2YtYS10ZXN0"}
    assert login_secrets([RegistryLogin.of("me", "short")]) == frozenset()
    assert RegistryLogin.from_record(login.record()) == login
