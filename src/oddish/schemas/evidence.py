"""The files of a trial."""

from datetime import datetime

from pydantic import Field

from oddish.schemas.base import ResponseBody


class TrialFile(ResponseBody):
    path: str
    size: int
    sha256: str
    url: str | None = Field(None, description="Signed, for an hour; null unless `presign` asks for it.")


class AttemptResponse(ResponseBody):
    """One execution of a trial and what it left."""

    attempt: int
    deciding: bool = Field(description="The trial shows what came of this one.")
    state: str
    status: str | None
    files: int
    bytes: int
    started_at: datetime
    finished_at: datetime | None


class NotStored(ResponseBody):
    """An entry of the trial's directory that was left out, and why."""

    path: str
    reason: str


class TrialFiles(ResponseBody):
    trial_id: str
    attempt: int = Field(description="The one whose files these are.")
    attempts: list[AttemptResponse] = Field(description="All at the trial; `attempt` chooses between their files.")
    files: list[TrialFile]
    not_stored: list[NotStored]
    not_stored_count: int = Field(description="Entries left out, of which `not_stored` names the first thousand.")
    cursor: str | None
    """Continues the listing; null at its end."""


class TrialLogs(ResponseBody):
    trial_id: str
    logs: str
    s3_key: str | None


class NamedText(ResponseBody):
    name: str
    content: str


class AgentTexts(ResponseBody):
    oracle: str | None
    setup: str | None
    commands: list[NamedText]


class VerifierTexts(ResponseBody):
    stdout: str | None
    stderr: str | None


class StructuredTrialLogs(ResponseBody):
    """The ends of the trial's text files by who wrote them. Of a trial with steps, each under its path."""

    trial_id: str
    agent: AgentTexts
    verifier: VerifierTexts
    other: list[NamedText]
    exception: str | None


class ObjectResponse(ResponseBody):
    key: str
    size: int
    modified_at: datetime


class PlaceResponse(ResponseBody):
    """A prefix of the object store and what lies below it."""

    prefix: str
    attempt: int | None = Field(description="The one that the database says it is of; null where it says nothing.")
    deciding: bool
    manifest: str = Field(description="`read`, `missing`, or why it cannot be used.")
    objects: list[ObjectResponse]
    missing: list[str] = Field(description="Keys that the manifest lists and the store has not.")
    unlisted: list[str] = Field(description="Keys that the store has and the manifest does not list.")
    complete: bool = Field(description="Whether these are all objects below the prefix.")


class DebugFiles(ResponseBody):
    trial_id: str
    trial_s3_key: str | None = Field(description="The prefix that the database has for the trial's files.")
    computed_prefix: str = Field(description="Where the files of all attempts belong.")
    places: list[PlaceResponse]
