"""Importing trials that were run elsewhere: one at a time as it always was, or many in one archive."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, field_validator

from oddish.schemas.base import Name, RequestBody, ResponseBody
from oddish.schemas.problem import Problem

MAX_BATCH = 100
MESSAGE_LENGTH = 1_000_000

NAME_BYTES = 255


def _in_utc(time: datetime) -> datetime:
    """One without a zone is in UTC."""
    try:
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except OverflowError:
        raise ValueError("it is beyond the years 1 to 9999 in UTC; leave it out.") from None


def _refuse_long(name: str) -> str:
    if (size := len(name.encode())) > NAME_BYTES:
        raise ValueError(f"it takes {size} bytes, more than {NAME_BYTES}; shorten it.")
    return name


type Moment = Annotated[datetime, AfterValidator(_in_utc)]
type ShortName = Annotated[Name, AfterValidator(_refuse_long)]
"""What lists of trials are sorted out by, so that an index holds several of them at once."""
type Count = Annotated[int, Field(ge=0, le=2**63 - 1)]
type ImportId = Annotated[str, Field(pattern=r"^imp_[0-9a-f]{16}$", max_length=20)]


class ClaimedTrial(RequestBody):
    """A trial as its importer describes it. The verdict is derived here, from these facts or from its own record."""

    agent: ShortName
    model: ShortName | None = None
    environment: ShortName | None = None
    status: Literal["success", "failed"]
    reward: float | None = None
    result: dict[str, Any] | None = None
    error_message: Annotated[str, Field(max_length=MESSAGE_LENGTH)] | None = None
    harbor_stage: Name | None = None
    input_tokens: Count | None = None
    cache_tokens: Count | None = None
    output_tokens: Count | None = None
    total_steps: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None
    cost_usd: float | None = None
    phase_timing: dict[str, Any] | None = None
    has_trajectory: bool = Field(False, description="Ignored: it is looked for in the archive.")
    harbor_config: dict[str, Any] | None = None
    started_at: Moment | None = None
    finished_at: Moment | None = None
    external_trial_id: Name | None = Field(
        None, description="Of the engine that ran it: importing it again into the experiment changes nothing."
    )
    imported_at: datetime | None = Field(None, description="Ignored: the server knows.")


class ImportInit(RequestBody):
    task_id: Name
    experiment_id: Name | None = Field(None, description="Id or name; a new name makes a new experiment.")
    trial: ClaimedTrial
    upload_artifacts: bool = True


class ImportTarget(ResponseBody):
    """The trial that exists now and, unless it has its files, where they may be sent."""

    trial_id: str
    task_id: str
    experiment_id: str
    experiment_name: str
    trial_s3_key: str
    archive_s3_key: str | None
    upload_url: str | None
    upload_method: Literal["PUT"] = "PUT"
    upload_headers: dict[str, str]
    requires_completion: bool


class ImportComplete(RequestBody):
    trial_id: Name


class ImportCompleted(ResponseBody):
    trial_id: str
    trial_s3_key: str
    files_extracted: int


class BatchItem(RequestBody):
    """One trial of a batch. The n-th is the directory `<n>` of the archive, counted from 0."""

    task_id: Name
    external_trial_id: Annotated[Name, Field(description="The `id` in its `result.json`, if there is one.")]
    task_version: Annotated[int, Field(ge=1)] | None = Field(None, description="Default: the current one.")
    job_name: Name | None = None


class _Items(RequestBody):
    trials: Annotated[list[BatchItem], Field(min_length=1, max_length=MAX_BATCH)]

    @field_validator("trials")
    @classmethod
    def _refuse_twice(cls, trials: list[BatchItem]) -> list[BatchItem]:
        seen: set[str] = set()
        for trial in trials:
            if trial.external_trial_id in seen:
                raise ValueError(f"{trial.external_trial_id!r} is there twice; send each trial once.")
            seen.add(trial.external_trial_id)
        return trials


class BatchInit(_Items):
    experiment_id: Name | None = Field(None, description="Id or name; a new name makes a new experiment.")
    user: Name | None = Field(None, description="Author of an experiment that is new.")


class KnownTrial(ResponseBody):
    external_trial_id: str
    trial_id: str
    task_id: str


class BatchTarget(ResponseBody):
    """Where the archive goes: a `.tar.gz` with a directory for each trial that is not known."""

    import_id: str
    experiment_id: str
    experiment_name: str
    known: list[KnownTrial] = Field(description="Those that the experiment has already; the archive may lack them.")
    upload_url: str | None = Field(description="Null when all are known: there is nothing to send or to complete.")
    upload_method: Literal["PUT"] = "PUT"
    upload_headers: dict[str, str]


class BatchComplete(_Items):
    """The same trials, in the same order."""

    import_id: ImportId
    experiment_id: Name


class ImportedTrial(ResponseBody):
    """What one trial came to, with its verdict when it is new, or the reason why it was refused."""

    external_trial_id: str
    status: Literal["imported", "existing", "error"]
    trial_id: str | None = None
    task_id: str | None = None
    files_extracted: int = 0
    trial_status: str | None = None
    reward: float | None = None
    error: Problem | None = None


class BatchImported(ResponseBody):
    experiment_id: str
    experiment_name: str
    trials: list[ImportedTrial]
