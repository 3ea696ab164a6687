"""What the Compose file of a task asks of the machine that runs it: is there anything beyond containers of its own?

The file is hostile text: it is bounded before it is read, nothing in it is executed or expanded, and what is not known
to stay inside counts as reaching out. A deployment decides whether such tasks run (``allow_host_access``).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from oddish.tasks.plainyaml import Unreadable, Value, documents

FILE = "docker-compose.yaml"
ENV_FILE = ".env"
MAX_BYTES = 128 * 1024
MOST_FINDINGS = 20

_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)|([A-Za-z_][A-Za-z0-9_]*))")
_STEERING = re.compile(r"^\s*(?:export\s+)?((?:COMPOSE|DOCKER)_[A-Z0-9_]*)\s*[=:]", re.MULTILINE)
"""Variables of an ``.env`` file that are meant for Compose itself."""

_TOP = frozenset({"configs", "name", "networks", "secrets", "services", "version", "volumes"})
_SERVICE = frozenset(
    {
        "attach",
        "build",
        "cap_add",
        "cap_drop",
        "cgroup",
        "command",
        "configs",
        "container_name",
        "cpu_count",
        "cpu_percent",
        "cpu_period",
        "cpu_quota",
        "cpu_shares",
        "cpus",
        "cpuset",
        "depends_on",
        "deploy",
        "dns",
        "dns_opt",
        "dns_search",
        "domainname",
        "entrypoint",
        "env_file",
        "environment",
        "expose",
        "extra_hosts",
        "gpus",
        "group_add",
        "healthcheck",
        "hostname",
        "image",
        "init",
        "ipc",
        "labels",
        "links",
        "logging",
        "mac_address",
        "mem_limit",
        "mem_reservation",
        "mem_swappiness",
        "memswap_limit",
        "network_mode",
        "networks",
        "pid",
        "pids_limit",
        "platform",
        "ports",
        "privileged",
        "profiles",
        "pull_policy",
        "read_only",
        "restart",
        "scale",
        "secrets",
        "shm_size",
        "stdin_open",
        "stop_grace_period",
        "stop_signal",
        "storage_opt",
        "sysctls",
        "tmpfs",
        "tty",
        "ulimits",
        "user",
        "userns_mode",
        "uts",
        "volumes",
        "working_dir",
    }
)
"""Keys of a service that stay inside, or whose values are looked at below. All others count as reaching out."""
_BUILD = frozenset(
    {
        "args",
        "cache_from",
        "context",
        "dockerfile",
        "dockerfile_inline",
        "labels",
        "network",
        "no_cache",
        "platforms",
        "pull",
        "shm_size",
        "tags",
        "target",
    }
)
_VOLUME = frozenset({"labels"})
_NETWORK = frozenset({"attachable", "driver", "enable_ipv4", "enable_ipv6", "internal", "ipam", "labels"})
_FILE = frozenset({"content", "file", "labels", "name", "template_driver"})
_LOG_DRIVERS = frozenset({"", "json-file", "local", "none"})
_DEPLOY = frozenset({"endpoint_mode", "labels", "mode", "placement", "replicas", "resources", "restart_policy"})
_OFF = frozenset({"", "false", "no", "off"})
_CAPABILITIES = frozenset(
    {
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "NET_RAW",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    }
)
"""What containers have anyway."""
_NAMESPACES: Mapping[str, frozenset[str]] = {
    "cgroup": frozenset({"private"}),
    "ipc": frozenset({"none", "private", "shareable"}),
    "network_mode": frozenset({"bridge", "none"}),
    "pid": frozenset(),
    "userns_mode": frozenset(),
    "uts": frozenset(),
}
"""Values that give a service namespaces of its own; ``service:NAME`` shares those of another one of the task."""


@dataclass(frozen=True, slots=True)
class Services:
    """What is noted of a task's services."""

    reaches: tuple[str, ...]
    """Phrases that name what reaches out and where; empty when everything stays inside."""
    variables: tuple[str, ...]
    """Names of variables that Compose would look up."""


def look(task: Path, directories: Sequence[str]) -> Services:
    """The Compose files in those directories of a task, and the files of variables beside them."""
    reaches: list[str] = []
    variables: set[str] = set()
    for directory in directories:
        for name, findings_of in ((FILE, _in_services), (ENV_FILE, _in_variables)):
            shown = f"{directory}/{name}"
            try:
                content = _content(task / directory / name)
                if content is None:
                    continue
                if name == FILE:
                    variables |= _names(content.decode(errors="replace"))
                found = [f"{shown}: {finding}" for finding in dict.fromkeys(findings_of(_decoded(content)))]
            except Unreadable as error:
                found = [f"{shown} {error}"]
            reaches += found[:MOST_FINDINGS]
    return Services(tuple(reaches), tuple(sorted(variables)))


