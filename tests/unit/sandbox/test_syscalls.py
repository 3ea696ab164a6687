"""The system call filter, run by a small interpreter of the instructions it uses."""

import errno
import struct

import pytest

from oddish.errors import Unavailable
from oddish.sandbox.syscalls import ABIS, Abi, program

ALLOW = 0x7FFF0000
READ = {"x86_64": 0, "aarch64": 63}


def run(code: bytes, number: int, audit: int, argument: int = 0) -> int:
    data = struct.pack("=IIQQ", number, audit, 0, argument)
    statements = list(struct.iter_unpack("=HBBI", code))
    position = accumulator = 0
    while True:
        kind, if_true, if_false, value = statements[position]
        position += 1
        match kind:
            case 0x20:
                (accumulator,) = struct.unpack_from("=I", data, value)
            case 0x05:
                position += value
            case 0x15:
                position += if_true if accumulator == value else if_false
            case 0x35:
                position += if_true if accumulator >= value else if_false
            case 0x45:
                position += if_true if accumulator & value else if_false
            case 0x06:
                return int(value)
            case _:
                raise AssertionError(hex(kind))


CASES = [(machine, abi) for machine, abis in ABIS.items() for abi in abis]


@pytest.mark.parametrize(("machine", "abi"), CASES)
def test_every_listed_call_is_refused_and_the_rest_allowed(machine: str, abi: Abi) -> None:
    code = program(machine)
    for number in range(500):
        names = [name for name, listed in abi.numbers.items() if listed == number]
        expected = ALLOW
        if names == ["clone3"]:
            expected = 0x00050000 | errno.ENOSYS
        elif names and names not in (["clone"], ["socket"]):
            expected = 0x00050000 | errno.EPERM
        assert run(code, number, abi.audit, 0) == expected, names


@pytest.mark.parametrize(("machine", "abi"), CASES)
def test_threads_and_processes_start_but_no_namespaces(machine: str, abi: Abi) -> None:
    code, clone = program(machine), abi.numbers["clone"]
    assert run(code, clone, abi.audit, 0x003D0F00) == ALLOW
    assert run(code, clone, abi.audit, 17) == ALLOW
    for flag in (0x10000000, 0x00020000, 0x20000000, 0x40000000, 0x02000000, 0x04000000, 0x08000000):
        assert run(code, clone, abi.audit, 17 | flag) == 0x00050000 | errno.EPERM


@pytest.mark.parametrize(("machine", "abi"), CASES)
def test_sockets_of_the_hypervisor_only_are_refused(machine: str, abi: Abi) -> None:
    code, call = program(machine), abi.numbers["socket"]
    assert [run(code, call, abi.audit, family) for family in (1, 2, 10)] == [ALLOW] * 3
    assert run(code, call, abi.audit, 40) == 0x00050000 | errno.EPERM


def test_foreign_conventions_are_refused_as_a_whole() -> None:
    code = program("x86_64")
    assert run(code, READ["x86_64"], 0xC00000B7) == 0x00050000 | errno.ENOSYS
    assert run(code, 0x40000000 + READ["x86_64"], 0xC000003E) == 0x00050000 | errno.ENOSYS


@pytest.mark.parametrize("machine", ABIS)
def test_jumps_stay_within_what_the_kernel_accepts(machine: str) -> None:
    assert 0 < len(program(machine)) // 8 <= 4096


def test_an_unknown_machine_is_named() -> None:
    with pytest.raises(Unavailable, match="sparc"):
        program("sparc")
