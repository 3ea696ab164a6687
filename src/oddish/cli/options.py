"""Options that several commands share."""

import click

_SERVER = "Use the server at this address instead of ODDISH_API_URL."

api_option = click.option("--api", "--api-url", "api", metavar="URL", help=_SERVER)

short_api_option = click.option("-u", "--api-url", "--api", "api", metavar="URL", help=_SERVER)
"""For commands in which ``-u`` names nothing else."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text.")
