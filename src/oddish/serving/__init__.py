"""What every HTTP server of ours does with a request, whatever it serves: checks, headers, refusals.

Starlette alone; no database, no settings.
"""
