"""What a trial is given of credentials, and what it is refused for."""

from typing import Any

import pytest

from oddish.engine.credentials import read_table
from oddish.errors import InvalidInput
from oddish.trials.credentials import MissingCredential, TrialNames, names_of, refuse_unusable

SUBMITTED = {"ANTHROPIC_API_KEY": "submitted", "OPENAI_API_KEY": "other", "GITHUB_TOKEN": "git"}
ORGANISATION = {"ANTHROPIC_API_KEY": "organisation", "CLAUDE_CODE_OAUTH_TOKEN": "oauth", "DATABASE_URL": "db"}
WORKER = {"ANTHROPIC_API_KEY": "worker", "ANTHROPIC_BASE_URL": "https://gateway.example", "PATH": "/bin"}


def variable(name: str, section: str, *, required: bool = True) -> dict[str, object]:
    return {"name": name, "section": section, "required": required}


def named(
    agent: str = "claude-code",
    model: str | None = "anthropic/claude-sonnet-4-5",
    *variables: dict[str, object],
    env: dict[str, str] | None = None,
    kwargs: dict[str, Any] | None = None,
    harbor: dict[str, Any] | None = None,
) -> TrialNames:
    return names_of(
        agent=agent,
        model=model,
        agent_config={"env": env or {}, "kwargs": kwargs or {}},
        harbor=harbor or {},
        definition={"variables": list(variables)},
        table=read_table(),
    )


def test_an_agent_gets_the_first_key_there_is_and_no_other() -> None:
    assert named().hand_over([SUBMITTED, ORGANISATION, WORKER]) == {
        "ANTHROPIC_API_KEY": "submitted",
        "ANTHROPIC_BASE_URL": "https://gateway.example",
    }


def test_keys_of_its_own_go_before_those_of_others() -> None:
    assert named().hand_over([{"CLAUDE_CODE_OAUTH_TOKEN": "mine"}, ORGANISATION]) == {"CLAUDE_CODE_OAUTH_TOKEN": "mine"}
    explicit = named(env={"ANTHROPIC_AUTH_TOKEN": "explicit"})
    assert explicit.hand_over([SUBMITTED, ORGANISATION]) == {}
    assert named(env={"ANTHROPIC_BASE_URL": "https://mine.example"}).hand_over([ORGANISATION, WORKER]) == {
        "ANTHROPIC_API_KEY": "organisation",
        "CLAUDE_CODE_OAUTH_TOKEN": "oauth",
    }


def test_a_task_gets_what_it_names() -> None:
    trial = named("oracle", None, variable("GITHUB_TOKEN", "verifier.env"), variable("PATH", "environment.env"))
    assert trial.names == {"GITHUB_TOKEN"}
    assert trial.hand_over([SUBMITTED, ORGANISATION, WORKER]) == {"GITHUB_TOKEN": "git"}


def test_variables_of_the_solution_are_for_the_oracle() -> None:
    solution = variable("GITHUB_TOKEN", "solution.env")
    assert named("oracle", None, solution).names == {"GITHUB_TOKEN"}
    assert named("nop", None, solution).names == set()


def test_a_verifier_that_does_not_run_gets_nothing() -> None:
    variables = [variable("A_TOKEN", "verifier.env"), variable("B_TOKEN", "steps[0].verifier.environment.env")]
    assert named("nop", None, *variables).names == {"A_TOKEN", "B_TOKEN"}
    assert named("nop", None, *variables, harbor={"verifier": {"disable": True}}).names == set()


def test_a_variable_may_stand_for_another() -> None:
    trial = named(env={"ANTHROPIC_API_KEY": "${TEAM_KEY}"}, harbor={"verifier": {"env": {"JUDGE": "${JUDGE_KEY:-}"}}})
    assert {"TEAM_KEY", "JUDGE_KEY"} <= trial.names
    assert trial.hand_over([{"TEAM_KEY": "team", "ANTHROPIC_API_KEY": "unused"}]) == {"TEAM_KEY": "team"}
    with pytest.raises(MissingCredential, match="'TEAM_KEY'"):
        trial.check(())


