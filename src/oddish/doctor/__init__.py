"""What this machine can run and why not. ``python -m oddish.doctor`` prints a report as one JSON document.

A program of its own: it looks at the sandbox, the settings, the database and the store, which the command line does
not import. In each module pure functions turn facts into findings, and ``look`` functions gather the facts.
"""
