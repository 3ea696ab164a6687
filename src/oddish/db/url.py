"""The address of a database. Standard library only."""

DRIVER = "postgresql+psycopg://"
"""How ``ODDISH_DATABASE_URL`` begins."""


def plain(url: str) -> str:
    """``url`` as psycopg itself and the programs of PostgreSQL take it: without the name of the driver."""
    return url.replace("+psycopg", "", 1)
