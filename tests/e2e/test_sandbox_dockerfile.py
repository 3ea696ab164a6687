"""What the instructions of a Dockerfile come to in a local environment: as an engine would have it."""

import io
import os
import tarfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from harbor.environments.base import HealthcheckError, SandboxBuildFailedError
from harbor.models.task.config import EnvironmentConfig, NetworkMode, NetworkPolicy

from oddish.errors import InvalidTask
from oddish.sandbox import cgroup, host
from oddish.sandbox.failures import DiskLimitExceeded
from oddish.sandbox.platforms import current
from support.sandbox_environments import StartEnvironment, environments
from support.sandbox_kit import names

pytestmark = pytest.mark.anyio
NETWORK = "/proc/self/ns/net"
root_only = pytest.mark.skipif(not host.privileged(), reason="needs other users")


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    return tmp_path / "scratch"


@pytest.fixture
async def start(tmp_path: Path, scratch: Path) -> AsyncIterator[StartEnvironment]:
    async with environments(tmp_path, scratch) as start:
        yield start


@pytest.fixture
def context(tmp_path: Path) -> Path:
    directory = tmp_path / "environment"
    for name, content in {
        "a.txt": "a",
        "dir/b.txt": "b",
        "dir/deep/c d.txt": "c",
        "dir/secret/key": "key",
        "dir/secret/public": "public",
        "grüße/✓.txt": "unicode",
        ".dockerignore": "**/secret\n!**/public\n*.log\n",
        "noise.log": "noise",
    }.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(content)
    (directory / "dir" / "up").symlink_to("../a.txt")
    (directory / "link").symlink_to("dir")
    (directory / "run.sh").write_text("#!/bin/sh\necho ran\n")
    (directory / "run.sh").chmod(0o755)
    return directory


async def listing(start: StartEnvironment, dockerfile: str, place: str) -> list[str]:
    environment = await start(dockerfile)
    found = await environment.exec(f"cd {place} && find . -mindepth 1 -printf '%P %m %u:%g %l\\n' | sort")
    return [line.strip() for line in (found.stdout or "").splitlines()]


async def test_a_tree_arrives_as_it_is_without_what_is_ignored(start: StartEnvironment, context: Path) -> None:
    found = await listing(start, "FROM debian\nCOPY . /data\n", "/data")
    assert [line for line in found if not line.startswith((".dockerignore", "Dockerfile"))] == [
        "a.txt 644 root:root",
        "dir 755 root:root",
        "dir/b.txt 644 root:root",
        "dir/deep 755 root:root",
        "dir/deep/c d.txt 644 root:root",
        "dir/secret 755 root:root",
        "dir/secret/public 644 root:root",
        "dir/up 777 root:root ../a.txt",
        "grüße 755 root:root",
        "grüße/✓.txt 644 root:root",
        "link 777 root:root dir",
        "run.sh 755 root:root",
    ]


async def test_sources_and_targets_mean_what_they_mean_to_an_engine(start: StartEnvironment, context: Path) -> None:
    environment = await start(
        """FROM debian
WORKDIR /app
COPY a.txt renamed
COPY a.txt existing.d/
COPY *.txt *.none ["dir/deep/c d.txt", "."]
COPY a.txt dir/b.txt both/
COPY link/b.txt through
COPY link linked
COPY dir /tmp
COPY a.txt /tmp
""".replace('COPY *.txt *.none ["dir/deep/c d.txt", "."]', 'COPY *.txt *.none ./\nCOPY ["dir/deep/c d.txt", "."]')
    )
    found = await environment.exec("find . -type f | sort; ls /tmp; stat -c %a /tmp")
    assert (found.stdout or "").splitlines() == [
        "./a.txt",
        "./both/a.txt",
        "./both/b.txt",
        "./c d.txt",
        "./existing.d/a.txt",
        "./linked/b.txt",
        "./linked/deep/c d.txt",
        "./linked/secret/public",
        "./renamed",
        "./through",
        "a.txt",
        "b.txt",
        "deep",
        "secret",
        "up",
        "1777",
    ]


