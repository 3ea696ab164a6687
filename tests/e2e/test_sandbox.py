"""A sandbox's life: what lasts inside it, what never gets out, and that nothing is left."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from oddish.errors import InvalidInput, Unavailable
from oddish.sandbox import cgroup, host, users
from oddish.sandbox.failures import CommandFailed
from oddish.sandbox.sandbox import Sandbox
from oddish.sandbox.spec import Bind, Command, Limits, User
from oddish.sandbox.support import support
from oddish.sandbox.sweep import sweep
from support.sandbox_kit import NOTHING, StartSandbox, exists, output, shell, spec, traces
from support.waiting import until

pytestmark = pytest.mark.anyio
root_only = pytest.mark.skipif(not host.privileged(), reason="the system is read-only without privileges")


_FILL = """exec python3 -c '
import os, time
while True:
    try:
        if not os.fork():
            time.sleep(600)
    except BlockingIOError:
        time.sleep(0.001)
'"""
"""Takes every process that there may be, again and again."""


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    directory = tmp_path / "scratch"
    directory.mkdir()
    return directory


@pytest.fixture
async def start(scratch: Path) -> AsyncIterator[StartSandbox]:
    started: list[Sandbox] = []

    async def make(name: str = "test", **changes: object) -> Sandbox:
        started.append(await Sandbox.start(spec(f"{name}-{os.getpid()}", scratch, **changes)))
        return started[-1]

    yield make
    for sandbox in started:
        await sandbox.stop()


async def test_this_machine_is_supported() -> None:
    assert support().reason is None


async def test_files_last_from_one_command_to_the_next(start: StartSandbox) -> None:
    sandbox = await start()
    await output(sandbox, "echo kept > /app/file")
    assert await output(sandbox, "cat /app/file") == "kept\n"


async def test_a_background_process_outlives_its_command_and_its_closed_output(start: StartSandbox) -> None:
    sandbox = await start()
    serve = "while read line; do echo noise; echo $line > /tmp/out; done <> /tmp/in"
    await output(sandbox, f"mkfifo /tmp/in /tmp/out; ({serve}) &")
    assert await output(sandbox, "echo ping > /tmp/in; cat /tmp/out") == "ping\n"
    assert await output(sandbox, "echo again > /tmp/in; cat /tmp/out") == "again\n"


async def test_orphans_are_reaped(start: StartSandbox) -> None:
    sandbox = await start()
    await output(sandbox, "for i in 1 2 3 4 5; do (true &) ; done")
    listing = "cat /proc/[0-9]*/stat 2>/dev/null | grep -c ') Z ' || true"
    await until_output(sandbox, listing, "0\n")


async def until_output(sandbox: Sandbox, script: str, wanted: str) -> None:
    async with asyncio.timeout(10):
        while await output(sandbox, script) != wanted:  # noqa: ASYNC110  no event of ours
            await asyncio.sleep(0.01)


async def test_exit_codes_and_streams_come_back_apart(start: StartSandbox) -> None:
    done = await (await start()).run(shell("echo out; echo err >&2; exit 7"))
    assert (done.code, done.stdout, done.stderr) == (7, b"out\n", b"err\n")


async def test_a_command_killed_by_a_signal_says_so(start: StartSandbox) -> None:
    assert (await (await start()).run(shell("kill -9 $$"))).code == -signal.SIGKILL


async def test_lines_are_handed_over_while_the_command_runs(start: StartSandbox) -> None:
    sandbox = await start()
    await output(sandbox, "mkfifo /tmp/stdout /tmp/stderr")
    seen: list[tuple[str, str]] = []

    async def on_line(line: str, stream: str) -> None:
        seen.append((line, stream))
        await output(sandbox, f"echo go > /tmp/{stream}")

    done = await sandbox.run(
        shell("echo first; read x < /tmp/stdout; echo last >&2; read x < /tmp/stderr"), on_line=on_line
    )
    assert done.code == 0
    assert seen == [("first\n", "stdout"), ("last\n", "stderr")]


async def test_long_output_is_bounded_and_marked(start: StartSandbox) -> None:
    done = await (await start()).run(shell("head -c 3000000 /dev/zero | tr '\\0' x; echo end"), output_limit=1000)
    assert len(done.stdout) < 1100
    assert b"bytes left out" in done.stdout
    assert done.stdout.endswith(b"end\n")


