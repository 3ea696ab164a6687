"""What is said of a sandbox that differs from the container of its task."""

from dataclasses import replace

import pytest

from oddish.sandbox.dockerfile import parse
from oddish.sandbox.fidelity import Circumstances, notes
from oddish.sandbox.plan import make

BOUNDED = frozenset({"memory", "pids", "cpu"})
HERE = Circumstances(system="Debian 13", privileged=True, controllers=BOUNDED, network=False)


def said(here: Circumstances, text: str = "FROM ubuntu:24.04\n") -> list[str]:
    plan = make(parse(text))
    return list(notes(plan, plan.image, here))


def test_the_image_is_always_replaced() -> None:
    assert said(HERE) == ["the image ubuntu:24.04 is replaced by this machine's own system, Debian 13"]


@pytest.mark.parametrize(
    ("here", "words"),
    [
        (replace(HERE, privileged=False), "read-only"),
        (replace(HERE, network=True), "ports are shared"),
        (replace(HERE, cpus=2.0), "cpus = 2 is a share of the machine under load"),
        (replace(HERE, cpus=0.5, controllers=frozenset()), "cpus = 0.5 is not enforced: control groups"),
        (replace(HERE, memory_mb=64, controllers=frozenset({"pids"})), "memory_mb = 64 is not enforced"),
    ],
)
def test_each_difference_has_its_sentence(here: Circumstances, words: str) -> None:
    _, second = said(here)
    assert words in second


def test_what_is_enforced_is_not_mentioned() -> None:
    assert len(said(replace(HERE, memory_mb=64))) == 1


def test_what_the_dockerfile_asked_for_in_vain_comes_last() -> None:
    assert said(HERE, "FROM a\nRUN --mount=type=tmpfs,target=/x true\n")[-1].startswith("line 2: the tmpfs mount")
