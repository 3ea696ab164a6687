"""The platform of this machine, as Dockerfiles name it."""

import platform
from dataclasses import dataclass
from functools import cache

_NAMES = {"x86_64": ("amd64", ""), "aarch64": ("arm64", ""), "arm64": ("arm64", ""), "armv7l": ("arm", "v7")}
_ALIASES = {"x86_64": "amd64", "x86-64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True, slots=True)
class Platform:
    architecture: str
    variant: str

    @property
    def name(self) -> str:
        return "/".join(part for part in ("linux", self.architecture, self.variant) if part)

    def covers(self, wanted: str) -> bool:
        """Whether ``linux/amd64``, ``amd64``, ``linux`` ... means this machine."""
        parts = wanted.lower().split("/")
        if parts[0] == "linux":
            parts = parts[1:]
        return not parts or _ALIASES.get(parts[0], parts[0]) == self.architecture


@cache
def current() -> Platform:
    machine = platform.machine()
    return Platform(*_NAMES.get(machine, (machine, "")))


@cache
def predefined() -> dict[str, str]:
    """Build arguments that every build has without being given them."""
    here = current()
    parts = {"PLATFORM": here.name, "OS": "linux", "ARCH": here.architecture, "VARIANT": here.variant}
    return {f"{side}{name}": value for side in ("TARGET", "BUILD") for name, value in parts.items()}
