"""Each closed door is refused by default, by name, and opened by the setting that the refusal names."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from oddish.settings import Settings
from oddish.trials.catalogue import Catalogue, Offer, UnknownAgent, UnknownEnvironment
from oddish.trials.deployment import doors, environments
from oddish.trials.doors import ALL, NONE, ClosedPassthrough, Door, Doors
from oddish.trials.environments import Environments
from oddish.trials.passthrough import check_worker_files
from oddish.trials.units import TrialConfig, Unit, unit

AGENTS = {"nop": False, "acp": True, "claude-code": True}
NAMES = ("docker", "modal", "gke", "langsmith", "openshift")
CATALOGUE = Catalogue([Offer(f"{name}@1", name, AGENTS, 2048) for name in NAMES])
PRIVILEGED = {"services": {"reaches": ["environment/docker-compose.yaml: services.main.privileged"], "variables": []}}


@dataclass(frozen=True)
class Row:
    """A submission that goes through one door, and the word by which it is refused."""

    door: Door
    named: str
    agent: str = "nop"
    environment: str | None = None
    kwargs: dict[str, object] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    harbor: dict[str, object] = field(default_factory=dict)
    definition: dict[str, object] = field(default_factory=dict)

    def submit(self, open_doors: Doors, *, local: bool = False) -> Unit:
        config = TrialConfig(self.agent, None, 1, environment=self.environment, kwargs=self.kwargs, env=self.env)
        made = unit(
            config,
            CATALOGUE,
            inherited_environment=None,
            harbor=self.harbor,
            doors=open_doors,
            environments=Environments(local=local),
        )
        made.check_task(self.definition)
        return made


def option(**options: object) -> dict[str, object]:
    return {"environment": {"kwargs": options}}


ROWS = [
    Row(Door.IMPORT_PATHS, "my.module:Agent", agent="my.module:Agent"),
    Row(Door.IMPORT_PATHS, "my.module:Box", environment="my.module:Box"),
    Row(Door.IMPORT_PATHS, "harbor.verifier.import_path", harbor={"verifier": {"import_path": "my:Verifier"}}),
    Row(Door.IMPORT_PATHS, "harbor.verifier.kwargs", harbor={"verifier": {"kwargs": {"a": 1}}}),
    Row(Door.IMPORT_PATHS, "agent_config.kwargs.import_name", kwargs={"import_name": "a:B"}),
    Row(Door.MOUNTS, "harbor.environment.mounts", harbor={"environment": {"mounts": [{"source": "/"}]}}),
    Row(Door.MOUNTS, "harbor.environment.kwargs.auto_mounting", harbor=option(auto_mounting=True)),
    Row(Door.MOUNTS, "harbor.environment.kwargs.volumes", environment="modal", harbor=option(volumes={"/v": "shared"})),
    Row(
        Door.EXTRA_COMPOSE,
        "harbor.environment.extra_docker_compose",
        harbor={"environment": {"extra_docker_compose": ["/etc/x.yaml"]}},
    ),
    Row(Door.EXTRA_COMPOSE, "agent_config.kwargs.compose_overlay", kwargs={"compose_overlay": 1}),
    Row(Door.HOST_ACCESS, "services.main.privileged", definition=PRIVILEGED),
    Row(Door.HOST_ACCESS, "agent_config.kwargs.privileged", kwargs={"privileged": True}),
    Row(Door.WORKER_FILES, "agent_config.kwargs.config", kwargs={"config": "/etc/passwd"}),
    Row(Door.WORKER_FILES, "agent_config.kwargs.prompt_template_path", kwargs={"prompt_template_path": "/etc/shadow"}),
    Row(Door.WORKER_FILES, "agent_config.kwargs.memory_dir", kwargs={"memory_dir": "/root"}),
    Row(Door.WORKER_FILES, "agent_config.kwargs.load_trajectory", kwargs={"load_trajectory": "/t.json"}),
    Row(Door.WORKER_FILES, "agent_config.env.CODEX_FORCE_AUTH_JSON", env={"CODEX_FORCE_AUTH_JSON": "1"}),
    Row(Door.HARBOR_VARIABLES, "harbor.environment.env", harbor={"environment": {"env": {"A": "b"}}}),
    Row(Door.HARBOR_VARIABLES, "harbor.verifier.env", harbor={"verifier": {"env": {"A": "b"}}}),
    Row(Door.HARBOR_VARIABLES, "harbor.mcp_servers", harbor={"mcp_servers": []}),
    Row(Door.ACCOUNT_OPTIONS, "kwargs.secrets", environment="modal", harbor=option(secrets=["aws"])),
    Row(Door.ACCOUNT_OPTIONS, "kwargs.langsmith_endpoint", "nop", "langsmith", harbor=option(langsmith_endpoint="x")),
    Row(
        Door.ACCOUNT_OPTIONS, "kwargs.service_account_name", "nop", "openshift", harbor=option(service_account_name="a")
    ),
    Row(Door.ACCOUNT_OPTIONS, "kwargs.keep_containers", harbor=option(keep_containers=True)),
    Row(
        Door.GIT_TRANSPORTS,
        "agent_config.kwargs.source.repo_url",
        kwargs={"source": {"repo_url": "ssh://git@example.org/agent.git", "ref": "main"}},
    ),
]
IDS = [f"{row.door.value}: {row.named}" for row in ROWS]


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_a_closed_door_is_refused_naming_the_member_and_the_setting(row: Row) -> None:
    for others in (NONE, ALL - {row.door}):
        with pytest.raises(ClosedPassthrough) as refused:
            row.submit(others)
        assert row.named in str(refused.value)
        assert f"ODDISH_{row.door.upper()}=true" in str(refused.value)
        assert refused.value.code == "closed_passthrough"


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_its_setting_opens_it(row: Row) -> None:
    assert row.submit(frozenset({row.door}))


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_in_local_mode_it_is_open(row: Row, tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, deployment="local")
    assert row.submit(doors(settings), local=environments(settings).local)


def test_there_is_a_row_for_every_door() -> None:
    assert {row.door for row in ROWS} == ALL


def test_every_door_is_a_setting_that_is_off(tmp_path: Path) -> None:
    for deployment in ("self-hosted", "hosted"):
        assert doors(Settings(home=tmp_path, deployment=deployment)) == NONE
    for door in Door:
        assert doors(Settings(home=tmp_path, **{door.value: True})) == {door}


def test_what_stays_in_the_sandbox_needs_no_door() -> None:
    Row(
        Door.MOUNTS,
        "",
        kwargs={"max_turns": 3, "config": {"inline": True}, "source": {"repo_url": "https://example.org/agent.git"}},
        harbor={"environment": {"override_cpus": 2, "force_build": True}, "artifacts": ["/app/out"]},
        definition={"services": {"reaches": [], "variables": ["A"]}},
    ).submit(NONE)
    Row(Door.ACCOUNT_OPTIONS, "", environment="modal", harbor=option(sandbox_timeout_secs=60)).submit(NONE)


@pytest.mark.parametrize("agent", ["acp:goose", "acp:codex-cli@1.2.3"])
def test_an_agent_of_the_acp_registry_is_no_import_path(agent: str) -> None:
    made = unit(
        TrialConfig(agent, "openai/gpt-5", 1),
        CATALOGUE,
        inherited_environment=None,
        harbor={},
        doors=NONE,
        environments=Environments(),
    )
    assert made.agent == agent


@pytest.mark.parametrize("agent", ["acp:../../etc/passwd", "acp:", "acp:a/b", "a:b:c", "/etc/x.py:A", "a b:C", ":C"])
def test_what_only_looks_like_one_is_refused(agent: str) -> None:
    with pytest.raises(ClosedPassthrough):
        Row(Door.IMPORT_PATHS, "", agent=agent).submit(NONE)
    with pytest.raises(UnknownAgent):
        Row(Door.IMPORT_PATHS, "", agent=agent).submit(ALL, local=True)


@pytest.mark.parametrize("environment", ["a:b:c", "/etc/x.py:A", ":C", "a-b:C"])
def test_an_environment_that_only_looks_like_an_import_path_is_unknown(environment: str) -> None:
    with pytest.raises(UnknownEnvironment):
        Row(Door.IMPORT_PATHS, "", environment=environment).submit(ALL, local=True)


def test_a_task_whose_services_nobody_looked_at_is_uploaded_again() -> None:
    unseen = Row(Door.HOST_ACCESS, "", definition={"environment": {"has_compose": True}})
    with pytest.raises(ClosedPassthrough, match="--force-new-version"):
        unseen.submit(NONE)
    assert unseen.submit(frozenset({Door.HOST_ACCESS}))
    assert Row(Door.HOST_ACCESS, "", definition={"environment": {"has_compose": False}}).submit(NONE)


def test_credentials_that_name_files_of_the_worker_are_behind_the_same_door() -> None:
    with pytest.raises(ClosedPassthrough, match="ODDISH_ALLOW_WORKER_FILES"):
        check_worker_files("credentials", ["GEMINI_OAUTH_CREDS_PATH"], NONE)
    check_worker_files("credentials", ["GEMINI_OAUTH_CREDS_PATH"], ALL)
