"""The options of `harbor run` as JSON on standard output, for which Harbor is imported here and nowhere else."""

import json
import sys
from importlib.metadata import version

import typer
from harbor.cli.main import app


def main() -> None:
    group = typer.main.get_command(app)
    run = group.get_command(typer.Context(group), "run")
    options = [
        {
            "names": list(option.opts),
            "off": list(option.secondary_opts),
            "switch": option.is_flag,
            "repeated": option.multiple,
            "hidden": option.hidden,
        }
        for option in run.params
        if option.param_type_name == "option" and "--help" not in option.opts
    ]
    json.dump({"version": version("harbor"), "options": options}, sys.stdout)


if __name__ == "__main__":
    main()
