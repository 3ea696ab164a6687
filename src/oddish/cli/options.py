"""Options that several commands share."""

import click

api_option = click.option("--api", metavar="URL", help="Use the server at this address instead of ODDISH_API_URL.")

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text.")