@root_only
async def test_owners_and_modes_are_given_by_name_or_number(start: StartEnvironment, context: Path) -> None:
    found = await listing(
        start,
        """FROM debian
RUN useradd -u 4321 -m worker
COPY --chown=worker a.txt /data/new/one
COPY --chown=2 --chmod=4750 a.txt /data/two
COPY --chown=worker:games dir /data/tree
COPY --chmod=0600 dir/b.txt /data/
COPY --chown=1:1 --chmod=755 <<EOF /data/text
EOF
COPY a.txt /data/new/
""",
        "/data",
    )
    assert found == [
        "b.txt 600 root:root",
        "new 755 worker:worker",
        "new/a.txt 644 root:root",
        "new/one 644 worker:worker",
        "text 755 daemon:daemon",
        "tree 755 worker:games",
        "tree/b.txt 644 worker:games",
        "tree/deep 755 worker:games",
        "tree/deep/c d.txt 644 worker:games",
        "tree/secret 755 worker:games",
        "tree/secret/public 644 worker:games",
        "tree/up 777 worker:games ../a.txt",
        "two 4750 bin:bin",
    ]


async def test_archives_are_unpacked_by_add_and_known_by_their_content(start: StartEnvironment, context: Path) -> None:
    for name, mode in {"plain": "w", "packed.bin": "w:gz", "other.xz": "w:xz"}.items():
        with tarfile.open(context / name, mode) as archive:  # type: ignore[call-overload]
            member = tarfile.TarInfo(f"from-{name}")
            member.size = 1
            archive.addfile(member, io.BytesIO(b"x"))
    (context / "fake.tar.gz").write_text("no archive")
    environment = await start(
        "FROM debian\nADD plain packed.bin other.xz fake.tar.gz a.txt /data/\nCOPY packed.bin /copied/\n"
    )
    found = await environment.exec("ls /data /copied")
    assert (found.stdout or "").split() == [
        "/copied:",
        "packed.bin",
        "/data:",
        "a.txt",
        "fake.tar.gz",
        "from-other.xz",
        "from-packed.bin",
        "from-plain",
    ]


async def test_here_documents_run_and_are_copied(start: StartEnvironment) -> None:
    environment = await start(
        """# syntax=docker/dockerfile:1
FROM debian
ARG WHO=world
ENV GREETING="hello  $WHO"
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
WORKDIR /app
RUN <<EOF
list=(one two)
echo "${list[1]} $GREETING" > script
EOF
RUN <<PY
#!/usr/bin/env python3
import os
open("python", "w").write(os.environ["GREETING"])
PY
RUN cat <<-'ONE' > first && cat 3<<TWO <&3 > second
	$GREETING
	ONE
$GREETING
TWO
COPY <<EXPANDED <<'KEPT' ./
say "$GREETING"
EXPANDED
say "$GREETING"
KEPT
"""
    )
    found = await environment.exec("grep -H . *")
    assert (found.stdout or "").splitlines() == [
        'EXPANDED:say "hello  world"',
        'KEPT:say "$GREETING"',
        "first:$GREETING",
        "python:hello  world",
        "script:two hello  world",
        "second:hello  world",
    ]


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        ("COPY missing /x", "line 2: COPY source 'missing' does not exist"),
        ("COPY dir/secret/key /x", "line 2: COPY source 'dir/secret/key' does not exist"),
        ("COPY --chown=nobody-here a.txt /x", "line 2: There is no user 'nobody-here'"),
        ("COPY a.txt b/../../x /y", "line 2: COPY source 'b/../../x' is outside"),
        ("COPY a.txt /proc/none/x", "line 2"),
    ],
)
async def test_a_copy_that_fails_names_its_line(start: StartEnvironment, context: Path, lines: str, named: str) -> None:
    if "chown" in lines and not host.privileged():
        pytest.skip("needs other users")
    with pytest.raises(SandboxBuildFailedError, match=named):
        await start(f"FROM debian\n{lines}\n")


