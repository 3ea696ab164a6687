"""One trial, fetched into its directory."""

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from threading import Event
from typing import Any, Literal

from oddish.client import Client
from oddish.client.errors import ApiError, UnexpectedAnswer
from oddish.client.types import UNFINISHED, Trial, TrialFile, TrialFiles
from oddish.errors import OddishError
from oddish.pull.folder import Folder, InTheWay
from oddish.pull.manifest import TrialReport
from oddish.pull.names import Parts, UnsafeName, local_paths, single
from oddish.pull.transfer import Announced, Damaged, Receiver, guarded, receive

TRIALS = "trials"
"""The directory that is a Harbor job."""
LOGS, STRUCTURED, MANIFEST = "logs.txt", "logs_structured.json", "manifest.json"
"""Ours, beside what Harbor wrote. A file of the trial that has one of these names keeps it."""
RECORDS = ("config.json", "result.json")
"""What makes a directory a trial of a Harbor job."""
DIRECTORIES = ("agent", "verifier", "artifacts")
"""Which a store cannot hold while they are empty."""
MAX_DOCUMENT_BYTES = 64 * 1024 * 1024
_REFUSED_URL = frozenset({400, 401, 403, 404, 410})


@dataclass(frozen=True)
class Wanted:
    logs: bool = True
    files: bool = True
    """Without them only Harbor's own records."""
    structured: bool = False


@dataclass(frozen=True)
class TrialPull:
    """What all trials of one pull have in common."""

    client: Client
    folder: Folder
    wanted: Wanted
    transfers: Executor
    stop: Event

    def fetch(self, trial: Trial) -> TrialReport:
        """What concerns this trial only is an error of the report; what ends the whole pull is raised."""
        report = TrialReport(trial["id"], trial["status"])
        try:
            with guarded(self.folder):
                self._fetch(trial, (TRIALS, single(trial["id"])), report)
        except UnsafeName as error:
            report.errors.append(f"its id {error}")
        except (OddishError, OSError) as error:
            if ends_everything(error):
                raise
            report.errors.append(reason(error))
        return report

    def _fetch(self, trial: Trial, place: Parts, report: TrialReport) -> None:
        try:
            listing = self.client.evidence.files(trial["id"], presign=True)
        except ApiError as error:
            if error.http_status != 404:
                raise
            report.note = "no files yet" if trial["status"] in UNFINISHED else "left no files"
            return
        report.attempt = listing.get("attempt")
        report.other_attempts = [
            entry["attempt"]
            for entry in listing.get("attempts", [])
            if entry["attempt"] != report.attempt and entry["files"]
        ]
        before = self._manifest(place)
        _check_paths(trial["id"], listing)
        local = local_paths((file["path"] for file in listing["files"]), folds_case=self.folder.folds_case)
        wanted = [file for file in listing["files"] if self.wanted.files or file["path"] in RECORDS]
        self._remove_stale(place, before, listing, {file["path"] for file in wanted})
        futures = [(file, self._submit(report.trial_id, file, local[file["path"]], place)) for file in wanted]
        there = self._results(futures, report)
        paths = {file["path"] for file in listing["files"]}
        if not paths.isdisjoint(RECORDS) and not any(path.startswith("steps/") for path in paths):
            for name in DIRECTORIES:
                self.folder.make((*place, name))
        taken = {parts for parts in local.values() if isinstance(parts, tuple)}
        self._write_own(place, report, taken)
        if (MANIFEST,) not in taken:
            there |= _kept(before, listing)
            self.folder.write_json((*place, MANIFEST), _document(trial["id"], listing, local, there))

    def _submit(
        self, trial_id: str, file: TrialFile, parts: Parts | UnsafeName, place: Parts
    ) -> "Future[Literal['saved', 'kept']] | UnsafeName":
        return (
            parts
            if isinstance(parts, UnsafeName)
            else self.transfers.submit(self._receive, trial_id, file, (*place, *parts))
        )

    def _receive(self, trial_id: str, file: TrialFile, parts: Parts) -> Literal["saved", "kept"]:
        try:
            announced = Announced(file["path"], file["size"], file["sha256"])
        except (ValueError, TypeError, KeyError) as error:
            raise Damaged(str(error)) from None

        def fetch(receiver: Receiver) -> None:
            try:
                self.client.evidence.download(trial_id, file, receiver)
            except ApiError as error:
                if file.get("url") is None or error.http_status not in _REFUSED_URL:
                    raise
                unsigned: TrialFile = {"path": file["path"], "size": file["size"], "sha256": file["sha256"]}
                self.client.evidence.download(trial_id, unsigned, receiver)

        return receive(self.folder, announced, parts, fetch, self.stop)

    def _results(
        self, futures: "Sequence[tuple[TrialFile, Future[Literal['saved', 'kept']] | UnsafeName]]", report: TrialReport
    ) -> set[str]:
        """The paths of the files that are there now."""
        there = set()
        try:
            for file, future in futures:
                if isinstance(future, UnsafeName):
                    report.errors.append(f"{file['path']!a}: the path {future}")
                    continue
                try:
                    came = future.result()
                except (OddishError, OSError) as error:
                    if ends_everything(error):
                        raise
                    report.errors.append(f"{file['path']!a}: {reason(error)}")
                    continue
                there.add(file["path"])
                report.files_skipped += came == "kept"
                report.files_saved += came == "saved"
                report.bytes_saved += file["size"] if came == "saved" else 0
        finally:
            for _, future in futures:
                if isinstance(future, Future):
                    future.cancel()
        return there

    def _write_own(self, place: Parts, report: TrialReport, taken: set[Parts]) -> None:
        if self.wanted.logs and (LOGS,) not in taken:
            text = self.client.evidence.logs(report.trial_id)
            self.folder.write((*place, LOGS), text.encode(errors="replace"))
        report.logs_saved = self.wanted.logs
        if self.wanted.structured and (STRUCTURED,) not in taken:
            self.folder.write_json((*place, STRUCTURED), self.client.evidence.structured_logs(report.trial_id))

    def _manifest(self, place: Parts) -> Mapping[str, Any]:
        """What an earlier pull left, as far as it can be read."""
        try:
            document = json.loads(self.folder.read((*place, MANIFEST), MAX_DOCUMENT_BYTES) or b"{}")
        except (ValueError, RecursionError):
            return {}
        return document if isinstance(document, dict) else {}

    def _remove_stale(self, place: Parts, before: Mapping[str, Any], listing: TrialFiles, wanted: set[str]) -> None:
        """Remove what an earlier pull wrote and what is no longer the trial's, unless somebody changed it."""
        current = {file["path"]: file["sha256"] for file in listing["files"]}
        for file in _files(before):
            path, parts = file["path"], file["saved_as"]
            if path in wanted or current.get(path) == file["sha256"]:
                continue
            where = local_paths([parts], folds_case=False)[parts]
            if isinstance(where, tuple) and self.folder.holds((*place, *where), file["size"], file["sha256"]):
                self.folder.remove((*place, *where))


