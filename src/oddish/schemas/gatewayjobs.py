"""What the job gateway says of jobs."""

from datetime import datetime
from typing import Any, Literal

from pydantic import ConfigDict, Field

from oddish.schemas import gatewayexamples as examples
from oddish.schemas.base import ResponseBody

type JobStatus = Literal["queued", "running", "succeeded", "failed", "cancelled"]
type JobKind = Literal["execute", "verify"]


class JobAccepted(ResponseBody):
    """A job that will run: poll it, or follow its events."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.ACCEPTED]})

    job_id: str
    status: JobStatus


class RefillAccepted(JobAccepted):
    """A job that makes up for the trials of another one that raised."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.REFILLED]})

    retry_of: str = Field(description="The other job, which stays as it is.")
    pass_at_k: int = Field(description="Trials: as many as raised.")
    retried_exceptions: list[str] = Field(description="What they raised, each class once.")


class JobError(ResponseBody):
    """Why a job came to no trials."""

    code: str = Field(description="Stable; what a program branches on.")
    message: str


class TrialCounts(ResponseBody):
    total: int
    queued: int
    running: int
    finished: int


class OutcomeCounts(ResponseBody):
    scored: int = Field(description="Trials with a reward.")
    errored: int = Field(description="Trials that raised, even with a reward.")
    successful: int = Field(description="Trials with a reward that did not raise.")


class OutcomeEvidence(ResponseBody):
    evidence: Literal["present", "empty", "none"] = Field(
        description="The weakest report of a verifier: one that names tests, one that names none, or no report."
    )
    tests: int = Field(description="The fewest that such a report names.")


class TrialDetail(ResponseBody):
    trial_id: str
    agent: str = Field(description="As the caller has named it.")
    trial_name: str
    status: Literal["completed", "errored"]
    reward: float | None
    exception: str | None
    exception_message: str | None = None


class OutcomeBrief(ResponseBody):
    """Whether the rewards may be believed. `status` of the job only says whether it did any work."""

    status: Literal["scored", "unverified", "errored"]
    valid_for_scoring: bool = Field(description="What scoring is to depend on.")
    exceptions: list[str] = Field(description="Class names, each once.")


class JobOutcome(OutcomeBrief):
    """The same, and why."""

    reasons: list[str] = Field(description="Why not, by agent; empty where it may be scored.")
    trials: OutcomeCounts
    verifier: OutcomeEvidence
    environment_notes: list[str] = Field(
        description="Where trials ran elsewhere than in the task's own container, each once: believe the rewards as "
        "those of that environment."
    )
    trials_detail: list[TrialDetail] | None = Field(None, description="Each trial, where `pass_at_k` is above 1.")


class AgentResult(ResponseBody):
    """One trial."""

    name: str = Field(description="Of the agent, as the caller has named it.")
    harbor_agent: str | None = Field(description="Null where only the verifier ran.")
    model: str | None
    trial_id: str = Field(description="Under which `/trials/{trial_id}` tells everything of it.")
    trial_name: str = Field(description="Harbor's.")
    status: Literal["completed", "errored"]
    reward: float | None = Field(description="The primary one, believed or not.")
    environment_notes: list[str] = Field(description="Where its environment was not the task's own container.")
    result: dict[str, Any] | None = Field(
        description="As Harbor recorded it; null where it left no record, or those before it come to 64 MiB: "
        "`/trials/TRIAL/result` has each."
    )


class VerifierRun(ResponseBody):
    trial_name: str
    exit_code: int | None
    reward: float | None


class VerifierResult(ResponseBody):
    exit_code: int | None = Field(
        description="Of `tests/test.sh`, as observed; null where it did not end, or not always with the same one."
    )
    flaky: bool = Field(description="Runs on the same workspace came to different ends.")
    runs: list[VerifierRun]


class JobResult(ResponseBody):
    """What a job that has ended came to. The members after `agent_results` are of `verify-task` alone."""

    outcome: JobOutcome
    agent_results: list[AgentResult]
    purpose: Literal["task_authoring"] | None = None
    valid_for_scoring: bool | None = None
    verifier: VerifierResult | None = None
    reward: float | None = Field(None, description="Null where there is none, or not always the same one.")
    artifact_download_urls: dict[str, str] | None = Field(
        None, description="Signed, for an hour, by `TRIAL_ID/PATH`; the first thousand."
    )


class JobAgent(ResponseBody):
    name: str
    harbor_agent: str
    model: str | None


class JobSummary(ResponseBody):
    job_id: str
    kind: JobKind
    status: JobStatus = Field(
        description="Whether the work was done, which says nothing of the rewards: see `outcome`."
    )
    task_slug: str
    metadata: dict[str, Any] = Field(description="As sent, addresses without what may be a signature.")
    agents: list[JobAgent]
    pass_at_k: int
    require_verifier_evidence: bool
    correlation_id: str | None
    experiment_id: str | None = Field(description="Where its trials are, beside those of all other clients.")
    task_version_id: str | None = Field(description="What the archive held; the same content is the same version.")
    retry_of: str | None
    retried_exceptions: list[str] | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    error: JobError | None


class JobListed(JobSummary):
    outcome: OutcomeBrief | None = Field(description="Null until it has ended.")
    exit_codes: list[int | None] | None = Field(
        description="Of each run of a verification that has ended; null for one that came to none."
    )


class JobPage(ResponseBody):
    """Jobs, the newest first."""

    jobs: list[JobListed]
    cursor: str | None = Field(description="Continues the listing; null at its end.")


class JobDocument(JobSummary):
    model_config = ConfigDict(json_schema_extra={"examples": [examples.DOCUMENT]})

    trials: TrialCounts
    outcome: JobOutcome | None = Field(description="Null until it has ended.")
    result: JobResult | None = Field(description="Null until it has ended.")


class ArtifactFile(ResponseBody):
    path: str = Field(description="`TRIAL_ID/PATH`, as in the archive.")
    trial_id: str
    size: int
    sha256: str
    url: str | None = Field(None, description="Signed, for an hour; null unless `presign` asks for it.")


class TrialArtifacts(ResponseBody):
    """What one trial left."""

    trial_id: str
    agent: str = Field(description="As the caller has named it.")
    attempt: int = Field(description="Whose files they are: the one that decided the trial.")
    files: int
    bytes: int
    not_stored_count: int = Field(description="Entries of the trial's directory that were left out.")


class JobArtifacts(ResponseBody):
    """What the trials of a job left, as far as they have ended."""

    job_id: str
    trials: list[TrialArtifacts]
    files: list[ArtifactFile]
    cursor: str | None = Field(description="Continues the listing of the files; null at its end.")


class ArtifactsArchive(ResponseBody):
    """A zip of all that the trials of a job left, each in a folder of its name."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.ARCHIVE]})

    url: str = Field(description="Signed: needs no key, until `expires_at`.")
    expires_at: datetime
    size: int
    sha256: str
