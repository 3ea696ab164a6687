"""User names as container engines read them."""

import pytest

from oddish.errors import InvalidInput
from oddish.sandbox.spec import User
from oddish.sandbox.users import parse

PASSWD = "root:x:0:0:root:/root:/bin/sh\nagent:x:1000:1001::/home/agent:/bin/sh\nbroken line\n"
GROUP = "root:x:0:\nagents:x:1001:\nextra:x:7:agent,other\nalso:x:8:other\n"


@pytest.mark.parametrize(
    ("wanted", "user"),
    [
        ("agent", User(1000, 1001, (7, 1001), "/home/agent")),
        ("1000", User(1000, 1001, (7, 1001), "/home/agent")),
        ("agent:extra", User(1000, 7, (), "/home/agent")),
        ("1000:99", User(1000, 99, (), "/home/agent")),
        ("4321", User(4321, 0, (0,), "/")),
        ("root", User(0, 0, (0,), "/root")),
    ],
)
def test_names_and_numbers(wanted: str, user: User) -> None:
    assert parse(wanted, PASSWD, GROUP) == user


@pytest.mark.parametrize("wanted", ["nobody", "agent:nogroup"])
def test_unknown_names_are_refused_by_name(wanted: str) -> None:
    with pytest.raises(InvalidInput, match=wanted.rpartition(":")[2]):
        parse(wanted, PASSWD, GROUP)
