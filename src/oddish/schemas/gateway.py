"""What callers ask the job gateway for. Names are those of the wire, and of the request that a job keeps."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from oddish.errors import InvalidInput
from oddish.gateway.addresses import LONGEST_ADDRESS
from oddish.gateway.callbacks import secret_flaw
from oddish.registries import MOST_LOGINS
from oddish.schemas.base import Name, RequestBody
from oddish.schemas.submission import MAX_VALUE, RegistryAuth
from oddish.tasks.characters import variable_flaw

MOST_TRIALS = 512
"""Of one job: its document holds what Harbor recorded of each."""
MOST_AGENTS = 32
MOST_REPEATS = 50
MOST_NOTIFICATIONS = 10
MOST_METADATA = 16 * 1024
"""Bytes of a job's metadata as JSON: lists of jobs show it."""

ARCHIVE = "https://storage.example/tasks/my-task.zip"
FIXTURE = "https://storage.example/fixtures/my-workspace.zip"
HOOK = "https://hooks.example/oddish"
ENQUEUE: dict[str, Any] = {
    "task_slug": "my-task",
    "metadata": {"task_archive_url": ARCHIVE},
    "agents": [{"name": "a", "harbor_agent": "oracle", "harbor_extensions": {"agent_env": {"FOO": "bar"}}}],
}
VERIFY: dict[str, Any] = {
    "task_slug": "my-task",
    "metadata": {"task_archive_url": ARCHIVE},
    "workspace_fixture_url": FIXTURE,
}

type Url = Annotated[str, Field(min_length=1, max_length=LONGEST_ADDRESS)]
type EventName = Literal["job.queued", "trial.started", "trial.phase", "trial.finished", "job.finished"]
type Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


def _signing(secret: str) -> str:
    if flaw := secret_flaw(secret):
        raise ValueError(f"it {flaw}.")
    return secret


type Secret = Annotated[
    str, Field(max_length=1000, description="Signs what is sent; never shown again."), AfterValidator(_signing)
]


class ArchiveUrlMissing(InvalidInput):
    """A job whose `metadata` does not say where the archive of its task is."""

    code = "task_archive_url_required"


class JobMetadata(RequestBody):
    """Where the task is, and whatever else the caller wants kept with the job and shown again."""

    model_config = ConfigDict(extra="allow")

    task_archive_url: Annotated[
        Url, Field(description="Of a zip of the task's directory, which a worker fetches.", examples=[ARCHIVE])
    ]

    @model_validator(mode="after")
    def _limit(self) -> Self:
        if (size := len(self.model_dump_json())) > MOST_METADATA:
            raise ValueError(f"{size} bytes are more than the {MOST_METADATA} that metadata may have.")
        return self


class HarborExtensions(BaseModel):
    """How the trials of one agent are run."""

    model_config = ConfigDict(extra="forbid")

    agent_env: dict[Name, Annotated[str, Field(max_length=MAX_VALUE)]] = Field(
        default_factory=dict,
        description="Variables of the agent. Values of secret-named ones are encrypted and never shown again.",
    )
    kwargs: dict[Name, Any] = Field(default_factory=dict, description="Arguments of Harbor's agent.")
    n_concurrent: Annotated[int, Field(ge=1, le=MOST_TRIALS, strict=True)] | None = Field(
        None, description="Trials of this agent that run at once. Default: `pass_at_k`, and 16 at most."
    )
    override_timeout_sec: Seconds | None = Field(None, description="Of the agent, instead of the task's.")
    override_setup_timeout_sec: Seconds | None = Field(None, description="Of the agent's setup.")
    max_timeout_sec: Seconds | None = Field(None, description="What the agent has at most, whatever the task says.")
    environment: Name | None = Field(None, description="Where the trials run. Default: what workers prefer.")
    harbor: dict[str, Any] = Field(
        default_factory=dict,
        description="Further members of Harbor's configuration, as `POST /tasks/sweep` takes them: `environment` with "
        "`override_cpus`, `override_memory_mb` and the like, `verifier`, `timeout_multiplier`.",
    )

    @field_validator("agent_env", mode="before")
    @classmethod
    def _refuse_variables(cls, env: Any) -> Any:
        for name, value in env.items() if isinstance(env, dict) else ():
            if reason := variable_flaw(name, value if isinstance(value, str) else ""):
                raise ValueError(f"{reason}.")
        return env


class GatewayAgent(RequestBody):
    """One agent and model that is to have a go at the task."""

    model_config = ConfigDict(extra="forbid")

    name: Name = Field(description="By which the caller knows it; each agent of a job has its own.", examples=["a"])
    harbor_agent: Name = Field(description="As Harbor calls it.", examples=["oracle"])
    model: Name | None = None
    harbor_extensions: HarborExtensions = Field(default_factory=HarborExtensions)


