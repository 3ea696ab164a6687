"""Network modes and the host lists that go with them, in task.toml. Standard library only."""

import re
from typing import Any

from oddish.tasks.fields import Check, FieldError, list_of, member, one_of, shown, text

NETWORK_MODES = ("public", "no-network", "allowlist")

_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


def _host(value: Any, key: str) -> str:
    host = text(value, key).strip().lower().rstrip(".")
    reason = f"must be a host name, a *.suffix, an IP address or an IP range, not {shown(value)}"
    if "/" in host or ":" in host:
        return _address(host, key, reason)
    name = host.removeprefix("*.")
    if name != host and _is_address(name):
        raise FieldError(key, reason)
    if not all(_LABEL.fullmatch(label) for label in name.split(".")):
        raise FieldError(key, reason)
    return host


def _address(host: str, key: str, reason: str) -> str:
    from ipaddress import IPv6Address, ip_network

    try:
        if "%" in host:
            raise FieldError(key, reason)
        return ip_network(host, strict=True).compressed if "/" in host else IPv6Address(host).compressed
    except ValueError:
        raise FieldError(key, reason) from None


def _is_address(host: str) -> bool:
    from ipaddress import ip_address

    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def phase_network(config: dict[str, Any], key: str) -> dict[str, Any]:
    mode, hosts = config.get("network_mode"), config.get("allowed_hosts")
    unusable = hosts is not None if mode is None else bool(hosts) and mode != "allowlist"
    if unusable:
        raise FieldError(member(key, "allowed_hosts"), f'needs {member(key, "network_mode")} = "allowlist"')
    return config


def baseline_network(config: dict[str, Any], key: str) -> dict[str, Any]:
    if config.get("allowed_hosts") and config.get("network_mode") != "allowlist":
        raise FieldError(member(key, "allowed_hosts"), f'needs {member(key, "network_mode")} = "allowlist"')
    return config


NETWORK_FIELDS: dict[str, Check] = {"network_mode": one_of(*NETWORK_MODES), "allowed_hosts": list_of(_host)}