def _content(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from None


def _in_services(text: str) -> Iterator[str]:
    for document in documents(text):
        yield from _findings(document)


def _in_variables(text: str) -> Iterator[str]:
    for name in _STEERING.findall(text):
        yield f"{name} steers Compose itself"


def _names(text: str) -> set[str]:
    return {braced or bare for braced, bare in _VARIABLE.findall(text)}


def _decoded(content: bytes) -> str:
    if len(content) > MAX_BYTES:
        raise Unreadable(f"is larger than {MAX_BYTES} bytes")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Unreadable(f"is not UTF-8 text (byte {error.start})") from None


def _findings(document: Value) -> Iterator[str]:
    if not isinstance(document, dict):
        yield "no list of services"
        return
    yield from _unknown("", document, _TOP)
    for name, service in _entries(document.get("services")):
        yield from _service(f"services.{name}", service)
    for name, volume in _entries(document.get("volumes")):
        yield from _unknown(f"volumes.{name}", volume, _VOLUME)
    for name, network in _entries(document.get("networks")):
        yield from _unknown(f"networks.{name}", network, _NETWORK)
        if (driver := _text(network.get("driver"))) not in ("", "bridge"):
            yield f"networks.{name}.driver is {driver!r}"
    for kind in ("configs", "secrets"):
        for name, entry in _entries(document.get(kind)):
            yield from _unknown(f"{kind}.{name}", entry, _FILE)
            if outside(_text(entry.get("file"))):
                yield f"{kind}.{name}.file is {_text(entry.get('file'))!r}"


def _service(where: str, service: Mapping[str, Value]) -> Iterator[str]:
    yield from _unknown(where, service, _SERVICE)
    if _is_on(service.get("privileged")):
        yield f"{where}.privileged"
    for key, inside in _NAMESPACES.items():
        value = _text(service.get(key))
        if value and value not in inside and not (value.startswith("service:") and "$" not in value):
            yield f"{where}.{key} is {value!r}"
    for capability in _texts(service.get("cap_add")):
        if capability.upper().removeprefix("CAP_") not in _CAPABILITIES:
            yield f"{where}.cap_add has {capability!r}"
    for setting in _texts(service.get("sysctls")):
        if not setting.startswith(("net.", "kernel.msg", "kernel.sem", "kernel.shm", "fs.mqueue.")):
            yield f"{where}.sysctls has {setting!r}"
    for volume in _list(service.get("volumes")):
        yield from _mount(f"{where}.volumes", volume)
    for file in _list(service.get("env_file")):
        path = _text(file.get("path") if isinstance(file, dict) else file)
        if outside(path):
            yield f"{where}.env_file has {path!r}"
    if isinstance(logs := service.get("logging"), dict) and (driver := _text(logs.get("driver"))) not in _LOG_DRIVERS:
        yield f"{where}.logging.driver is {driver!r}"
    if (build := service.get("build")) is not None:
        yield from _build(f"{where}.build", build)
    if isinstance(deploy := service.get("deploy"), dict):
        yield from _unknown(f"{where}.deploy", deploy, _DEPLOY)


def _mount(where: str, volume: Value) -> Iterator[str]:
    if isinstance(volume, dict):
        kind, source = _text(volume.get("type")), _text(volume.get("source"))
        if kind not in ("bind", "volume", "tmpfs"):
            yield f"{where} has a mount of the type {kind!r}"
        elif kind != "tmpfs" and source and _leaves(source, kind == "bind"):
            yield f"{where} binds {source!r}"
        return
    parts = _text(volume).split(":")
    source = parts[0] if len(parts) > 1 or "$" in parts[0] else ""
    if source and _leaves(source, source.startswith((".", "/", "~"))):
        yield f"{where} binds {_text(volume)!r}"


def _leaves(source: str, is_path: bool) -> bool:
    """A named volume is the task's own; a path has to be below the task, as it is written."""
    return "$" in source or (outside(source) if is_path else "/" in source or "\\" in source)


def outside(path: str) -> bool:
    """Whether a path in a task leads out of the task's directory, or may."""
    parts = PurePosixPath(path).parts
    return path.startswith(("/", "~")) or ".." in parts or "$" in path or "\\" in path


def _build(where: str, build: Value) -> Iterator[str]:
    if not isinstance(build, dict):
        build = {"context": build}
    yield from _unknown(where, build, _BUILD)
    context = _text(build.get("context"))
    if outside(context) or "://" in context or ":" in context or context.startswith("git@"):
        yield f"{where}.context is {context!r}"
    if outside(_text(build.get("dockerfile"))):
        yield f"{where}.dockerfile is {_text(build.get('dockerfile'))!r}"
    if (network := _text(build.get("network"))) not in ("", "default", "none"):
        yield f"{where}.network is {network!r}"


def _unknown(where: str, value: Mapping[str, Value], known: frozenset[str]) -> Iterator[str]:
    for key in value:
        if key not in known and not key.startswith("x-"):
            yield f"{where}.{key}".removeprefix(".")


def _entries(value: Value) -> Iterator[tuple[str, Mapping[str, Value]]]:
    for name, entry in value.items() if isinstance(value, dict) else ():
        yield name, entry if isinstance(entry, dict) else {}


def _list(value: Value) -> list[Value]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _is_on(value: Value) -> bool:
    return _text(value).lower() not in _OFF


def _text(value: Value) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _texts(value: Value) -> Sequence[str]:
    """The entries of a list or the keys of a mapping, whichever Compose was given."""
    return list(value) if isinstance(value, dict) else [_text(entry).partition("=")[0] for entry in _list(value)]
