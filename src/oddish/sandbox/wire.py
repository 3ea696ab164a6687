"""What a caller and its keeper say to each other: marshalled dictionaries, each after its length."""

from typing import TypedDict


class Claim(TypedDict):
    """What the caller sends first, on the lifeline, before any of it exists: what to remove at the end."""

    groups: list[str]
    """Control group directories."""
    directory: str


class Order(TypedDict):
    """What the caller sends next, once directory and groups are made."""

    bwrap: list[str]
    """Argument list without the descriptors for information and filter."""
    filter: bytes
    user_namespace: bool
    network_namespace: bool
    capabilities: int
    niceness: int
    """Of every command."""
    processes: int | None
    """How many there may be in the sandbox's user namespace, where no control group counts them."""
    disk_bytes: int | None
    """What the sandbox may take of the disk."""


class Report(TypedDict, total=False):
    """What the supervisor says: first that the sandbox is ready, or why it is not; later perhaps why it has to end."""

    init: int
    """Process id of the sandbox's init."""
    scoped: bool
    """Whether the host's abstract Unix sockets are out of reach."""
    error: str
    disk_limit: str
    """What it holds on disk, where that is more than it may."""
    disk_scarce: str
    """The same where the machine's disk is almost full."""


class Request(TypedDict, total=False):
    """To the gate: a command to start (with its three descriptors), or to kill."""

    id: int
    argv: list[str]
    env: dict[str, str]
    cwd: str
    uid: int
    gid: int
    groups: list[int]
    kill: bool
