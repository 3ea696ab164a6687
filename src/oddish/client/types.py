"""The JSON of the HTTP interface, as far as the client reads or writes it. The server's models are the authority."""

from typing import Literal, NotRequired, TypedDict

type JSON = bool | int | float | str | list[JSON] | dict[str, JSON] | None

type TrialStatus = Literal["pending", "queued", "running", "retrying", "success", "failed", "skipped"]

type Priority = Literal["low", "high"]

PAGE = 200
"""Tasks, or what else is listed, of one answer."""

UNFINISHED: frozenset[str] = frozenset({"pending", "queued", "running", "retrying"})


class Health(TypedDict):
    status: str
    database: str
    timestamp: str
    version: NotRequired[str]
    deployment: NotRequired[str]
    """``local`` when the server belongs to whoever may use it."""


class WorkersLoad(TypedDict):
    alive: int


class LoadTotals(TypedDict):
    """Unfinished trials of the organisation."""

    queued: int
    running: int
    retrying: int


class Load(TypedDict):
    """How busy a deployment is."""

    submit_ceiling: NotRequired[int]
    """Submissions that one client should have under way at most."""
    workers: WorkersLoad
    totals: NotRequired[LoadTotals]


class UploadedVersion(TypedDict):
    """Answer to ``complete``: the version that now exists."""

    task_id: str
    name: str
    version: int
    version_id: str
    previous_version: NotRequired[int | None]
    """The one that was current before; None of a new task."""
    existing_task: bool
    content_unchanged: bool
    content_hash: str


class UploadTarget(UploadedVersion):
    """Answer to ``init``: where the archive goes, or that the server has this content already."""

    upload_url: str | None
    upload_method: str
    upload_headers: dict[str, str]
    requires_completion: bool


class CredentialNeeds(TypedDict):
    """The variables that an agent takes its credentials from."""

    required: bool
    one_of: list[list[str]]
    """Groups; one whole group is enough."""
    also: list[str]
    """Used beside them: base URLs, regions."""


class Agent(TypedDict):
    name: str
    needs_model: bool
    credentials: CredentialNeeds


class Agents(TypedDict):
    agents: list[Agent]
    offered: list[str]
    """Names of variables that the server has already for the trials that name them."""


class Secret(TypedDict):
    name: str
    created_by: str
    created_at: str
    updated_at: str


class Secrets(TypedDict):
    secrets: list[Secret]


class AgentConfig(TypedDict, total=False):
    env: dict[str, str]
    kwargs: dict[str, JSON]
    override_setup_timeout_sec: float
    override_timeout_sec: float
    max_timeout_sec: float
    extra_allowed_hosts: list[str]
    disable_web_tools: bool


class SweepConfig(TypedDict):
    """One agent and model of a submission and how many trials it gets on the task."""

    agent: str
    model: str | None
    n_trials: int
    environment: NotRequired[str]
    agent_config: NotRequired[AgentConfig]


class RegistryAuth(TypedDict):
    """An account at a container registry."""

    registry: str
    username: str
    token: str


class Labelling(TypedDict, total=False):
    """What a submission says of its task and its experiment."""

    tags: dict[str, str]
    link: str
    github_username: str
    github_meta: dict[str, JSON]
    publish_experiment: bool
    run_analysis: bool
    run_probe: bool


class SweepRequest(Labelling):
    task_id: str
    configs: list[SweepConfig]
    priority: Priority
    experiment_id: NotRequired[str]
    """Id or name; an unknown name becomes a new experiment."""
    user: NotRequired[str]
    content_hash: NotRequired[str]
    append_to_task: NotRequired[bool]
    """Trials are added to the current version, where its oldest ones run unless an environment is named."""
    max_trial_attempts: NotRequired[int]
    max_cost_usd: NotRequired[float]
    budget: NotRequired[str]
    """The first attempt included."""
    credentials: NotRequired[dict[str, str]]
    """Variables for the trials whose agent or task names them."""
    registry_auth: NotRequired[list[RegistryAuth]]
    """Logins for the images of trials on a Docker engine."""
    harbor: NotRequired[dict[str, JSON]]
    """Sections of the engine's own configuration, for example ``{"verifier": {"disable": true}}``."""
    gate_baselines: NotRequired[bool]
    """Trials of other agents wait for those of oracle and nop, and run only when these find the task sound."""


