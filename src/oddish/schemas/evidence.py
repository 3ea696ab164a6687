"""The files of a trial."""

from oddish.schemas.base import ResponseBody


class TrialFile(ResponseBody):
    path: str
    size: int
    sha256: str


class TrialFiles(ResponseBody):
    trial_id: str
    files: list[TrialFile]
    cursor: str | None
    """Continues the listing; null at its end."""


class TrialLogs(ResponseBody):
    trial_id: str
    logs: str
    s3_key: str | None