async def test_a_timeout_kills_everything_the_command_started_and_nothing_else(start: StartSandbox) -> None:
    sandbox = await start()
    await output(sandbox, "sleep 601 >/dev/null 2>&1 & echo $! > /tmp/service")
    begun = time.monotonic()
    with pytest.raises(TimeoutError):
        await sandbox.run(
            shell("sleep 602 & timeout 603 sh -c 'setsid sleep 604' & trap '' TERM; sleep 605"), timeout=0.3
        )
    assert time.monotonic() - begun < 5
    listing = await output(sandbox, "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '")
    assert "sleep 601" in listing
    assert not [seconds for seconds in ("602", "603", "604", "605") if f"sleep {seconds}" in listing]


async def test_cancelling_kills_the_command(start: StartSandbox) -> None:
    sandbox = await start()
    await output(sandbox, "mkfifo /tmp/ready")
    command = asyncio.create_task(sandbox.run(shell("echo > /tmp/ready; sleep 611")))
    await output(sandbox, "cat /tmp/ready")
    command.cancel()
    with pytest.raises(asyncio.CancelledError):
        await command
    assert "sleep 611" not in await output(sandbox, "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '")


async def test_a_missing_program_or_directory_is_named(start: StartSandbox) -> None:
    sandbox = await start()
    with pytest.raises(CommandFailed, match="No such file or directory"):
        await sandbox.run(shell("true", cwd="/nowhere"))


async def test_a_command_that_nothing_could_start_is_refused_by_name(start: StartSandbox) -> None:
    sandbox = await start()
    for name, value in {"A=B": "x", "A\0": "x", "": "x", "A": "x\0", "B": "\ud800"}.items():
        with pytest.raises(CommandFailed, match=re.escape(repr(name))) as refusal:
            await sandbox.run(shell("true", env={name: value}))
        assert refusal.value.malformed
    with pytest.raises(CommandFailed, match="Argument list too long") as refusal:
        await sandbox.run(shell("true " + "x" * 200_000))
    assert refusal.value.malformed
    assert await output(sandbox, "echo alive") == "alive\n"


async def test_what_the_keeper_cannot_pass_on_is_a_failure_and_no_exit_code(start: StartSandbox) -> None:
    sandbox = await start()

    class Unchecked(Command):
        def flaw(self) -> None:
            return None

    for command in (
        Unchecked(("/bin/true",), {"A=B": "x"}),
        Unchecked(("/bin/true",), {"A": "x\0"}),
        Unchecked(("/bin/true",), {}, user=User(2**40)),
        Unchecked((), {}),
    ):
        with pytest.raises(CommandFailed, match="Invalid argument"):
            await sandbox.run(command)
    assert await output(sandbox, "echo alive") == "alive\n"


async def _run_until_refused(sandbox: Sandbox) -> None:
    async with asyncio.timeout(20):
        while True:
            await sandbox.run(shell("true"))


@pytest.mark.skipif("pids" not in cgroup.controllers(), reason="control groups are not writable here")
async def test_a_sandbox_full_of_processes_lives_on(start: StartSandbox) -> None:
    sandbox = await start(limits=Limits(processes=20))
    filling = asyncio.create_task(sandbox.run(shell(_FILL)))
    with pytest.raises(CommandFailed) as refusal:
        await _run_until_refused(sandbox)
    assert refusal.value.exhausted
    filling.cancel()
    await asyncio.wait([filling])
    assert await output(sandbox, "echo alive") == "alive\n"


async def test_variables_never_appear_in_an_argument_list(start: StartSandbox) -> None:
    sandbox = await start()
    await output(sandbox, "mkfifo /tmp/ready /tmp/end")
    secret = f"secret-{os.getpid()}-value"
    command = asyncio.create_task(
        sandbox.run(shell('test -n "$TOKEN"; echo > /tmp/ready; read x < /tmp/end', env={"TOKEN": secret}))
    )
    await output(sandbox, "cat /tmp/ready")
    assert traces(secret, sandbox.spec.directory).processes == ()
    await output(sandbox, "echo > /tmp/end")
    assert (await command).code == 0


async def test_stopping_leaves_nothing(start: StartSandbox, scratch: Path) -> None:
    sandbox = await start("leaving")
    name = sandbox.spec.name
    await output(
        sandbox, "(setsid sleep 600 >/dev/null 2>&1 &); mkdir -p /app/a/b; chmod 0 /app/a/b /app/a; touch /tmp/x"
    )
    before = traces(name, scratch)
    assert before.processes
    assert before.files
    await sandbox.stop()
    await sandbox.stop()
    assert traces(name, scratch) == NOTHING


async def test_a_tree_deeper_than_any_path_is_removed(start: StartSandbox, scratch: Path) -> None:
    sandbox = await start("deep")
    await output(sandbox, "cd /tmp; i=0; while [ $i -lt 1200 ]; do mkdir dddd && cd dddd; i=$((i+1)); done")
    await sandbox.stop()
    assert traces(sandbox.spec.name, scratch) == NOTHING


