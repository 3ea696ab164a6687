"""The structure of task.toml: which keys exist, what they may hold. Standard library only.

``check_config`` accepts what the engine's configuration model accepts and refuses what it refuses; a contract test
compares the two.
"""

import math
import re
import unicodedata
from typing import Any

from oddish.tasks.fields import (
    FieldError,
    boolean,
    list_of,
    map_of,
    member,
    nonempty_text,
    number,
    one_of,
    shown,
    table,
    text,
    text_or,
    user,
    whole_number,
)
from oddish.tasks.hosts import NETWORK_FIELDS, baseline_network, phase_network
from oddish.tasks.variables import mcp_header

OPERATING_SYSTEMS = ("linux", "windows")

_PACKAGE_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]*/[a-zA-Z0-9][a-zA-Z0-9._-]*")
_SERVICE = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]*")
_TOPOLOGY = re.compile(r"[1-9]\d*(x[1-9]\d*)+")
_STEP_UNSAFE = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]')
_DEVICE = re.compile(r"(CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(?:COM|LPT)[1-9¹²³])", re.IGNORECASE)
_SIZE_UNITS_MB = {"G": 1024.0, "M": 1.0, "K": 1 / 1024}


def check_config(document: dict[str, Any]) -> dict[str, Any]:
    """The known members of a parsed task.toml, normalised: sizes in MB, ``os`` in lower case, no legacy spellings.

    Raises ``FieldError`` naming the dotted key.
    """
    if "version" in document:
        document = {"schema_version": document["version"], **document}
    checked: dict[str, Any] = CONFIG(document, "")
    return checked


def _anything(value: Any, key: str) -> Any:
    return value


def _package_name(value: Any, key: str) -> str:
    name = text(value, key)
    if not _PACKAGE_NAME.fullmatch(name) or ".." in name:
        raise FieldError(key, f'must look like "organisation/name" (letters, digits, ".", "_", "-"), not {shown(name)}')
    return name


def _cpus(value: Any, key: str) -> int | float:
    cpus = number(value, key)
    if not math.isfinite(cpus):
        raise FieldError(key, f"must be a finite number, not {shown(value)}")
    return int(cpus) if cpus.is_integer() else cpus


def _os(value: Any, key: str) -> Any:
    return one_of(*OPERATING_SYSTEMS)(value.lower() if isinstance(value, str) else value, key)


def _topology(value: Any, key: str) -> str:
    topology = text(value, key)
    if not _TOPOLOGY.fullmatch(topology.strip()):
        raise FieldError(key, f'must be dimensions such as "2x4" or "2x2x1", not {shown(topology)}')
    return topology


def _legacy_size(value: Any, key: str) -> int | None:
    """MB of a size such as "2G"; None for a value that is not text, which the engine drops."""
    if not isinstance(value, str):
        return None
    size = value.strip().upper()
    unit = _SIZE_UNITS_MB.get(size[-1:])
    try:
        if unit is not None:
            return int(float(size[:-1]) * unit)
    except (ValueError, OverflowError):
        pass
    raise FieldError(key, f'must be a size such as "512M" or "2G", not {shown(value)}')


def _environment(config: dict[str, Any], key: str) -> dict[str, Any]:
    for legacy, current in (("memory", "memory_mb"), ("storage", "storage_mb")):
        megabytes = config.pop(legacy, None)
        if megabytes is None:
            continue
        if config.setdefault(current, megabytes) != megabytes:
            raise FieldError(
                member(key, legacy), f"({megabytes} MB) contradicts {member(key, current)} = {config[current]}"
            )
    baseline_network(config, key)
    allowed = config.pop("allow_internet", None)
    if allowed is not None and "network_mode" not in config and "allowed_hosts" not in config:
        config["network_mode"] = "public" if allowed else "no-network"
    return config


def _mcp_transport(value: Any, key: str) -> Any:
    return one_of("stdio", "sse", "streamable-http")("streamable-http" if value == "http" else value, key)


def _mcp_headers(value: Any, key: str) -> dict[str, str]:
    headers: dict[str, str] = map_of(text)(value, key)
    for name, content in headers.items():
        mcp_header(name, content, member(key, name))
    return headers


def _mcp_server(config: dict[str, Any], key: str) -> dict[str, Any]:
    transport = config.get("transport", "sse")
    needed = "command" if transport == "stdio" else "url"
    if not config.get(needed):
        raise FieldError(member(key, needed), f'is missing: the transport "{transport}" needs it')
    if transport == "stdio" and config.get("headers"):
        raise FieldError(member(key, "headers"), "are sent by HTTP transports only, not by stdio")
    return config


def _service(value: Any, key: str) -> str:
    name = text(value, key).strip()
    if not _SERVICE.fullmatch(name):
        raise FieldError(key, f"must be a compose service name, not {shown(value)}")
    return name


def _artifact_source(value: Any, key: str) -> str:
    source = text(value, key)
    if ".." in source.split("/"):
        raise FieldError(key, f'must not contain "..": {shown(source)}')
    return source


