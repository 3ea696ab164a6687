"""One import: the tasks that its trials belong to, then the trials."""

from collections import Counter as Counts
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from oddish.cli.counter import counter
from oddish.cli.importing import Imported, Importer
from oddish.cli.jobs import JobTrial, Unusable, trials_below
from oddish.cli.output import notice, print_json, say
from oddish.cli.registration import Registration, Tasks, register_counted
from oddish.cli.selection import select_tasks
from oddish.cli.sweep.sweep import Source
from oddish.cli.targets import Targets, found_targets, named_target, registered_targets
from oddish.cli.text import brief, command, one_line, plural, quoted
from oddish.client import Client
from oddish.client.types import ExperimentRef
from oddish.errors import InvalidInput, OddishError

PARTLY = 2
LINES = 10


@dataclass
class Survey:
    """The trials below a path."""

    trials: list[JobTrial] = field(default_factory=list)
    unusable: list[Unusable] = field(default_factory=list)

    @classmethod
    def of(cls, path: Path) -> "Survey":
        """Raises ``InvalidInput`` when none has ended."""
        survey = cls()
        for found in trials_below(path):
            if isinstance(found, JobTrial):
                survey.trials.append(found)
            else:
                survey.unusable.append(found)
        if not survey.trials:
            first = survey.unusable[:1]
            example = f" {first[0].name}: {first[0].reason}." if first else ""
            raise InvalidInput(
                f"{path} holds no trial that can be imported.{example}",
                fix="Import it when some have ended.",
            )
        return survey


@dataclass
class Importing:
    """One import: the tasks, then the trials."""

    client: Client
    survey: Survey
    tasks: Tasks
    target: str | None
    experiment: str
    records_only: bool
    quiet: bool
    left_out: int = 0
    done: list[Imported] = field(default_factory=list)
    experiment_ref: ExperimentRef | None = None
    """Once the server has said which one it is."""

    def run(self, *, as_json: bool) -> int:
        """The exit code."""
        targets = self._targets()
        self.done = [Imported.not_sent(trial) for trial in self.survey.unusable]
        if not self.quiet:
            trials = plural(len(self.survey.trials), "trial")
            say(f"Experiment {self.experiment}: importing {trials} to {self.client.base_url}")
        try:
            self._import(targets)
        except (OddishError, KeyboardInterrupt):
            again = f"The same command with -E {quoted(self.experiment)} imports the others, and none twice."
            arrived = sum(entry.trial_id is not None for entry in self.done)
            say(f"{arrived} of {plural(len(self.survey.trials), 'trial')} were imported. {again}", err=True)
            raise
        if self.left_out:
            notice(f"{plural(self.left_out, 'link or special file')} of the trials cannot travel and was left out.")
        if as_json:
            print_json(self._document(targets))
        else:
            self._say()
        return PARTLY if any(entry.status == "error" for entry in self.done) else 0

    def _targets(self) -> Targets:
        trials = self.survey.trials
        if self.target is not None:
            targets, remark = named_target(self.client, self.target, trials)
        elif self.tasks.directories:
            registered = self._registered(self.tasks.directories)
            targets, remark = registered_targets(trials, registered, self.tasks.declared.of)
        else:
            targets, remark = found_targets(self.client, trials, self._found), None
        if remark:
            notice(remark)
        return targets

    def _found(self, directories: Sequence[Path]) -> Sequence[Registration]:
        """Tasks that only their jobs name, checked like those that a user names."""
        select_tasks([Source(directory) for directory in directories])
        for directory in directories:
            notice(f"Task {one_line(directory.name)} is registered from {directory}.")
        return self._registered(directories)

    def _registered(self, directories: Sequence[Path]) -> Sequence[Registration]:
        done = register_counted(self.client, directories, self.tasks.about, quiet=self.quiet)
        for entry in done:
            if entry.refusal is not None:
                raise entry.refusal
        if not self.quiet:
            for entry in done:
                if entry.version is not None and not entry.version["content_unchanged"]:
                    say(entry.line())
        return done

    def _import(self, targets: Targets) -> None:
        importer = Importer(
            self.client,
            self.experiment,
            targets,
            self.tasks.about.user,
            self.records_only,
            left_out=self._leave_out,
            announced=self._note_experiment,
        )
        with counter(len(self.survey.trials), "trial", quiet=self.quiet) as count:
            for batch in importer.run(self.survey.trials):
                self.done += batch
                count.advance(len(batch))

    def _leave_out(self, count: int) -> None:
        self.left_out += count

    def _note_experiment(self, experiment: ExperimentRef) -> None:
        self.experiment_ref = experiment

    def _document(self, targets: Targets) -> dict[str, object]:
        experiment = self.experiment_ref or {"id": None, "name": self.experiment}
        task_ids = sorted({target.task_id for target in targets.values()})
        return {
            "mode": "trial_import",
            "task_id": task_ids[0] if len(task_ids) == 1 else None,
            "task_ids": task_ids,
            "experiment_id": experiment["id"],
            "experiment_url": None,
            "trials": [
                {
                    "job_name": entry.job,
                    "trial_name": entry.name,
                    "trial_id": entry.trial_id,
                    "experiment_id": experiment["id"],
                    "experiment_name": experiment["name"],
                    "files_extracted": entry.files,
                    "status": "imported" if entry.status == "existing" else entry.status,
                    "existing": entry.status == "existing",
                    "trial_status": entry.trial_status,
                    "reward": entry.reward,
                }
                | ({} if entry.error is None else {"error": entry.error})
                for entry in self.done
            ],
        }

    def _say(self) -> None:
        counts = Counts(entry.status for entry in self.done)
        verdicts = Counts(entry.trial_status for entry in self.done if entry.status == "imported")
        parts = [f"{plural(counts['imported'], 'trial')} imported"]
        if counts["imported"]:
            parts[0] += f" ({verdicts['success']} success, {verdicts['failed']} failed)"
        words = {"existing": "there already", "skipped": "skipped", "error": "refused"}
        parts += [f"{counts[status]} {word}" for status, word in words.items() if counts[status]]
        say(f"Experiment {self.experiment}: {', '.join(parts)}.")
        left = [entry for entry in self.done if entry.error is not None]
        left.sort(key=lambda entry: entry.status)
        for entry in left[:LINES]:
            say(f"  {one_line(entry.job)}/{one_line(entry.name)} {words[entry.status]}: {brief(entry.error)}", err=True)
        if len(left) > LINES:
            say(f"  and {len(left) - LINES} more; --json lists them", err=True)
        if not self.quiet:
            say(f"\nNext:\n  {command('status', '-e', self.experiment)}")
