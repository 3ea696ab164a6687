"""The stack of a user without privileges. Root runs it as one who may still read its interpreter, nothing more."""

import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from oddish.stack import process

from .conftest import PROGRAM, belonging_to

NAMED = pwd.getpwnam("nobody").pw_uid
NAMELESS = 54321
READING = ("--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search")
SCRIPT = f"""
from oddish.stack import client
stack = client.ensure(program={PROGRAM!r})
assert client.find(probe=True).pid == stack.pid
print(stack.pid, flush=True)
input()
print(client.stop())
"""


def reaches_interpreter(uid: int) -> bool:
    setpriv = shutil.which("setpriv")
    command = [str(setpriv), f"--reuid={uid}", f"--regid={uid}", "--clear-groups", sys.executable, "-c", ""]
    return setpriv is not None and subprocess.run(command, check=False, capture_output=True).returncode == 0


def as_user(uid: int, *command: str) -> list[str]:
    if os.geteuid() != 0:
        return list(command)
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("there is no setpriv to become an ordinary user with")
    return [setpriv, f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *READING, *command]


@pytest.mark.parametrize("uid", [NAMED, NAMELESS] if os.geteuid() == 0 else [os.geteuid()])
def test_an_ordinary_user_runs_a_stack_of_their_own(oddish_home: Path, uid: int) -> None:
    if uid == NAMELESS and not reaches_interpreter(uid):
        pytest.skip("the interpreter is in a directory closed to other users, and a namespace forgets the capability")
    oddish_home.mkdir()
    os.chown(oddish_home, uid, -1)
    caller = subprocess.Popen(
        as_user(uid, sys.executable, "-c", SCRIPT), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert caller.stdout is not None
    pid = int(caller.stdout.readline())
    below = process.descendants(pid)
    assert {(process.PROC / str(entry.pid)).stat().st_uid for entry in below} == {uid}
    assert {path.stat().st_uid for path in oddish_home.rglob("*")} == {uid}
    answer, _ = caller.communicate("\n", timeout=60)
    assert answer == f"Stopped (process {pid}).\n"
    assert [entry for entry in below if entry.alive()] == []
    assert belonging_to(oddish_home) == []