class Submitted(TypedDict):
    """Answer to a sweep: what was created, and the experiment it belongs to."""

    id: str
    name: str
    status: str
    trials_count: int
    providers: dict[str, int]
    experiment_id: str
    experiment_name: str
    new_trial_ids: list[str]
    other_version_trials: NotRequired[int]
    """Of other versions of the task in the experiment: they do not count."""
    gated_trials: NotRequired[int]
    """New ones that wait for those of oracle and nop, or were skipped at once."""


class BatchResult(TypedDict):
    """What one submission of a batch came to."""

    index: int
    success: bool
    status_code: int
    task: NotRequired[Submitted | None]
    error: NotRequired["Problem | None"]


class BatchAnswer(TypedDict):
    total: int
    succeeded: int
    failed: int
    results: list[BatchResult]


class QueueInfo(TypedDict):
    """Why a trial has not started: its place in the queue of its model and how full that is."""

    position: int | None
    ahead: int | None
    queued_count: int | None
    running_count: int | None
    concurrency_limit: int | None
    reason: str | None


class Trial(TypedDict):
    id: str
    name: str
    task_id: str
    task_version: NotRequired[int]
    experiment_id: str
    agent: str
    model: str | None
    environment: str | None
    status: TrialStatus
    attempts: int
    max_attempts: int
    harbor_stage: str | None
    reward: float | None
    rewards: NotRequired[dict[str, JSON] | None]
    reasons: NotRequired[list[str]]
    error_message: str | None
    result: dict[str, JSON] | None
    harbor_config: NotRequired[dict[str, JSON]]
    harbor_source: NotRequired[str | None]
    harbor_sha: NotRequired[str | None]
    correlation_id: NotRequired[str | None]
    """Of the request that made the trial."""
    input_tokens: int | None
    cache_tokens: int | None
    cache_write_tokens: int | None
    output_tokens: int | None
    total_steps: int | None
    cost_usd: float | None
    cost_is_estimated: bool | None
    phase_timing: dict[str, JSON] | None
    origin: NotRequired[str]
    """``imported`` when it ran elsewhere."""
    superseded_by_trial_id: str | None
    queue_info: QueueInfo | None
    created_at: str
    started_at: str | None
    finished_at: str | None


class ExperimentRef(TypedDict):
    id: str
    name: str


class Experiment(TypedDict):
    id: str
    name: str
    trials: NotRequired[int]


class TrialFile(TypedDict):
    path: str
    size: int
    sha256: str
    url: NotRequired[str | None]
    """Signed, if it was asked for."""


class TrialAttempt(TypedDict):
    """One execution of a trial and how much it left."""

    attempt: int
    deciding: bool
    state: str
    status: str | None
    files: int
    bytes: int


class NotStored(TypedDict):
    path: str
    reason: str


class TrialFiles(TypedDict):
    trial_id: str
    attempt: NotRequired[int]
    """The one whose files these are."""
    attempts: NotRequired[list[TrialAttempt]]
    files: list[TrialFile]
    not_stored: NotRequired[list[NotStored]]
    not_stored_count: NotRequired[int]
    cursor: str | None


class TrialLogs(TypedDict):
    trial_id: str
    logs: str


class Task(TypedDict):
    id: str
    name: str
    status: str
    user: str | None
    experiment_id: str | None
    experiment_name: str | None
    experiments: list[ExperimentRef]
    current_version: int | None
    trial_version: NotRequired[int]
    """The one whose trials are shown."""
    other_version_trials: NotRequired[int]
    """Of other versions in the same place, which are not shown."""
    total: int
    completed: int
    failed: int
    progress: str
    reward_success: int
    reward_total: int
    trials: list[Trial] | None
    user_tags: NotRequired[dict[str, str]]
    """Values by name; an empty value is none."""
    created_at: str


