"""Submitting trials, and cancelling them."""

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from oddish.registries import DOCKER_HUB, LONGEST_TOKEN, MOST_LOGINS
from oddish.schemas.base import Name, RequestBody, ResponseBody
from oddish.schemas.labels import Link, Metadata, Tags
from oddish.schemas.problem import Problem
from oddish.tasks.characters import variable_flaw

type Priority = Literal["low", "high"]

MAX_TRIALS = 10_000
MAX_VALUE = 100_000
"""Characters of a variable."""

UNSUPPORTED = (
    "extra_instructions",
    "skill_ids",
    "probe_name",
    "probe_scope",
    "result_focus",
    "evaluation_metric",
    "github_id",
)
"""Members that would change what happens, and that this release does not act on; empty values pass."""


class AgentConfig(BaseModel):
    """How an agent is started. Values of secret-named variables are encrypted and never shown again."""

    model_config = ConfigDict(extra="forbid")

    env: dict[Name, Annotated[str, Field(max_length=MAX_VALUE)]] = Field(default_factory=dict)
    kwargs: dict[Name, Any] = Field(default_factory=dict)
    override_setup_timeout_sec: Annotated[float, Field(gt=0)] | None = None
    override_timeout_sec: Annotated[float, Field(gt=0)] | None = None
    max_timeout_sec: Annotated[float, Field(gt=0)] | None = None
    extra_allowed_hosts: list[Name] | None = None
    disable_web_tools: bool | None = Field(
        None,
        description="Whether the agent does without tools that search or fetch the web at the model's provider. "
        "Default: it does where the task closes the internet to it.",
    )

    @field_validator("env", mode="before")
    @classmethod
    def _refuse_variables(cls, env: Any) -> Any:
        return _variables(env)

    def overrides(self) -> dict[str, Any]:
        return self.model_dump(exclude={"env", "kwargs", "disable_web_tools"}, exclude_none=True)


class RegistryAuth(BaseModel):
    """An account at a container registry. Encrypted and never shown again."""

    model_config = ConfigDict(extra="forbid")

    registry: Name = DOCKER_HUB
    username: Name
    token: Annotated[str, Field(max_length=LONGEST_TOKEN, repr=False)]


class SweepConfig(RequestBody):
    """One agent and model, and how many trials of it shall exist on the task in the experiment."""

    agent: Annotated[Name, Field(examples=["oracle"])]
    model: Name | None = None
    n_trials: Annotated[int, Field(ge=1)] = 1
    environment: Name | None = None
    agent_config: AgentConfig = Field(default_factory=AgentConfig)

    @model_validator(mode="before")
    @classmethod
    def _refuse_timeout(cls, values: Any) -> Any:
        return _without_timeout(values)


