"""What a worker must know to run a trial."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.credentials import Table
from oddish.db.tables import gateway_jobs, secrets, task_versions, tasks, trials
from oddish.errors import NotFound
from oddish.keyring import Keyring
from oddish.registries import RegistryLogin, login_secrets
from oddish.secrecy import credential_values, is_secret
from oddish.trials.confidential import Confidential
from oddish.trials.credentials import names_of
from oddish.trials.environments import Environments
from oddish.trials.organisation_secrets import secret_values


@dataclass(frozen=True)
class TrialSpec:
    """One trial, ready to run. ``env``, ``credentials`` and ``logins`` hold secrets and never leave memory."""

    trial_id: str
    experiment_id: str
    task_name: str
    content_hash: str
    archive_key: str
    agent: str
    model: str | None
    agent_kwargs: dict[str, object]
    environment: str
    harbor: dict[str, object]
    env: dict[str, str] = field(repr=False)
    """Of the agent, inside the sandbox."""
    credentials: dict[str, str] = field(repr=False, default_factory=dict)
    """Of the process of the attempt: what its agent and its task name, as of now."""
    logins: Sequence[RegistryLogin] = field(repr=False, default=())
    """At the registries that its images come from."""
    correlation_id: str | None = None
    """Of the request that made the trial."""
    workspace_key: str | None = None
    """Of the archive that is verified instead of an agent's work."""
    has_cost_limit: bool = False
    """Whether it is stopped when its run has cost too much."""

    def secrets(self) -> frozenset[str]:
        """The values that nothing of the attempt may show."""
        of_agent = {value for name, value in self.env.items() if is_secret(name, value)}
        return credential_values(self.credentials) | login_secrets(self.logins) | of_agent


async def load_spec(
    connection: AsyncConnection,
    trial_id: str,
    keyring: Keyring,
    *,
    table: Table | None = None,
    own: Mapping[str, str] | None = None,
    environments: Environments | None = None,
) -> TrialSpec:
    """The spec of ``trial_id`` with its secrets decrypted.

    ``table`` is what the engine says of credentials, ``own`` what the worker may hand on of its environment.
    Raises ``NotFound`` for an unknown trial or one whose secrets have been deleted, ``KeyringError`` for secrets of
    another key, ``MissingCredential`` for what nobody offers any more, and ``LoginOfProvider``.
    """
    row = (
        await connection.execute(
            select(
                trials.c.org_id,
                trials.c.experiment_id,
                trials.c.agent,
                trials.c.model,
                trials.c.environment,
                trials.c.agent_config,
                trials.c.harbor_config,
                trials.c.correlation_id,
                trials.c.budget_id,
                tasks.c.name.label("task_name"),
                task_versions.c.content_hash,
                task_versions.c.archive_key,
                task_versions.c.definition,
                secrets.c.ciphertext,
                gateway_jobs.c.workspace_key,
            )
            .join(task_versions, task_versions.c.id == trials.c.task_version_id)
            .join(tasks, tasks.c.id == trials.c.task_id)
            .outerjoin(secrets, secrets.c.id == trials.c.secret_id)
            .outerjoin(gateway_jobs, gateway_jobs.c.id == trials.c.gateway_job_id)
            .where(trials.c.id == trial_id)
        )
    ).one_or_none()
    if row is None:
        raise NotFound(f"Trial {trial_id!r} does not exist.")
    plain: dict[str, str | None] = row.agent_config.get("env") or {}
    given = Confidential.from_plaintext(keyring.decrypt(row.ciphertext)) if row.ciphertext else Confidential()
    missing = sorted(name for name, value in plain.items() if value is None and name not in given.env)
    if missing:
        raise NotFound(
            f"The secret values of {', '.join(missing)} for trial {trial_id!r} have been deleted.",
            fix="Submit the trial again with them.",
        )
    env = {name: value for name, value in plain.items() if value is not None} | dict(given.env)
    named = names_of(
        agent=row.agent,
        model=row.model,
        agent_config=row.agent_config | {"env": env},
        harbor=row.harbor_config,
        definition=row.definition,
        table=table,
    )
    (environments or Environments()).check_names(row.environment, named, row.definition)
    kept = await secret_values(connection, keyring, row.org_id, named.names)
    credentials = named.hand_over([given.credentials, kept, own or {}])
    named.check(credentials)
    return TrialSpec(
        trial_id=trial_id,
        experiment_id=row.experiment_id,
        task_name=row.task_name,
        content_hash=row.content_hash,
        archive_key=row.archive_key,
        agent=row.agent,
        model=row.model,
        agent_kwargs=row.agent_config.get("kwargs") or {},
        environment=row.environment,
        harbor=row.harbor_config,
        env=env,
        credentials=credentials,
        logins=given.logins,
        correlation_id=row.correlation_id,
        workspace_key=row.workspace_key,
        has_cost_limit=row.budget_id is not None,
    )
