"""Images that are this machine's own system, by name."""

import pytest

from oddish.sandbox.likeness import same_system

DEBIAN = {"ID": "debian", "VERSION_ID": "12", "VERSION_CODENAME": "bookworm"}
UBUNTU = {"ID": "ubuntu", "VERSION_ID": "24.04", "VERSION_CODENAME": "noble"}


@pytest.mark.parametrize(
    "image", ["debian:12", "debian:12.5-slim", "debian:bookworm-slim", "docker.io/library/debian:bookworm-20250101"]
)
def test_the_same_release_is_the_same_system(image: str) -> None:
    assert same_system(image, DEBIAN)
    assert not same_system(image, UBUNTU)


@pytest.mark.parametrize("image", ["debian", "debian:13", "debian:trixie-slim", "python:3.13-slim", "python:12", ""])
def test_others_are_not(image: str) -> None:
    assert not same_system(image, DEBIAN)


def test_a_version_with_a_dot() -> None:
    assert same_system("ubuntu:24.04@sha256:0", UBUNTU)
    assert same_system("ubuntu:noble", UBUNTU)
    assert not same_system("ubuntu:22.04", UBUNTU)


def test_a_system_without_a_name_is_no_image() -> None:
    assert not same_system("debian:12", {})
