"""Tasks that are asked for and are not there."""

from oddish.errors import NotFound


def no_task(reference: str) -> NotFound:
    """Of an id, or of what the command line takes for an id or a name."""
    return NotFound(f"There is no task {reference!r} here.", fix="Upload it, or look for its id with `oddish ls`.")
