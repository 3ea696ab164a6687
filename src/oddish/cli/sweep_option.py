"""``-c``: a file says what is run, as far as no other option does."""

from pathlib import Path

import click

from oddish.cli.sweep.sweep import NOTHING, Sweep


def _read(context: click.Context, parameter: click.Parameter, path: Path | None) -> Sweep:
    """What the file says, which is the default of options from here on."""
    if path is None or context.resilient_parsing:
        return NOTHING
    from oddish.cli.sweep.file import UnusableFile, read_file  # YAML is loaded for those who have a file

    try:
        sweep = read_file(path)
    except UnusableFile as error:
        raise click.BadParameter(str(error), context, parameter) from None
    context.default_map = {**(context.default_map or {}), **sweep.options}
    return sweep


sweep_option = click.option(
    "-c",
    "--config",
    "sweep",
    metavar="FILE",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    is_eager=True,
    callback=_read,
    help="Take agents, tasks and settings from this file, in YAML or JSON: a sweep, or a job of Harbor. Other options "
    "win over it.",
)