async def test_a_dockerfile_for_another_platform_is_refused(start: StartEnvironment) -> None:
    with pytest.raises(InvalidTask, match=f"linux/s390x; this machine is {current().name}"):
        await start("FROM --platform=linux/s390x debian\n")


@pytest.fixture
def ours() -> str:
    """The network of this process."""
    return str(Path(NETWORK).readlink())


async def test_building_has_the_network_that_the_task_is_denied(start: StartEnvironment, ours: str) -> None:
    network = f"readlink {NETWORK}"
    policy = NetworkPolicy(network_mode=NetworkMode.NO_NETWORK)
    environment = await start(f"FROM debian\nRUN {network} > /app/built\n", network_policy=policy)
    found = await environment.exec(f"cat /app/built; {network}; tail -n +3 /proc/net/dev | cut -d: -f1")
    built, own, *interfaces = (found.stdout or "").split()
    assert built == ours != own
    assert interfaces[0] == "lo"


async def test_without_network_loopback_is_up(start: StartEnvironment) -> None:
    environment = await start(network_policy=NetworkPolicy(network_mode=NetworkMode.NO_NETWORK))
    serve = "python3 -m http.server 8000 --bind 127.0.0.1 >/dev/null 2>&1 &"
    ask = "python3 -c \"import urllib.request as u; print(u.urlopen('http://127.0.0.1:8000').status)\""
    found = await environment.exec(f"{serve} for i in $(seq 50); do {ask} 2>/dev/null && break; sleep 0.1; done")
    assert found.stdout == "200\n"


async def test_a_forced_build_is_a_new_one(start: StartEnvironment) -> None:
    dockerfile = "FROM debian\nRUN head -c 16 /dev/urandom | od -An -tx1 > /app/made\n"
    made = [
        (await (await start(dockerfile, force_build=force)).exec("cat /app/made")).stdout for force in (False, True)
    ]
    assert made[0] != made[1]


async def test_an_entry_script_has_done_its_work_before_the_first_command(
    start: StartEnvironment, context: Path
) -> None:
    (context / "entry.sh").write_text(
        '#!/bin/sh\nsleep 0.3\npwd > /app/entered\necho "$GIVEN" >> /app/entered\nexec "$@"\n'
    )
    (context / "entry.sh").chmod(0o755)
    environment = await start(
        'FROM debian\nENV GIVEN=1\nWORKDIR /app\nCOPY entry.sh /entry.sh\nENTRYPOINT ["/entry.sh"]\nCMD ["server"]\n'
    )
    assert (await environment.exec("cat entered")).stdout == "/app\n1\n"


async def test_an_entry_point_that_stays_is_a_service_and_one_that_ends_is_no_obstacle(
    start: StartEnvironment, scratch: Path
) -> None:
    staying = await start("FROM debian\nENTRYPOINT while :; do echo beat; sleep 0.05; done\n")
    assert "echo beat" in ((await staying.exec("cat /proc/[0-9]*/cmdline | tr '\\0' ' '")).stdout or "")
    ending = await start("FROM debian\nENTRYPOINT exit 3\n")
    assert (await ending.exec("echo works")).stdout == "works\n"
    await staying.stop(delete=True)
    await ending.stop(delete=True)
    assert [name for name in names(scratch) if name != "layers"] == []


async def test_an_entry_point_that_is_not_there_is_a_failed_build(start: StartEnvironment) -> None:
    with pytest.raises(SandboxBuildFailedError, match="ENTRYPOINT /nowhere cannot be started"):
        await start('FROM debian\nENTRYPOINT ["/nowhere"]\n')