class Notification(BaseModel):
    """Somebody who is told of events of the job."""

    model_config = ConfigDict(extra="forbid")

    url: Annotated[Url, Field(examples=[HOOK])]
    events: Annotated[list[EventName], Field(min_length=1)] = ["job.finished"]
    secret: Secret | None = Field(None, repr=False)


class Delivery(BaseModel):
    """Where the archive of the job's artifacts is put."""

    model_config = ConfigDict(extra="forbid")

    url: Annotated[Url, Field(description="Presigned, for PUT.", examples=["https://storage.example/in/job.zip"])]
    secret: Secret | None = Field(None, repr=False)


class Writeback(BaseModel):
    """Where the job's document is sent once it has ended."""

    model_config = ConfigDict(extra="forbid")

    url: Annotated[Url, Field(examples=[HOOK])]
    secret: Secret | None = Field(None, repr=False)


class JobRequest(RequestBody):
    """What every job has. Members that are not known are refused: what is asked for is not left undone in silence."""

    model_config = ConfigDict(extra="forbid")

    task_slug: Name = Field(description="What the task is called here.", examples=["my-task"])
    metadata: JobMetadata
    notifications: Annotated[list[Notification], Field(max_length=MOST_NOTIFICATIONS)] = Field(default_factory=list)
    deliver: Delivery | None = None
    writeback: Writeback | None = None
    registry_auth: Annotated[list[RegistryAuth], Field(max_length=MOST_LOGINS)] = Field(
        default_factory=list,
        description="Logins at the registries that images of the environment `docker` come from.",
    )

    @model_validator(mode="before")
    @classmethod
    def _require_archive(cls, values: Any) -> Any:
        """Apart from the other members: callers know this refusal by its words."""
        if isinstance(values, dict):
            metadata = values.get("metadata") or {}
            misplaced = "task_archive_url" in values
            if isinstance(metadata, dict) and metadata.get("task_archive_url") in (None, ""):
                raise ArchiveUrlMissing(
                    "metadata.task_archive_url is required.",
                    fix="Move task_archive_url into metadata: at the top level it is ignored."
                    if misplaced
                    else "Give the address of a zip of the task's directory.",
                )
            return {name: value for name, value in values.items() if name != "task_archive_url"}
        return values

    @property
    def addresses(self) -> Sequence[str]:
        """Of the archives that a worker fetches."""
        return [self.metadata.task_archive_url]

    @property
    def callbacks(self) -> Sequence[str]:
        """The addresses that something is sent to."""
        told = [*self.notifications, self.deliver, self.writeback]
        return [one.url for one in told if one is not None]


class ExecuteTasks(JobRequest):
    """Runs of agents on one task."""

    model_config = ConfigDict(json_schema_extra={"examples": [ENQUEUE]})

    agents: Annotated[list[GatewayAgent], Field(min_length=1, max_length=MOST_AGENTS)]
    pass_at_k: Annotated[int, Field(ge=1, le=MOST_TRIALS, strict=True)] = Field(1, description="Trials of each agent.")
    require_verifier_evidence: bool | None = Field(
        None,
        description="Whether a reward may be scored only if the verifier's report names a test. Default: as the "
        "deployment says (`SANDBOX_HARBOR_REQUIRE_VERIFIER_EVIDENCE`).",
    )

    @model_validator(mode="after")
    def _limit(self) -> Self:
        names = [agent.name for agent in self.agents]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"two agents have the name {twice[0]!r}.")
        if (total := self.pass_at_k * len(names)) > MOST_TRIALS:
            raise ValueError(f"{total} trials are more than the {MOST_TRIALS} that one job may have.")
        return self


class VerifyTask(JobRequest):
    """Runs of a task's verifier on a prepared workspace, without any agent."""

    model_config = ConfigDict(json_schema_extra={"examples": [VERIFY]})

    workspace_fixture_url: Url | None = Field(
        None, description="Of a zip that is laid over the task's `visible_seed` in /workspace.", examples=[FIXTURE]
    )
    repeats: Annotated[int, Field(ge=1, le=MOST_REPEATS, strict=True)] = Field(
        1, description="How often the verifier runs: one that does not always say the same is found out."
    )
    environment: Name | None = Field(None, description="Where it runs. Default: what workers prefer.")

    @property
    def addresses(self) -> Sequence[str]:
        fixture = self.workspace_fixture_url
        return [*super().addresses, *([] if fixture is None else [fixture])]
