"""What makes two trials the same measurement."""

import pytest

from oddish.errors import InvalidInput
from oddish.trials.catalogue import Catalogue, EnvironmentUnavailable, Offer
from oddish.trials.doors import ALL, NONE, ClosedPassthrough
from oddish.trials.environments import Environments
from oddish.trials.units import TrialConfig, UnfitTask, Unit, unit

AGENTS = {"nop": False, "claude-code": True}
CATALOGUE = Catalogue(
    [
        Offer("docker@2", "docker", AGENTS, 2048),
        Offer("local@2", "local", AGENTS, 2048),
        Offer("modal@2", "modal", AGENTS, 2048, reason="no credentials."),
        Offer("docker@1", "docker", {"nop": False}, 2048, live=False),
    ]
)


def made(config: TrialConfig, *, local: bool = True, **harbor: object) -> Unit:
    doors = ALL if local else NONE
    places = Environments(local=local)
    return unit(config, CATALOGUE, inherited_environment=None, harbor=harbor, doors=doors, environments=places)


def test_spellings_of_a_model_are_one_unit() -> None:
    hashes = {
        made(TrialConfig("claude-code", model, 1)).hash
        for model in ("anthropic/claude-sonnet-4-5", "claude-sonnet-4-5", " Anthropic/Claude-Sonnet-4-5 ")
    }
    assert len(hashes) == 1


def test_the_values_of_secrets_do_not_matter_their_names_do() -> None:
    def hashed(**env: str) -> bytes:
        return made(TrialConfig("nop", None, 1, env=env)).hash

    assert hashed(API_KEY="one") == hashed(API_KEY="two")
    assert hashed(API_KEY="one") != hashed(OTHER_KEY="one")
    assert hashed(MODE="one") != hashed(MODE="two")


def test_the_unit_of_an_ordinary_submission_is_the_same_in_every_release() -> None:
    config = TrialConfig("claude-code", "anthropic/claude-sonnet-4-5", 3, env={"A_KEY": "x"}, kwargs={"max_turns": 5})
    assert (
        made(config, verifier={"disable": False}).hash.hex()
        == "d3b8399bfa277c8f17cef45b9c755c16194e9f3722ea30091492abd38baa5ea4"
    )


def test_trials_that_nobody_verifies_are_a_measurement_of_their_own() -> None:
    plain = made(TrialConfig("nop", None, 1))
    unverified = made(TrialConfig("nop", None, 1), verifier={"disable": True})
    assert plain.hash != unverified.hash
    assert plain.hash == made(TrialConfig("nop", None, 1), verifier={"disable": False, "max_timeout_sec": 5}).hash


def test_web_tools_are_off_where_the_task_closes_the_internet_and_that_is_the_same_measurement() -> None:
    entry = made(TrialConfig("claude-code", "m", 1))
    assert entry.agent_config_on({"agent_network_modes": ["public"]}) == entry.agent_config
    assert entry.agent_config_on({"agent_network_modes": ["allowlist"]}) == {
        "env": {},
        "kwargs": {"disallowed_tools": "WebSearch,WebFetch"},
    }
    same = made(TrialConfig("claude-code", "m", 1, kwargs={"disallowed_tools": "WebSearch,WebFetch"}))
    forced = made(TrialConfig("claude-code", "m", 1, disable_web_tools=True))
    assert entry.hash != forced.hash == same.hash
    kept = made(TrialConfig("claude-code", "m", 1, disable_web_tools=False))
    assert kept.agent_config_on({"agent_network_modes": ["no-network"]})["kwargs"] == {"disable_web_search": False}


def test_overrides_of_the_agent_reach_harbor_and_count() -> None:
    plain = made(TrialConfig("nop", None, 1))
    limited = made(TrialConfig("nop", None, 1, overrides={"max_timeout_sec": 5}), agent={"extra_allowed_hosts": ["a"]})
    assert limited.harbor == {"agent": {"extra_allowed_hosts": ["a"], "max_timeout_sec": 5}}
    assert plain.hash != limited.hash


def test_the_preferred_environment_and_its_newest_engine_are_chosen() -> None:
    assert made(TrialConfig("nop", None, 1)).offer.pool == "docker@2"
    assert made(TrialConfig("nop", None, 1, environment="local")).offer.pool == "local@2"
    with pytest.raises(EnvironmentUnavailable, match=r"no credentials.*docker, local"):
        made(TrialConfig("nop", None, 1, environment="modal"))


def test_an_environment_of_workers_that_are_gone() -> None:
    gone = Offer("docker@1", "docker", AGENTS, 2048, live=False)
    assert Catalogue([gone]).offer("docker") is gone
    local = Offer("local@2", "local", AGENTS, 2048)
    assert Catalogue([local, gone]).offer("docker") is gone
    assert Catalogue([local, gone]).offer(None) is local
    refused = Offer("docker@2", "docker", AGENTS, 2048, reason="no engine answers.")
    with pytest.raises(EnvironmentUnavailable, match="no engine answers"):
        Catalogue([local, refused, gone]).offer("docker")