def _check_paths(trial_id: str, listing: TrialFiles) -> None:
    if not all(isinstance(file["path"], str) for file in listing["files"]):
        raise UnexpectedAnswer(f"The list of the files of trial {trial_id!r} has a path that is no text.")
    if len({file["path"] for file in listing["files"]}) < len(listing["files"]):
        raise UnexpectedAnswer(f"The list of the files of trial {trial_id!r} has a path twice.")


def _files(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The files that a manifest of ours says are there."""
    members = {"path": str, "size": int, "sha256": str, "saved_as": str}
    files = document.get("files")
    return [
        file
        for file in (files if isinstance(files, list) else [])
        if isinstance(file, dict) and all(isinstance(file.get(name), kind) for name, kind in members.items())
    ]


def _kept(before: Mapping[str, Any], listing: TrialFiles) -> set[str]:
    """The paths of what an earlier pull wrote and what is still the same."""
    current = {file["path"]: file["sha256"] for file in listing["files"]}
    return {file["path"] for file in _files(before) if current.get(file["path"]) == file["sha256"]}


def _document(
    trial_id: str, listing: TrialFiles, local: Mapping[str, Parts | UnsafeName], there: set[str]
) -> dict[str, Any]:
    """``saved_as`` is missing of what is not here."""

    def entry(file: TrialFile) -> dict[str, Any]:
        parts = local[file["path"]]
        shown: dict[str, Any] = {name: file[name] for name in ("path", "size", "sha256")}
        return shown | ({"saved_as": "/".join(parts)} if isinstance(parts, tuple) and file["path"] in there else {})

    return {
        "trial_id": trial_id,
        "attempt": listing.get("attempt"),
        "attempts": listing.get("attempts", []),
        "files": [entry(file) for file in listing["files"]],
        "not_stored": listing.get("not_stored", []),
        "not_stored_count": listing.get("not_stored_count", 0),
    }


def ends_everything(error: Exception) -> bool:
    """Whether what happened to one file or trial would happen to all others too."""
    if isinstance(error, ApiError):
        return error.http_status == 401
    return not isinstance(error, OSError | Damaged | UnexpectedAnswer | InTheWay)


def reason(error: Exception) -> str:
    if isinstance(error, OddishError):
        return error.message
    return (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
