"""``oddish open``: a browser that is signed in."""

from pathlib import Path

import click

from oddish import desktop
from oddish.cli.group import Command
from oddish.cli.options import api_option, json_option
from oddish.cli.output import notice, print_json, say
from oddish.cli.session import connect, resolve
from oddish.cli.text import command
from oddish.client.endpoint import Endpoint
from oddish.errors import NotFound
from oddish.web.running import running

EXAMPLES = """\b
Examples:
  oddish open
  oddish open ./results --print
"""


class NotShown(NotFound):
    """No `oddish view` of this user shows the directory."""

    code = "not_shown"


@click.command("open", cls=Command, epilog=EXAMPLES)
@click.argument(
    "directory", metavar="[DIR]", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option("--print", "prints", is_flag=True, help="Print the link, and open no browser.")
@api_option
@json_option
def open(directory: Path | None, prints: bool, api: str | None, as_json: bool) -> None:  # noqa: A001
    """Look at the pages of a server in a browser, which a link signs in: it works once, for ten minutes.

    That is the server that other commands use, or with DIR the 'oddish view' that shows this results directory.
    --json opens no browser either.
    """
    if directory is not None and api is not None:
        raise click.UsageError("DIR is shown by this machine; leave --api out, or DIR.")
    endpoint = resolve(api) if directory is None else _view(directory)
    with connect(endpoint) as client:
        made = client.sign_in_link()
    if as_json:
        print_json(made)
    elif prints or not (desktop.is_there() and desktop.browse(made["url"])):
        if not prints:
            notice("Open this link in a browser on this machine:")
        say(made["url"])


def _view(directory: Path) -> Endpoint:
    """The latest process that shows the directory. Raises ``NotShown``."""
    place = str(directory.resolve())
    views = [view for view in running() if view.directory == place and view.token]
    if not views:
        raise NotShown(f"No 'oddish view' shows {directory}.", fix=f"Run: {command('view', str(directory))}")
    return Endpoint(views[-1].url, views[-1].token, "DIR")