class BrowsedTrial(TypedDict):
    id: str
    status: str
    reward: float | None
    error_message: str | None
    agent: str
    model: str | None


class BrowseItem(TypedDict):
    """A task and what the trials of its current version come to."""

    id: str
    name: str
    current_version: int
    version_count: int
    total_trials: int
    completed_trials: int
    failed_trials: int
    reward_success: int
    reward_sum: float
    reward_total: int
    last_run_at: str | None
    cost_usd: float | None
    latest_trials: list[BrowsedTrial]
    experiments: list[ExperimentRef]
    user_tags: dict[str, str]


class BrowsePage(TypedDict):
    items: list[BrowseItem]
    limit: int
    offset: int
    has_more: bool


class Total(TypedDict):
    total: int


class Facets(TypedDict):
    """The values that occur, by the filter of tasks that takes them."""

    tags: list[str]
    author: list[str]
    agents: list[str]
    models: list[str]
    agent_models: list[str]
    providers: list[str]
    environments: list[str]
    tool_names: list[str]
    harbor_stages: list[str]
    harbor_shas: list[str]


class ExperimentOptions(TypedDict):
    items: list[ExperimentRef]


class Tagged(TypedDict):
    """A task and all its tags."""

    task_id: str
    name: str
    user_tags: dict[str, str]


class Share(TypedDict):
    """Whether an experiment is published, and the token of its link."""

    name: str
    is_public: bool
    public_token: str | None
    description: str | None


class SignInLink(TypedDict):
    """What signs one browser in, once."""

    url: str
    expires_in_seconds: int


class Cancelled(TypedDict):
    status: str
    task_ids: list[str]
    not_found_task_ids: list[str]
    tasks_found: int
    tasks_cancelled: int
    trials_cancelled: int


class RetriedTrial(TypedDict):
    """A trial and the one that has taken its place."""

    trial_id: str
    new_trial_id: str
    task_id: str
    experiment_id: str
    status: str
    """Of the new one: ``queued``, or ``skipped`` where the baseline gate is closed."""


class RefusedTrial(TypedDict):
    """A trial that does not run again, and why."""

    trial_id: str
    error: "Problem"


class Retries(TypedDict):
    retried: list[RetriedTrial]
    refused: list[RefusedTrial]
    queued: int
    skipped: int
    failed: int


class Deleted(TypedDict):
    message: str
    kind: Literal["trial", "task", "experiment"]
    deleted: str
    trials_deleted: int
    trials_cancelled: int


class Problem(TypedDict, total=False):
    """An RFC 9457 problem document."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    fix: str | None
    job_id: str | None


class NewKeyRequest(TypedDict):
    name: str
    scope: Literal["read", "tasks", "full"]
    expires_in_days: NotRequired[int]
    user: NotRequired[str]
    """Name of the user it acts for, made if new; the caller by default."""
    role: NotRequired[Literal["admin", "member"]]


class NewKey(TypedDict):
    """A key that was made, and the only answer that shows it."""

    id: str
    name: str
    prefix: str
    scope: str
    user: str
    role: str
    created_at: str
    expires_at: str | None
    key: str


class ApiKey(TypedDict):
    id: str
    name: str
    prefix: str
    scope: str
    user: str
    role: str
    created_at: str
    created_by: str | None
    expires_at: str | None
    last_used_at: str | None
    revoked_at: str | None


class ApiKeys(TypedDict):
    keys: list[ApiKey]
    cursor: str | None


class Limit(TypedDict):
    """Of a queue key or a cap: one of the two is named."""

    queue_key: str | None
    cap: str | None
    limit: int | None
    """The one in force; None does not limit."""
    source: str | None
    """Where it comes from: ``override``, or the name of a setting."""
    deploy_limit: int | None
    override_limit: int | None
    running: int
    paused: bool


class Weight(TypedDict):
    user: str
    weight: float


class Limits(TypedDict):
    keys: list[Limit]
    caps: list[Limit]
    weights: list[Weight]
