"""The ``oddish`` command."""

import io
import sys

import click

from oddish import __version__
from oddish.cli.group import LazyGroup


@click.group(
    cls=LazyGroup,
    commands_by_name={
        "run": ("oddish.cli.run", "Run an agent on a task or a dataset and watch it."),
        "ls": ("oddish.cli.ls", "List tasks, found by what they are and what came of them."),
        "upload": ("oddish.cli.upload", "Register tasks, or import trials of Harbor jobs."),
        "status": ("oddish.cli.status", "Show the system, a task, a trial or an experiment."),
        "logs": ("oddish.cli.logs", "Show what an agent says, does and costs, also while it runs."),
        "costs": ("oddish.cli.costs", "Show what was spent."),
        "pull": ("oddish.cli.pull", "Copy the files of trials and tasks to this machine."),
        "tag": ("oddish.cli.tag", "Tag a task, or take tags away."),
        "publish": ("oddish.cli.sharing", "Let whoever has the link read an experiment."),
        "unpublish": ("oddish.cli.sharing", "End that."),
        "cancel": ("oddish.cli.cancel", "Stop trials that are queued or running."),
        "delete": ("oddish.cli.delete", "Delete tasks, experiments or trials."),
        "check": ("oddish.cli.check", "Find out whether tasks are sound."),
        "view": ("oddish.cli.view", "Look at a results directory."),
        "open": ("oddish.cli.open", "Look at the pages of a server in a browser."),
        "export": ("oddish.cli.export", "Make trials a dataset of a results directory."),
        "doctor": ("oddish.cli.doctor", "Say what this machine can run, and why not."),
        "gateway": ("oddish.cli.gateway", "Have tasks run and verified whose archives lie elsewhere."),
        "secrets": ("oddish.cli.secrets", "Keep credentials for trials."),
        "admin": ("oddish.cli.admin", "Manage a deployment: API keys, limits of what runs."),
        "backup": ("oddish.cli.backup", "Back up what oddish keeps on this machine."),
        "restore": ("oddish.cli.backup", "Bring a backup back."),
        "up": ("oddish.cli.stack", "Start oddish on this machine."),
        "down": ("oddish.cli.stack", "Stop oddish on this machine."),
        "server": ("oddish.cli.stack", "Run the API server of a deployment."),
        "worker": ("oddish.cli.stack", "Run a worker of a deployment."),
        "completion": ("oddish.cli.completion", "Let a shell complete commands and options."),
    },
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="oddish", message="%(prog)s %(version)s")
def cli() -> None:
    """Run agent evaluations written in the Harbor task format.

    \b
    Try it without any account or key:
      oddish run examples/hello-world -a oracle

    With no server named, commands use a server on this machine and start it when needed. To use another one, set
    ODDISH_API_URL and ODDISH_API_KEY.
    """


def main() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a name that the terminal has no letters for stops no command
    cli.main(prog_name="oddish")
