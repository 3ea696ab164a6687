"""Whether an image is, as far as its name tells, the system that stands in for it. Pure."""

from collections.abc import Mapping


def same_system(image: str, release: Mapping[str, str]) -> bool:
    """Of an image like ``debian:bookworm-slim`` and the fields of an os-release file; an image without a tag is not."""
    name, _, tag = image.partition("@")[0].rpartition("/")[2].partition(":")
    version = tag.partition("-")[0]
    known = {
        release.get("VERSION_ID"),
        release.get("VERSION_CODENAME"),
        release.get("VERSION_ID", "").partition(".")[0],
    }
    return bool(version) and name == release.get("ID") and (version in known or version.partition(".")[0] in known)
