"""``oddish publish`` and ``oddish unpublish``: who may read an experiment."""

import click

from oddish.cli.group import Command
from oddish.cli.options import api_option, json_option
from oddish.cli.output import notice, print_json, say
from oddish.cli.session import LOCAL, connect, resolve
from oddish.cli.text import clean, command, one_line
from oddish.client.endpoint import Endpoint
from oddish.errors import OddishError

HERE_ONLY = "The server of this machine answers this machine only, and so does the link."


@click.command(cls=Command)
@click.argument("experiment", metavar="EXPERIMENT")
@api_option
@json_option
def publish(experiment: str, api: str | None, as_json: bool) -> None:
    """Let whoever has the link read EXPERIMENT, an id or a name, and print the link.

    It shows the tasks, the trials and their rewards, times, tokens and costs; not the files, configurations, owners,
    labels and analyses. It can be read without a key and changes nothing. Takes a key of scope full.
    """
    endpoint = resolve(api)
    with connect(endpoint) as client:
        share = client.sharing.publish(experiment)
        url = client.sharing.url(share)
    tell_reach(endpoint)
    if as_json:
        print_json({**share, "public_url": url})
    else:
        say(f"Experiment {one_line(share['name'])} is published. Whoever has this link can read it:\n  {clean(url)}")


@click.command(cls=Command)
@click.argument("experiment", metavar="EXPERIMENT")
@api_option
@json_option
def unpublish(experiment: str, api: str | None, as_json: bool) -> None:
    """Let the link of EXPERIMENT, an id or a name, lead nowhere. Publishing it again makes another link."""
    with connect(resolve(api)) as client:
        share = client.sharing.unpublish(experiment)
    if as_json:
        print_json({**share, "public_url": None})
    else:
        say(f"Experiment {one_line(share['name'])} is not published any more; its link leads nowhere.")


def link_to(endpoint: Endpoint, experiment: str) -> str | None:
    """Where a published experiment is read without a key; None, and a notice, when nobody answers.

    Says when that is on this machine only.
    """
    try:
        with connect(endpoint) as client:
            url = client.sharing.url(client.sharing.state(experiment))
    except OddishError as error:
        notice(f"The link is not known yet: {error.message} To see it: {command('publish', experiment)}")
        return None
    tell_reach(endpoint)
    return url


def tell_reach(endpoint: Endpoint) -> None:
    if endpoint.source == LOCAL:
        notice(HERE_ONLY)
