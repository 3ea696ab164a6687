"""What a worker asks of the child that runs an attempt."""

from pathlib import Path

from oddish.engine.protocol import VERSION, RegistryAuth, Run
from oddish.queue.claim import Claim
from oddish.settings import Settings
from oddish.trials.spec import TrialSpec
from oddish.worker.workspace import Workspace


def request(
    spec: TrialSpec,
    claim: Claim,
    settings: Settings,
    workspace: Workspace,
    task_dir: Path,
    directory: Path,
    seeded: Path | None = None,
) -> Run:
    """For the attempt of ``claim``, whose files go below ``directory``. ``seeded`` is a workspace to verify."""
    run = Run(
        type="run",
        version=VERSION,
        attempt=claim.label,
        task_dir=str(task_dir),
        trials_dir=str(directory),
        trial_name=claim.label.lower(),
        agent=spec.agent,
        model=spec.model,
        agent_kwargs=spec.agent_kwargs,
        agent_env=spec.env,
        environment=spec.environment,
        environment_kwargs=_options(settings, spec.environment),
        env=spec.credentials,
        harbor=spec.harbor,
        deadline_sec=settings.attempt_deadline_seconds,
        memory_mb=settings.attempt_memory_mb,
        scratch=str(workspace.sandbox),
        owner=workspace.owner,
    )
    if settings.terminus_no_progress:
        run["stuck_episodes"] = settings.terminus_stuck_episodes
    if spec.correlation_id:
        run["correlation_id"] = spec.correlation_id
    if seeded is not None:
        run["workspace"] = str(seeded)
    if spec.logins:
        run["registry_auth"] = [
            RegistryAuth(registry=login.registry, username=login.username, token=login.token) for login in spec.logins
        ]
    return run


def _options(settings: Settings, environment: str) -> dict[str, object]:
    own: dict[str, object] = {"cache_bytes": settings.sandbox_cache_bytes} if environment == "local" else {}
    return own | dict(settings.environment_options.get(environment, {}))