async def test_a_healthcheck_of_the_image_is_waited_for(start: StartEnvironment) -> None:
    begun = time.monotonic()
    environment = await start(
        "FROM debian\nHEALTHCHECK --interval=30s CMD test -e /app/ready\n"
        "ENTRYPOINT (sleep 0.5; touch /app/ready) & exec sleep infinity\n"
    )
    assert (await environment.exec("ls /app")).stdout == "ready\n"
    assert time.monotonic() - begun < 15
    with pytest.raises(HealthcheckError):
        await start('FROM debian\nHEALTHCHECK --interval=10ms --retries=1 CMD ["test", "-e", "/never"]\n')


async def test_one_file_can_be_as_large_as_the_disk_of_the_task(start: StartEnvironment) -> None:
    environment = await start(task_env_config=EnvironmentConfig(storage_mb=30))
    done = await environment.exec("head -c 100000000 /dev/zero > /app/large; sleep 1; stat -c %s /app/large")
    assert (done.stdout or "").strip() == str(30 * 1024 * 1024)


async def test_more_on_disk_than_the_task_may_have_is_stopped(start: StartEnvironment) -> None:
    environment = await start(task_env_config=EnvironmentConfig(storage_mb=30))
    fill = "i=0; while :; do i=$((i+1)); head -c 1000000 /dev/zero > /app/$i; done"
    with pytest.raises(DiskLimitExceeded, match=r"holds \d+ MB on disk, more than its 30 MB"):
        await environment.exec(fill, timeout_sec=60)
    with pytest.raises(DiskLimitExceeded):
        await environment.exec("true")


async def test_files_without_a_name_count_as_well(start: StartEnvironment) -> None:
    environment = await start(task_env_config=EnvironmentConfig(storage_mb=30))
    hold = (
        "import os, time\n"
        "for number in range(12):\n"
        "    file = open(f'/app/{number}', 'wb'); os.unlink(file.name); os.write(file.fileno(), bytes(10**7))\n"
        "    globals()[f'kept{number}'] = file\n"
        "time.sleep(60)"
    )
    with pytest.raises(DiskLimitExceeded):
        await environment.exec(f'python3 -c "{hold}"', timeout_sec=50)


async def test_what_it_differs_in_is_said(start: StartEnvironment) -> None:
    environment = await start(
        "FROM debian:13\nRUN --mount=type=cache,target=/root/.cache true\n",
        task_env_config=EnvironmentConfig(cpus=2, memory_mb=64),
    )
    notes = environment.fidelity_notes
    assert notes[0] == f"the image debian:13 is replaced by this machine's own system, {host.system_name()}"
    assert any(note.startswith("the network is this machine's own") for note in notes)
    assert any(note.startswith("cpus = 2 is ") for note in notes)
    assert notes[-1] == "line 2: the cache mount of RUN is an ordinary directory"
    assert any("read-only" in note for note in notes) is not host.privileged()
    assert any("memory_mb" in note for note in notes) is ("memory" not in cgroup.controllers())


async def test_old_layers_are_evicted_and_those_in_use_stay(start: StartEnvironment, scratch: Path) -> None:
    def dockerfile(number: int) -> str:
        return f"FROM debian\nRUN head -c 1000000 /dev/urandom > /app/{number}\n"

    first = await start(dockerfile(1), cache_bytes=1_500_000)
    second = await start(dockerfile(2), cache_bytes=1_500_000)
    assert len([name for name in os.listdir(scratch / "layers") if "." not in name]) == 2  # noqa: PTH208
    await first.stop(delete=True)
    third = await start(dockerfile(3), cache_bytes=1_500_000)
    assert len([name for name in os.listdir(scratch / "layers") if "." not in name]) == 2  # noqa: PTH208
    assert (await second.exec("wc -c < /app/2")).stdout == "1000000\n"
    assert (await third.exec("wc -c < /app/3")).stdout == "1000000\n"
