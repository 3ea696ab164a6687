"""Keys of task.toml that nobody reads."""

import tomllib

import pytest

from oddish.tasks.keys import UnknownKey, unknown_keys


def unknown(text: str) -> list[UnknownKey]:
    return unknown_keys(tomllib.loads(text))


@pytest.mark.parametrize(
    ("text", "key", "closest"),
    [
        ("[agent]\ntimeout = 5", "agent.timeout", "agent.timeout_sec"),
        ("[agent]\ntimeout_secs = 5", "agent.timeout_sec" + "s", "agent.timeout_sec"),
        ("[enviroment]\ncpus = 1", "enviroment", "environment"),
        ("[environment]\nmemory_gb = 1", "environment.memory_gb", "environment.memory_mb"),
        ("timeout_sec = 5", "timeout_sec", "verifier.timeout_sec"),
        ("[[steps]]\nname = 'a'\n[steps.verifer]\nx = 1", "steps[0].verifer", "steps[0].verifier"),
        ("[[artifacts]]\nsource = 'a'\ndestnation = 'b'", "artifacts[0].destnation", "artifacts[0].destination"),
        (
            "[environment]\n[[environment.mcp_servers]]\nname='a'\nurls='b'",
            "environment.mcp_servers[0].urls",
            "environment.mcp_servers[0].url",
        ),
        ("[agent]\nzzz = 5", "agent.zzz", None),
    ],
)
def test_an_unknown_key_is_named_with_the_closest_known_one(text: str, key: str, closest: str | None) -> None:
    assert unknown(text) == [UnknownKey(key, closest)]


def test_known_legacy_and_free_keys_are_not_unknown() -> None:
    text = """
        version = "1.0"
        artifacts = ["/app/out"]
        [metadata]
        anything = { goes = 1 }
        [environment]
        memory = "2G"
        allow_internet = false
        [environment.env]
        ANY_NAME = "1"
        [verifier.environment]
        docker_image = "x"
    """
    assert unknown(text) == []


def test_values_of_the_wrong_type_are_somebody_elses_finding() -> None:
    assert unknown("agent = 3\nsteps = 'x'\n[environment]\nenv = [1]") == []