@pytest.mark.parametrize("victim", ["caller", "keeper"])
async def test_a_killed_caller_or_keeper_leaves_nothing_that_runs(scratch: Path, victim: str) -> None:
    name = f"doomed-{victim}-{os.getpid()}"
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[1])}
    caller = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "support.doomed_caller",
        name,
        str(scratch),
        stdout=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    )
    assert caller.stdout
    assert await caller.stdout.readline() == b"started\n"
    if victim == "keeper":
        (keeper,) = psutil.Process(caller.pid).children()
        keeper.kill()
        await until(lambda: not [pid for pid in traces(name, scratch).processes if pid != str(caller.pid)])
    os.killpg(caller.pid, signal.SIGKILL)
    await caller.wait()
    if victim == "keeper":
        await until(lambda: sweep(scratch) == (name,))
    await until(lambda: traces(name, scratch) == NOTHING)


async def test_sweeping_spares_what_runs(start: StartSandbox, scratch: Path) -> None:
    sandbox = await start()
    assert sweep(scratch) == ()
    assert await output(sandbox, "echo alive") == "alive\n"


async def test_sandboxes_start_beside_others_that_sweep(scratch: Path) -> None:
    started = threading.Event()

    def sweep_on() -> list[str]:
        removed: list[str] = []
        while not started.is_set():
            removed += sweep(scratch)
        return removed

    sweeper = asyncio.create_task(asyncio.to_thread(sweep_on))
    try:
        for number in range(6):
            sandbox = await Sandbox.start(spec(f"swept-{number}-{os.getpid()}", scratch))
            assert await output(sandbox, "echo alive") == "alive\n"
            await sandbox.stop()
    finally:
        started.set()
    assert await sweeper == []


async def test_a_command_in_an_ended_sandbox_fails(start: StartSandbox) -> None:
    sandbox = await start()
    os.kill(sandbox.init, signal.SIGKILL)
    await until(lambda: sandbox.ended)
    with pytest.raises(CommandFailed):
        await sandbox.run(shell("true"))


async def test_eight_at_once(start: StartSandbox) -> None:
    sandboxes = await asyncio.gather(*(start(f"many-{number}") for number in range(8)))
    names = await asyncio.gather(*(output(sandbox, "hostname; ls /app") for sandbox in sandboxes))
    assert [name.strip() for name in names] == [sandbox.spec.name for sandbox in sandboxes]


async def test_many_commands_at_once_in_one_sandbox(start: StartSandbox) -> None:
    sandbox = await start()
    results = await asyncio.gather(*(output(sandbox, f"echo {number}") for number in range(40)))
    assert results == [f"{number}\n" for number in range(40)]


async def test_a_command_line_of_a_megabyte_arrives(start: StartSandbox) -> None:
    sandbox = await start()
    env = {f"V{number}": "x" * 100_000 for number in range(10)}
    done = await sandbox.run(shell('echo "${#V0} ${#V9} grüße"', env=env))
    assert done.stdout.decode() == "100000 100000 grüße\n"


async def test_without_network_there_is_only_loopback(start: StartSandbox) -> None:
    sandbox = await start(network=False)
    interfaces = await output(sandbox, "tail -n +3 /proc/net/dev | cut -d: -f1")
    assert interfaces.split() == ["lo"]


async def test_mounts_show_host_directories(start: StartSandbox, tmp_path: Path) -> None:
    for name in ("given", "kept"):
        (tmp_path / name).mkdir()
    (tmp_path / "given" / "data").write_text("given")
    binds = (Bind(tmp_path / "given", "/data/given", read_only=True), Bind(tmp_path / "kept", "/kept"))
    sandbox = await start(binds=binds)
    assert await output(sandbox, "cat /data/given/data; echo result > /kept/result") == "given"
    assert (await sandbox.run(shell("touch /data/given/x"))).code != 0
    assert (tmp_path / "kept" / "result").read_text() == "result\n"


@pytest.mark.skipif("pids" not in cgroup.controllers(), reason="control groups are not writable here")
async def test_the_number_of_processes_is_bounded(start: StartSandbox) -> None:
    sandbox = await start(limits=Limits(processes=20))
    done = await sandbox.run(shell("for i in $(seq 60); do sleep 60 & done; wait"), timeout=5)
    assert b"ork" in done.stderr


@pytest.mark.skipif("pids" not in cgroup.controllers(), reason="control groups are not writable here")
async def test_by_default_there_are_at_most_1024_processes(start: StartSandbox) -> None:
    sandbox = await start()
    (group,) = (path for path in cgroup.paths(sandbox.spec.name) if (path / "pids.max").exists())
    assert (group / "pids.max").read_text() == "1024\n"