def test_an_agent_without_a_key_is_refused_by_name_and_with_the_fix() -> None:
    with pytest.raises(MissingCredential) as refusal:
        named().check({"OPENAI_API_KEY"})
    assert refusal.value.code == "missing_credential"
    assert "claude-code" in refusal.value.message
    assert "ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN" in refusal.value.message.replace(
        "ANTHROPIC_AUTH_TOKEN or ", ""
    )
    assert "or an address: ANTHROPIC_BASE_URL" in refusal.value.message
    assert "or a switch: CLAUDE_CODE_USE_BEDROCK" in refusal.value.message
    assert str(refusal.value.fix).startswith("Run it with --ae ANTHROPIC_API_KEY, which takes")
    assert "oddish secrets set ANTHROPIC_API_KEY" in str(refusal.value.fix)


def test_a_variable_of_a_task_is_asked_for_in_a_file() -> None:
    with pytest.raises(MissingCredential) as refusal:
        named("oracle", None, variable("JUDGE_KEY", "verifier.env")).check(())
    assert "JUDGE_KEY=VALUE into a file and run it with --env-file FILE" in str(refusal.value.fix)
    assert "--ae" not in str(refusal.value.fix)


def test_both_halves_of_a_login_are_in_the_fix() -> None:
    with pytest.raises(MissingCredential) as refusal:
        named("rovodev-cli", None).check({"ROVODEV_USER_EMAIL"})
    assert "--ae ROVODEV_USER_EMAIL --ae ROVODEV_USER_API_TOKEN" in str(refusal.value.fix)
    assert "oddish secrets set ROVODEV_USER_EMAIL` and `oddish secrets set ROVODEV_USER_API_TOKEN" in str(
        refusal.value.fix
    )


@pytest.mark.parametrize(
    "trial",
    [
        named(env={"ANTHROPIC_API_KEY": "explicit"}),
        named(env={"MY_GATEWAY_TOKEN": "explicit"}),
        named(kwargs={"base_url": "http://127.0.0.1:8080"}),
        named("oracle", None),
        named("nop", None),
        named("acp", "anthropic/claude-sonnet-4-5"),
        named("an-agent-of-another-engine", None),
    ],
)
def test_what_may_have_an_access_of_its_own_is_let_through(trial: TrialNames) -> None:
    trial.check(())


def test_a_variable_of_the_task_without_a_value_is_refused() -> None:
    with pytest.raises(MissingCredential, match=r"verifier\.env of task\.toml takes the variable 'JUDGE_KEY'"):
        named("nop", None, variable("JUDGE_KEY", "verifier.env")).check({"OTHER"})
    named("nop", None, variable("JUDGE_KEY", "verifier.env")).check({"JUDGE_KEY"})
    named("nop", None, variable("JUDGE_KEY", "verifier.env", required=False)).check(())
    named("nop", None, variable("HTTPS_PROXY", "verifier.env")).check(())


def test_without_a_word_of_the_engine_nothing_is_required() -> None:
    trial = names_of(agent="claude-code", model=None, agent_config={}, harbor={}, definition={}, table=None)
    trial.check(())
    assert trial.hand_over([SUBMITTED]) == {}


@pytest.mark.parametrize("name", ["PATH", "LD_PRELOAD", "ODDISH_SECRET_KEY", "PYTHONPATH"])
def test_variables_that_steer_the_worker_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match=f"{name} cannot be handed to a trial: it steers programs"):
        refuse_unusable([name])
    refuse_unusable(SUBMITTED)


@pytest.mark.parametrize("name", ["not a name", "1st", "a-b", "", "NAME\n", "ÄRGER"])
def test_what_names_no_variable_is_refused_for_that(name: str) -> None:
    with pytest.raises(InvalidInput, match="is not the name of a variable") as refused:
        refuse_unusable([name])
    assert "steers" not in str(refused.value)
    assert repr(name) in str(refused.value)
