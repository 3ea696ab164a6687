"""What the attempts at a trial left."""

from typing import TYPE_CHECKING, cast
from urllib.parse import quote

from oddish.client.errors import UnexpectedAnswer
from oddish.client.paths import segment
from oddish.client.shapes import items, members, misshapen
from oddish.client.stored import DebugFiles, StructuredLogs, Trajectory
from oddish.client.types import JSON, TrialAttempt, TrialFile, TrialFiles, TrialLogs

if TYPE_CHECKING:
    from oddish.client.connection import Connection, Params, Sink

NEEDED = ("path", "size", "sha256")
MAX_FILES = 100_000
"""Of one trial; no server of ours stores more."""


class Evidence:
    """The files of the attempt that decided a trial, unless another ``attempt`` is named."""

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection

    def files(self, trial_id: str, *, attempt: int | None = None, presign: bool = False) -> TrialFiles:
        """All files in the order of their paths, however many pages that takes."""
        found = self._page(trial_id, attempt, presign, None)
        cursor = found["cursor"]
        while cursor is not None:
            page = self._page(trial_id, found.get("attempt", attempt), presign, cursor)
            found["files"] += page["files"]
            goes_on = page["cursor"] is None or page["cursor"] > cursor
            if not goes_on or len(found["files"]) > MAX_FILES:
                raise UnexpectedAnswer(f"The list of the files of trial {trial_id!r} does not end.")
            cursor = page["cursor"]
        found["cursor"] = None
        return found

    def download(self, trial_id: str, file: TrialFile, sink: "Sink", *, attempt: int | None = None) -> None:
        """The bytes of a file into ``sink``, from where that stands. Its signed URL is used if it has one."""
        if (url := file.get("url")) is not None:
            self._connection.download(url, sink, signed=True)
            return
        path = f"/trials/{segment(trial_id, 'a trial')}/files/{quote(file['path'])}"
        query = "" if attempt is None else f"?attempt={attempt}"
        self._connection.download(f"{self._connection.base_url}{path}{query}", sink, signed=False)

    def logs(self, trial_id: str, *, attempt: int | None = None) -> str:
        """The ends of a trial's text files, each under a line ``=== PATH ===``."""
        answer = self._read(trial_id, "logs", _of(attempt))
        return members(answer, TrialLogs, "logs")["logs"]

    def structured_logs(self, trial_id: str, *, attempt: int | None = None) -> StructuredLogs:
        answer = self._read(trial_id, "logs/structured", _of(attempt))
        return members(answer, StructuredLogs, "agent", "verifier", "other")

    def trajectory(self, trial_id: str, *, step: str | None = None, attempt: int | None = None) -> Trajectory | None:
        """What the agent did, in the ATIF format; None where it left no trajectory."""
        params = _of(attempt) | ({} if step is None else {"step": step})
        return cast("Trajectory | None", self._read(trial_id, "trajectory", params))

    def inventory(self, trial_id: str) -> DebugFiles:
        """What the object store really holds of a trial, beside what the server says of it."""
        answer = self._read(trial_id, "debug-files", {})
        return members(answer, DebugFiles, "trial_s3_key", "computed_prefix", "places")

    def _page(self, trial_id: str, attempt: int | None, presign: bool, cursor: str | None) -> TrialFiles:
        params = _of(attempt) | ({"presign": True} if presign else {}) | ({} if cursor is None else {"cursor": cursor})
        page = members(self._read(trial_id, "files", params), TrialFiles, "files", "cursor")
        if not isinstance(page["cursor"], str | None):
            raise misshapen("no TrialFiles, whose cursor is text")
        page["files"] = items(cast("JSON", page["files"]), TrialFile, *NEEDED)
        if "attempts" in page:
            page["attempts"] = items(cast("JSON", page["attempts"]), TrialAttempt, "attempt", "files")
        return page

    def _read(self, trial_id: str, what: str, params: "Params") -> JSON:
        return self._connection.call("GET", f"/trials/{segment(trial_id, 'a trial')}/{what}", params=params)


def _of(attempt: int | None) -> dict[str, str | int | bool]:
    return {} if attempt is None else {"attempt": attempt}