@pytest.mark.skipif("cpu" not in cgroup.controllers(), reason="control groups are not writable here")
async def test_the_rest_of_the_machine_comes_first(start: StartSandbox) -> None:
    sandbox = await start()
    files = [path / name for path in cgroup.paths(sandbox.spec.name) for name in ("cpu.shares", "cpu.weight")]
    assert [file.read_text() for file in files if file.exists()] in (["102\n"], ["10\n"])
    assert await output(sandbox, "nice") == "0\n"


async def test_without_control_groups_the_rest_of_the_machine_comes_first(
    start: StartSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroup, "hierarchies", lambda: ())
    sandbox = await start()
    assert await output(sandbox, "nice; sh -c nice") == "10\n10\n"


@pytest.mark.skipif("memory" not in cgroup.controllers(), reason="control groups are not writable here")
async def test_memory_is_bounded(start: StartSandbox) -> None:
    sandbox = await start(limits=Limits(memory_bytes=64 * 1024 * 1024))
    done = await sandbox.run(shell("head -c 300000000 /dev/zero | tail -c 300000000 | wc -c"), timeout=20)
    assert done.stdout != b"300000000\n"
    assert await output(sandbox, "echo alive") == "alive\n"


async def test_when_memory_is_full_a_sandbox_goes_first(start: StartSandbox) -> None:
    sandbox = await start()
    assert await output(sandbox, "cat /proc/self/oom_score_adj") == "1000\n"


@pytest.mark.skipif("memory" not in cgroup.controllers(), reason="control groups are not writable here")
async def test_no_sandbox_may_take_all_memory(start: StartSandbox) -> None:
    sandbox = await start()
    files = [
        path / name for path in cgroup.paths(sandbox.spec.name) for name in ("memory.limit_in_bytes", "memory.max")
    ]
    (limit,) = [int(file.read_text()) for file in files if file.exists()]
    total = psutil.virtual_memory().total
    assert total // 2 <= limit <= total - min(total // 8, 2**30)


@root_only
async def test_the_system_can_be_changed_inside_only(start: StartSandbox) -> None:
    sandbox = await start()
    marker = f"oddish-{sandbox.spec.name}"
    had_documents = exists("/usr/share/doc")
    await output(sandbox, f"touch /usr/{marker} /etc/{marker} /opt/{marker}; mkdir /{marker}; rm -rf /usr/share/doc")
    assert not any(exists(f"/usr/{marker}", f"/etc/{marker}", f"/opt/{marker}", f"/{marker}"))
    assert exists("/usr/share/doc") == had_documents


@root_only
async def test_another_user_can_be_made_and_used(start: StartSandbox) -> None:
    sandbox = await start()
    await output(sandbox, "useradd -m -u 4321 worker && usermod -aG games worker")
    account = await users.resolve(sandbox, "worker")
    done = await sandbox.run(
        shell("id -un; id -Gn; cd && pwd; grep CapEff /proc/self/status", user=account, env={"HOME": account.home})
    )
    assert done.stdout.decode().split() == ["worker", "worker", "games", "/home/worker", "CapEff:", "0" * 16]


@root_only
async def test_a_replaced_shell_holds_no_more_than_a_command(start: StartSandbox) -> None:
    sandbox = await start()
    allowed = (await output(sandbox, "grep CapEff /proc/self/status")).strip()
    await output(
        sandbox,
        "cp /bin/sh /usr/bin/real; printf '#!/usr/bin/real\\ngrep CapEff /proc/self/status\\n' > /tmp/fake; "
        "chmod 755 /tmp/fake; mv /tmp/fake /usr/bin/bash",
    )
    done = await sandbox.run(shell("exec /bin/bash -c true"))
    assert done.stdout.decode().strip() == allowed == "CapEff:\t00000000800405fb"


async def test_a_user_who_does_not_exist_is_named(start: StartSandbox) -> None:
    sandbox = await start()
    with pytest.raises(InvalidInput, match="nobody-of-that-name"):
        await users.resolve(sandbox, "nobody-of-that-name")


async def test_without_privileges_there_is_only_root(start: StartSandbox) -> None:
    sandbox = await start()
    assert await users.resolve(sandbox, None) == User()
    assert await output(sandbox, "id -u") == "0\n"


async def test_what_bwrap_says_is_reported_when_it_refuses(start: StartSandbox, tmp_path: Path, scratch: Path) -> None:
    missing = Bind(tmp_path / "missing", "/missing")
    with pytest.raises(Unavailable, match="missing"):
        await start("refused", binds=(missing,))
    assert traces("refused-", scratch) == NOTHING
