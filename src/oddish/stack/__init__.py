"""Local mode: PostgreSQL, the API server and a worker on this machine, started when needed and stopped when idle.

``oddish.stack.client`` is what the command line imports; ``python -m oddish.stack`` is the supervisor.
"""