def _artifact_destination(value: Any, key: str) -> str:
    destination = text(value, key)
    parts = [part for part in destination.split("/") if part not in ("", ".")]
    if not destination:
        return destination
    if "\\" in destination or destination.startswith("/") or ".." in parts or not parts:
        raise FieldError(key, f'must be a relative path with "/" and without "..", not {shown(destination)}')
    if destination.rstrip("/") == "manifest.json":
        raise FieldError(key, 'must not be "manifest.json", which lists what was collected')
    return destination


def _artifact_table(config: dict[str, Any], key: str) -> dict[str, Any]:
    absolute = config["source"].startswith("/") or re.match(r"[A-Za-z]:[/\\]", config["source"])
    if config.get("service", "main") != "main" and not absolute:
        raise FieldError(member(key, "source"), f'must be an absolute path in the service "{config["service"]}"')
    return config


def _min_reward(value: Any, key: str) -> Any:
    return map_of(number)(value, key) if isinstance(value, dict) else number(value, key)


def _step_name(value: Any, key: str) -> str:
    name = text(value, key)
    portable = name.strip() and name not in (".", "..") and not name.endswith((".", " "))
    if not portable or _STEP_UNSAFE.search(name) or _DEVICE.fullmatch(name.partition(".")[0].rstrip(" ")):
        raise FieldError(key, f"must be a directory name that every system accepts, not {shown(name)}")
    if len(name.encode("utf-8", "surrogatepass")) > 255:
        raise FieldError(key, "must be at most 255 bytes long")
    return name


def _different_steps(steps: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    seen: set[str] = set()
    for step in steps:
        folded = unicodedata.normalize("NFC", step["name"]).casefold()
        if folded in seen:
            raise FieldError(key, f"must have different names on every file system: {shown(step['name'])} occurs twice")
        seen.add(folded)
    return steps


def _verifier(config: dict[str, Any], key: str) -> dict[str, Any]:
    phase_network(config, key)
    if config.get("environment_mode") == "shared" and "environment" in config:
        raise FieldError(member(key, "environment_mode"), f'"shared" contradicts [{member(key, "environment")}]')
    return config


_HEALTHCHECK = table(
    {
        "command": text,
        "interval_sec": number,
        "timeout_sec": number,
        "start_period_sec": number,
        "start_interval_sec": number,
        "retries": whole_number,
    },
    required=("command",),
)
_ARTIFACT = table(
    {
        "source": _artifact_source,
        "destination": _artifact_destination,
        "exclude": list_of(text),
        "service": _service,
    },
    required=("source",),
    then=_artifact_table,
)
_MCP_SERVER = table(
    {
        "name": text,
        "transport": _mcp_transport,
        "url": text,
        "command": text,
        "args": list_of(text),
        "headers": _mcp_headers,
    },
    required=("name",),
    then=_mcp_server,
)
_ENVIRONMENT = table(
    {
        **NETWORK_FIELDS,
        "build_timeout_sec": number,
        "docker_image": text,
        "os": _os,
        "cpus": _cpus,
        "memory_mb": whole_number,
        "storage_mb": whole_number,
        "memory": _legacy_size,
        "storage": _legacy_size,
        "gpus": whole_number,
        "gpu_types": list_of(text),
        "tpu": table({"type": nonempty_text, "topology": _topology}, required=("type", "topology")),
        "mcp_servers": list_of(_MCP_SERVER),
        "env": map_of(text),
        "skills_dir": text,
        "healthcheck": _HEALTHCHECK,
        "workdir": text,
        "allow_internet": boolean,
    },
    then=_environment,
)
_AGENT = table({**NETWORK_FIELDS, "timeout_sec": number, "user": user}, then=phase_network)
_COLLECT = table(
    {"command": text, "service": _service, "timeout_sec": number, "user": user},
    required=("command",),
)
_VERIFIER = table(
    {
        **NETWORK_FIELDS,
        "timeout_sec": number,
        "env": map_of(text),
        "user": user,
        "environment_mode": one_of("shared", "separate"),
        "environment": _ENVIRONMENT,
        "collect": list_of(_COLLECT),
    },
    then=_verifier,
)
_STEP = table(
    {
        "name": _step_name,
        "agent": _AGENT,
        "verifier": _VERIFIER,
        "min_reward": _min_reward,
        "healthcheck": _HEALTHCHECK,
        "artifacts": list_of(text_or(_artifact_source, _ARTIFACT)),
    },
    required=("name",),
)
_PACKAGE = table(
    {
        "name": _package_name,
        "version": nonempty_text,
        "description": text,
        "authors": list_of(table({"name": text, "email": text}, required=("name",))),
        "keywords": list_of(text),
    },
    required=("name",),
)
CONFIG = table(
    {
        "schema_version": text,
        "task": _PACKAGE,
        "metadata": map_of(_anything),
        "verifier": _VERIFIER,
        "agent": _AGENT,
        "environment": _ENVIRONMENT,
        "solution": table({"env": map_of(text)}),
        "source": text,
        "multi_step_reward_strategy": one_of("mean", "final"),
        "steps": list_of(_STEP, then=_different_steps),
        "artifacts": list_of(text_or(_artifact_source, _ARTIFACT)),
    }
)
