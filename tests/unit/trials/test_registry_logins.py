import pytest

from oddish.registries import RegistryLogin
from oddish.trials.registry_logins import UnusableLogin, logins_for

LOGINS = [RegistryLogin.of("me", "dckr_pat_of-a-test")]


def test_trials_get_logins_where_images_are_fetched_on_the_worker() -> None:
    assert logins_for("docker", LOGINS) == LOGINS
    assert logins_for("local", LOGINS) == ()


@pytest.mark.parametrize("environment", ["modal", "daytona", "module:Environment"])
def test_a_provider_that_cannot_use_them_is_named(environment: str) -> None:
    assert logins_for(environment, []) == ()
    with pytest.raises(UnusableLogin, match=environment):
        logins_for(environment, LOGINS)