class SweepSubmission(RequestBody):
    task_id: Name
    configs: Annotated[list[SweepConfig], Field(min_length=1, max_length=100)]
    append_to_task: bool = False
    experiment_id: Name | None = Field(None, description="Id or name; a new name makes a new experiment.")
    environment: Name | None = Field(None, description="For configs that name none. Default: what workers prefer.")
    priority: Priority = "low"
    max_trial_attempts: Annotated[int, Field(ge=1, le=100)] | None = None
    user: Name | None = None
    content_hash: Annotated[str, Field(max_length=128)] | None = None
    harbor: dict[str, Any] = Field(default_factory=dict)
    credentials: dict[Name, Annotated[str, Field(max_length=MAX_VALUE)]] = Field(
        default_factory=dict,
        max_length=200,
        description="Variables for the trials whose agent or task names them, encrypted and never shown again. They do "
        "not tell trials apart.",
    )
    registry_auth: list[RegistryAuth] = Field(
        default_factory=list,
        max_length=MOST_LOGINS,
        description="Logins at the registries that images of the environment `docker` come from. They do not tell "
        "trials apart.",
    )
    tags: Tags = Field(default_factory=dict)
    link: Link | None = None
    github_username: Name | None = None
    github_meta: Metadata | None = None
    publish_experiment: bool | None = Field(
        None, description="Whether to publish the experiment; what is published stays so. Takes a key of scope `full`."
    )
    run_analysis: bool | None = Field(
        None, description="Whether trials are to be analysed: kept with the task, and never taken back by false."
    )
    run_probe: bool | None = Field(
        None,
        description="Whether a probe is to look at the version: kept with the task, and never taken back by false.",
    )
    max_cost_usd: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = Field(
        None,
        description="What the new trials may cost together. When the estimate of what they have cost reaches it, those "
        "that wait or run are cancelled. Each model must have a known price.",
    )
    budget: Annotated[str, Field(min_length=1, max_length=300)] | None = Field(
        None,
        description="Submissions that name the same one share `max_cost_usd`, as the tasks of one run do; by default "
        "it is of this submission alone.",
    )
    gate_baselines: bool = Field(
        False,
        description="New trials of other agents wait until those of oracle and nop for this task version in the "
        "experiment have ended. They run when each of oracle earned more than 0 and each of nop exactly 0; else they "
        "are `skipped`, with the reason. Without any trial of oracle or nop there, they do not wait.",
    )

    @field_validator("credentials", mode="before")
    @classmethod
    def _refuse_variables(cls, credentials: Any) -> Any:
        return _variables(credentials)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unsupported(cls, values: Any) -> Any:
        if isinstance(values, dict):
            for name in UNSUPPORTED:
                if values.get(name):
                    raise ValueError(f"{name} is not supported by this release; leave it out.")
        return _without_timeout(values)

    @model_validator(mode="after")
    def _budget_has_a_limit(self) -> Self:
        if self.budget is not None and self.max_cost_usd is None:
            raise ValueError(f"budget {self.budget!r} has no limit; give max_cost_usd as well.")
        return self

    @model_validator(mode="after")
    def _limit_trials(self) -> Self:
        total = sum(config.n_trials for config in self.configs)
        if total > MAX_TRIALS:
            raise ValueError(f"{total} trials are more than the {MAX_TRIALS} that one submission may ask for.")
        return self


class TaskResponse(ResponseBody):
    """What a submission came to."""

    id: str
    name: str
    status: str
    priority: Priority
    trials_count: int
    providers: dict[str, int]
    experiment_id: str
    experiment_name: str
    created_at: datetime
    new_trial_ids: list[str]
    other_version_trials: int = Field(description="Live trials of other versions in the experiment: they do not count.")
    gated_trials: int = Field(description="New trials that wait for those of oracle and nop, or were skipped at once.")
    user_tags: dict[str, str]


class BatchSubmission(BaseModel):
    """Submissions that are carried out one by one, each as if it had been sent alone."""

    submissions: Annotated[
        list[Any],
        Field(
            min_length=1,
            max_length=100,
            json_schema_extra={"items": {"$ref": "#/components/schemas/SweepSubmission"}},
        ),
    ]
    """Checked one by one as well: one that is malformed is refused in its result."""


class BatchResult(ResponseBody):
    """What one submission of a batch came to: a task, or the problem document of its refusal."""

    index: int
    success: bool
    status_code: int
    task: TaskResponse | None = None
    error: Problem | None = None


class BatchResponse(ResponseBody):
    total: int
    succeeded: int
    failed: int
    results: list[BatchResult]


class CancelRequest(RequestBody):
    task_ids: Annotated[list[Name], Field(max_length=1000)] = Field(default_factory=list)
    trial_ids: Annotated[list[Name], Field(max_length=1000)] = Field(default_factory=list)
    experiment_id: Name | None = None


class CancelResponse(ResponseBody):
    status: Literal["cancelled"] = "cancelled"
    task_ids: list[str]
    not_found_task_ids: list[str]
    tasks_found: int
    tasks_cancelled: int
    trials_cancelled: int
    modal_calls_cancelled: int = 0


def _variables(given: Any) -> Any:
    for name, value in given.items() if isinstance(given, dict) else ():
        if reason := variable_flaw(name, value if isinstance(value, str) else ""):
            raise ValueError(f"{reason}.")
    return given


def _without_timeout(values: Any) -> Any:
    if isinstance(values, dict) and values.get("timeout_minutes") is not None:
        raise ValueError(
            f"timeout_minutes is not accepted (given: {values['timeout_minutes']!r}); timeouts belong into task.toml."
        )
    return values
