"""The database of a local stack, as programs beside it reach it."""

from oddish.stack import account
from oddish.stack.layout import layout
from oddish.stack.sockets import socket_directory


def address() -> str:
    """URL of the database of the stack of this process's home, for psycopg."""
    return f"postgresql://oddish@/oddish?host={socket_directory(layout().postgres / 'socket', account.current())}"
