"""``oddish completion``, and what completes values of options."""

import click

from oddish.cli.group import Command
from oddish.cli.options import json_option
from oddish.cli.output import print_json, say

PROGRAM = "oddish"
VARIABLE = "_ODDISH_COMPLETE"
"""By which a shell asks the program what could follow."""
EXAMPLES = """\b
Examples:
  eval "$(oddish completion bash)"        in ~/.bashrc
  eval "$(oddish completion zsh)"         in ~/.zshrc, after compinit
  oddish completion fish | source         in ~/.config/fish/config.fish
"""


@click.command(cls=Command, epilog=EXAMPLES)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@json_option
@click.pass_context
def completion(ctx: click.Context, shell: str, as_json: bool) -> None:
    """Print what lets SHELL complete commands, options, and values where they are known without asking a server."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101
    script = kind(ctx.find_root().command, {}, PROGRAM, VARIABLE).source()
    if as_json:
        print_json({"shell": shell, "script": script})
    else:
        say(script)


def environment_names(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    from oddish.environments import read_environments

    return [name for name in read_environments() if name.startswith(incomplete)]
