"""The JSON about what is stored of trials and of task versions, as far as the client reads it."""

from typing import TypedDict

from oddish.client.types import JSON, ExperimentRef, Task


class NamedText(TypedDict):
    name: str
    content: str


class AgentTexts(TypedDict):
    oracle: str | None
    setup: str | None
    commands: list[NamedText]


class VerifierTexts(TypedDict):
    stdout: str | None
    stderr: str | None


class StructuredLogs(TypedDict):
    """The ends of a trial's text files by who wrote them."""

    trial_id: str
    agent: AgentTexts
    verifier: VerifierTexts
    other: list[NamedText]
    exception: str | None


class StoredObject(TypedDict):
    key: str
    size: int
    modified_at: str


class StoredPlace(TypedDict):
    """A prefix of the object store and what lies below it."""

    prefix: str
    attempt: int | None
    deciding: bool
    manifest: str
    objects: list[StoredObject]
    missing: list[str]
    unlisted: list[str]
    complete: bool


class DebugFiles(TypedDict):
    trial_id: str
    trial_s3_key: str | None
    computed_prefix: str
    places: list[StoredPlace]


class TaskVersion(TypedDict):
    id: str
    task_id: str
    version: int
    content_hash: str
    message: str | None
    created_by_user_id: str
    created_at: str
    is_current: bool


class Spending(TypedDict):
    """In US dollars."""

    cost_usd: float
    cost_trial_count: int
    cost_has_estimated: bool
    cost_has_native: bool
    billed_cost_usd: float
    billed_trial_count: int


class VersionSummary(Spending):
    id: str
    version: int
    message: str | None
    created_at: str
    is_current: bool
    trial_count: int
    completed_count: int
    failed_count: int
    skipped_count: int
    pending_count: int
    pass_count: int
    partial_count: int
    fail_count: int
    reward_sum: float
    reward_total: int
    last_run_at: str | None
    experiments: list[ExperimentRef]


class Totals(Spending):
    total_trials: int


class TaskDetail(TypedDict):
    task: Task
    versions: list[VersionSummary]
    totals: Totals


class TaskArchive(TypedDict):
    """Where a version of a task can be fetched."""

    task_id: str
    version: int
    content_hash: str
    archive_url: str | None
    archive_bytes: int


class TaskFileContent(TypedDict):
    path: str
    size: int
    sha256: str
    content: str
    encoding: str
    truncated: bool


type Trajectory = dict[str, JSON]