def test_a_machine_that_offers_nothing_says_why() -> None:
    nothing = [
        Offer(f"{name}@2", name, AGENTS, 2048, reason=f"{name} is out of order.") for name in ("local", "docker")
    ]
    with pytest.raises(EnvironmentUnavailable, match=r"local is out of order.*docker is out of order"):
        Catalogue(nothing).offer(None)


def test_a_baseline_has_no_model() -> None:
    entry = made(TrialConfig("nop", "some/model", 1))
    assert (entry.model, entry.key.key) == (None, "nop_oracle")


def test_memory_is_the_override_else_what_the_task_declares() -> None:
    task = {"environment": {"memory_mb": 512}}
    assert made(TrialConfig("nop", None, 1)).memory_mb(task) == 512
    assert made(TrialConfig("nop", None, 1), environment={"override_memory_mb": 64}).memory_mb(task) == 64
    with pytest.raises(InvalidInput, match="4096 MB"):
        made(TrialConfig("nop", None, 1)).memory_mb({"environment": {"memory_mb": 4096}})


@pytest.mark.parametrize(
    ("harbor", "member"),
    [
        ({"environment": {"mounts": ["/"]}}, "harbor.environment.mounts"),
        ({"environment": {"extra_docker_compose": ["x"]}}, "harbor.environment.extra_docker_compose"),
        ({"environment": {"kwargs": {"auto_mounting": True}}}, "harbor.environment.kwargs.auto_mounting"),
        ({"verifier": {"import_path": "a:B"}}, "harbor.verifier.import_path"),
        ({"mcp_servers": []}, "harbor.mcp_servers"),
    ],
)
def test_what_reaches_out_of_the_sandbox_is_open_in_local_mode_only(harbor: dict[str, object], member: str) -> None:
    made(TrialConfig("nop", None, 1), local=True, **harbor)
    with pytest.raises(ClosedPassthrough, match=member):
        made(TrialConfig("nop", None, 1), local=False, **harbor)


def test_members_nobody_knows_are_refused() -> None:
    for harbor in ({"surprise": 1}, {"environment": {"surprise": 1}}):
        with pytest.raises(InvalidInput, match="surprise is not supported"):
            made(TrialConfig("nop", None, 1), **harbor)


@pytest.mark.parametrize("section", ["environment", "verifier"])
def test_variables_for_harbor_are_ones_a_program_can_be_given(section: str) -> None:
    for env in ({"A=B": "x"}, {"A": "x\0"}):
        with pytest.raises(InvalidInput, match=rf"harbor\.{section}\.env: .*'A"):
            made(TrialConfig("nop", None, 1), **{section: {"env": env}})
    assert made(TrialConfig("nop", None, 1), **{section: {"env": {"A": "x"}}})


@pytest.mark.parametrize("value", [0, -1.5, float("inf"), "5", True])
def test_time_limits_for_harbor_are_positive_numbers(value: object) -> None:
    blocks: list[dict[str, object]] = [
        {"timeout_multiplier": value},
        {"agent": {"override_setup_timeout_sec": value}},
        {"verifier": {"max_timeout_sec": value}},
    ]
    for harbor in blocks:
        with pytest.raises(InvalidInput, match=r"harbor\..*timeout.* is .*, not a number above 0"):
            made(TrialConfig("nop", None, 1), **harbor)
    assert made(TrialConfig("nop", None, 1), verifier={"max_timeout_sec": 5, "override_timeout_sec": None})


def test_what_can_never_run_is_refused() -> None:
    made(TrialConfig("nop", None, 1)).check_task({"has_solution": False})
    local = made(TrialConfig("nop", None, 1, environment="local"))
    with pytest.raises(UnfitTask, match=r"gpus = 1: .*local.* has no GPUs"):
        local.check_task({"environment": {"gpus": 1}})
    with pytest.raises(UnfitTask) as refusal:
        local.check_task({"environment": {"gpus": 1}})
    assert refusal.value.fix == "Run it in an environment that has it: -e docker."
    made(TrialConfig("nop", None, 1)).check_task({"environment": {"gpus": 1}})
    overridden = made(TrialConfig("nop", None, 1, environment="local"), environment={"override_gpus": 0})
    overridden.check_task({"environment": {"gpus": 1}})


def test_an_environment_that_nobody_offers_is_not_advised() -> None:
    catalogue = Catalogue(
        [
            Offer("local@1", "local", AGENTS, 2048),
            Offer("docker@1", "docker", AGENTS, 2048, reason="no engine answers."),
        ]
    )
    config, places = TrialConfig("nop", None, 1), Environments(local=True)
    entry = unit(config, catalogue, inherited_environment=None, harbor={}, doors=ALL, environments=places)
    with pytest.raises(UnfitTask) as refusal:
        entry.check_task({"environment": {"gpus": 1}})
    assert str(refusal.value.fix).startswith("No environment that workers offer here has it (local)")


def test_the_oracle_needs_a_solution() -> None:
    catalogue = Catalogue([Offer("local@1", "local", {"oracle": False}, 2048)])
    config, places = TrialConfig("oracle", None, 1), Environments(local=True)
    oracle = unit(config, catalogue, inherited_environment=None, harbor={}, doors=ALL, environments=places)
    oracle.check_task({"has_solution": True})
    with pytest.raises(UnfitTask, match=r"has none\."):
        oracle.check_task({"has_solution": False})
