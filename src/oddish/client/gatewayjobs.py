"""Jobs of the gateway as JSON: what is asked for, and what is said of it."""

from typing import Literal, NotRequired, TypedDict

from oddish.client.types import JSON, RegistryAuth

type JobStatus = Literal["queued", "running", "succeeded", "failed", "cancelled"]
STATUSES: tuple[JobStatus, ...] = ("queued", "running", "succeeded", "failed", "cancelled")


class JobMetadata(TypedDict):
    """Whatever else it has is kept with the job."""

    task_archive_url: str


class HarborExtensions(TypedDict, total=False):
    agent_env: dict[str, str]
    kwargs: dict[str, JSON]
    n_concurrent: int
    override_timeout_sec: float
    override_setup_timeout_sec: float
    max_timeout_sec: float
    environment: str
    harbor: dict[str, JSON]


class GatewayAgent(TypedDict):
    name: str
    harbor_agent: str
    model: NotRequired[str | None]
    harbor_extensions: NotRequired[HarborExtensions]


class Notification(TypedDict):
    url: str
    events: NotRequired[list[str]]
    secret: NotRequired[str]


class Delivery(TypedDict):
    url: str
    secret: NotRequired[str]


class JobRequest(TypedDict):
    task_slug: str
    metadata: JobMetadata
    notifications: NotRequired[list[Notification]]
    deliver: NotRequired[Delivery]
    writeback: NotRequired[Delivery]
    registry_auth: NotRequired[list[RegistryAuth]]


class ExecuteTasks(JobRequest):
    agents: list[GatewayAgent]
    pass_at_k: NotRequired[int]
    require_verifier_evidence: NotRequired[bool]


class VerifyTask(JobRequest):
    workspace_fixture_url: NotRequired[str]
    repeats: NotRequired[int]
    environment: NotRequired[str]


class JobAccepted(TypedDict):
    job_id: str
    status: JobStatus


class RefillAccepted(JobAccepted):
    retry_of: str
    pass_at_k: int
    retried_exceptions: list[str]


class JobError(TypedDict):
    """Why a job came to no trials."""

    code: str
    message: str


class TrialCounts(TypedDict):
    total: int
    queued: int
    running: int
    finished: int


class OutcomeCounts(TypedDict):
    scored: int
    errored: int
    successful: int


class OutcomeEvidence(TypedDict):
    evidence: Literal["present", "empty", "none"]
    tests: int


class TrialDetail(TypedDict):
    trial_id: str
    agent: str
    trial_name: str
    status: Literal["completed", "errored"]
    reward: float | None
    exception: str | None
    exception_message: NotRequired[str | None]


class OutcomeBrief(TypedDict):
    """Whether the rewards may be believed; ``status`` of the job says only whether any work was done."""

    status: Literal["scored", "unverified", "errored"]
    valid_for_scoring: bool
    exceptions: list[str]


class JobOutcome(OutcomeBrief):
    """The same, and why."""

    reasons: list[str]
    trials: OutcomeCounts
    verifier: OutcomeEvidence
    environment_notes: list[str]
    trials_detail: NotRequired[list[TrialDetail] | None]


class AgentResult(TypedDict):
    """One trial; ``result`` is what Harbor recorded, None where it left nothing."""

    name: str
    harbor_agent: str | None
    model: str | None
    trial_id: str
    trial_name: str
    status: Literal["completed", "errored"]
    reward: float | None
    environment_notes: list[str]
    result: dict[str, JSON] | None


class VerifierRun(TypedDict):
    trial_name: str
    exit_code: int | None
    reward: float | None


class VerifierResult(TypedDict):
    exit_code: int | None
    flaky: bool
    runs: list[VerifierRun]


class JobResult(TypedDict):
    """The members that may be missing are those of a verification."""

    outcome: JobOutcome
    agent_results: list[AgentResult]
    purpose: NotRequired[str | None]
    valid_for_scoring: NotRequired[bool | None]
    verifier: NotRequired[VerifierResult | None]
    reward: NotRequired[float | None]
    artifact_download_urls: NotRequired[dict[str, str] | None]


class JobSummary(TypedDict):
    job_id: str
    kind: Literal["execute", "verify"]
    status: JobStatus
    task_slug: str
    pass_at_k: int
    experiment_id: str | None
    retry_of: str | None
    created_at: str
    started_at: str | None
    finished_at: str | None
    error: JobError | None


class JobDocument(JobSummary):
    trials: TrialCounts
    outcome: JobOutcome | None
    result: JobResult | None


class JobListed(JobSummary):
    """What came of it once it has ended; ``exit_codes`` are those of the runs of a verification."""

    outcome: OutcomeBrief | None
    exit_codes: list[int | None] | None


class JobPage(TypedDict):
    """Jobs, the newest first; ``cursor`` continues the listing."""

    jobs: list[JobListed]
    cursor: str | None


class ArtifactFile(TypedDict):
    path: str
    trial_id: str
    size: int
    sha256: str
    url: str | None


class JobArtifacts(TypedDict):
    files: list[ArtifactFile]
    cursor: str | None


class ArtifactsArchive(TypedDict):
    """A zip of everything; ``url`` needs no key until ``expires_at``."""

    url: str
    expires_at: str
    size: int
    sha256: str


class DeliveryAttempt(TypedDict):
    """One attempt to send one message; ``status`` is that of the answer, None where there was none."""

    kind: Literal["notifications", "deliver", "writeback"]
    url: str
    event: str
    event_seq: int
    attempt: int
    result: Literal["delivered", "postponed", "failed"]
    status: int | None
    error: str | None
    seconds: float
    ended_at: str


class JobDeliveries(TypedDict):
    """The latest attempts, the newest first."""

    job_id: str
    deliveries: list[DeliveryAttempt]


class JobEvent(TypedDict):
    """``event``: job.queued, trial.started, trial.phase, trial.finished or, at last, job.finished.

    Both of an end say in ``data.outcome`` what came of it, as an ``OutcomeBrief``.
    """

    id: str | None
    event: str
    data: dict[str, JSON]
