"""What the doctor says of Docker, PostgreSQL, the store and servers."""

import json
from pathlib import Path

import psycopg
import pytest

from oddish import __version__
from oddish.client.endpoint import Endpoint
from oddish.client.types import Health
from oddish.db.compatibility import Schema, remark
from oddish.db.revision import HEAD
from oddish.doctor import database, disk, docker, localstack, server, store
from oddish.doctor.docker import Answer
from oddish.doctor.finding import Finding
from oddish.stack.account import Account
from oddish.stack.binaries import Binaries
from oddish.stack.client import Stack
from oddish.stack.layout import Layout
from oddish.stack.state import State

INFO = {"ServerVersion": "28.1.0", "OperatingSystem": "Debian", "DockerRootDir": "/var/lib/docker"}
GIB = 1024**3


def info(code: int = 0, errors: str = "", **changes: object) -> Answer:
    return Answer(code, json.dumps(INFO | changes), errors)


def test_an_engine_that_answers() -> None:
    assert docker.judge_engine(info()).found == "28.1.0, Debian"
    assert docker.root_directory(info()) == Path("/var/lib/docker")


@pytest.mark.parametrize(
    ("answer", "said", "fix"),
    [
        (None, "no docker program", "Compose plugin"),
        (Answer(None), "in time", "restart docker"),
        (Answer(1, "", "Cannot connect to the Docker daemon\n"), "Cannot connect", "start docker"),
        (
            info(ServerVersion="", ServerErrors=["Cannot connect to the Docker daemon"]),
            "Cannot connect",
            "start docker",
        ),
        (Answer(1, "", "permission denied while trying to connect to the socket"), "may not use", "usermod -aG docker"),
        (Answer(1, "[]", ""), "does not answer", "start docker"),
    ],
)
def test_each_way_in_which_docker_is_missing_has_its_fix(answer: Answer | None, said: str, fix: str) -> None:
    found = docker.judge_engine(answer)
    assert found.level == "warning"
    assert said in found.found
    assert fix in str(found.fix)


def test_a_wrong_docker_host_is_named() -> None:
    found = docker.judge_engine(Answer(1, "", "no such host"), "tcp://nowhere:2375")
    assert "DOCKER_HOST=tcp://nowhere:2375" in found.found


@pytest.mark.parametrize(
    ("answer", "level", "said"),
    [
        (Answer(0, "2.26.1-4\n"), "ok", "2.26.1-4"),
        (Answer(0, "v2.39.0\n"), "ok", "2.39.0"),
        (Answer(0, "v10.0.1\n"), "ok", "10.0.1"),
        (Answer(0, "2.9.0\n"), "warning", "2.9.0 is older than 2.26"),
        (Answer(125, "", "unknown command: docker compose"), "warning", "no Compose plugin"),
        (
            Answer(1, "", "docker: 'compose' is not a docker command.\nSee 'docker --help'"),
            "warning",
            "no Compose plugin",
        ),
        (Answer(1, "", "context deadline exceeded\n"), "warning", "does not answer: context deadline exceeded"),
        (Answer(None), "warning", "in time"),
    ],
)
def test_compose_has_to_be_there_and_new_enough(answer: Answer, level: str, said: str) -> None:
    found = docker.judge_compose(answer)
    assert found.level == level
    assert said in found.found


def test_a_full_disk_of_docker_is_a_warning_of_its_own() -> None:
    found = docker.judge_disk(disk.Space(Path("/var/lib/docker"), "ext4", GIB, None, True))
    assert (found.level, found.fix) == ("warning", "Remove what nothing uses: docker system prune")
    assert docker.judge_disk(disk.Space(Path("/var/lib/docker"), "ext4", 9 * GIB, None, True)).level == "ok"


def stack(**changes: object) -> Stack:
    facts = {
        "pid": 71,
        "process_started": "1",
        "url": "http://127.0.0.1:8780",
        "port": 8780,
        "version": __version__,
        "started_at": "2026-01-01T00:00:00+00:00",
        "phase": "running",
    }
    return Stack(State(**(facts | changes)), Layout(Path("/data")))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "answers", "level", "said"),
    [
        ({}, True, "ok", "runs at http://127.0.0.1:8780, process 71"),
        ({"phase": "starting"}, False, "warning", "is starting"),
        ({"version": "0.0.1"}, True, "warning", f"It is oddish 0.0.1, and this is {__version__}"),
        ({"trouble": "worker keeps ending; see /data/logs"}, True, "problem", "worker keeps ending"),
        ({}, False, "problem", "nothing answers"),
    ],
)
def test_a_running_stack_is_judged(changes: dict[str, object], answers: bool, level: str, said: str) -> None:
    found = localstack.judge_stack(stack(**changes), answers=answers)
    assert found.level == level
    assert said in found.found


def test_a_taken_port_is_no_obstacle() -> None:
    assert localstack.judge_port(8780, free=True).level == "ok"
    found = localstack.judge_port(8780, free=False)
    assert found.level == "warning"
    assert "next free one" in found.found


@pytest.mark.parametrize(
    ("data", "level", "said"),
    [
        ([], "ok", "18, /pg18"),
        ([18], "ok", "18, /pg18"),
        ([16, 17], "warning", "from PostgreSQL 17 to 18"),
        ([19], "problem", "PostgreSQL 19"),
        ([15], "problem", "of version 17, 18"),
    ],
)
def test_the_programs_have_to_fit_the_data(data: list[int], level: str, said: str) -> None:
    installed = [Binaries(18, Path("/pg18")), Binaries(17, Path("/pg17"))]
    found = localstack.judge_programs(installed, data)
    assert found.level == level
    assert said in found.found


def test_programs_that_the_account_cannot_run_are_a_problem(tmp_path: Path) -> None:
    program = tmp_path / "postgres"
    program.write_text("#!/bin/sh\necho no library >&2; exit 3\n")
    program.chmod(0o755)
    found = localstack.judge_account(Account((), 7, 7), Binaries(18, tmp_path))
    assert found.level == "problem"
    assert "no library" in found.found
    program.write_text("#!/bin/sh\nexit 0\n")
    assert localstack.judge_account(Account((), 7, 7), Binaries(18, tmp_path)).level == "ok"


def described(**changes: object) -> database.Server:
    facts = {
        "place": "oddish at db.example.com",
        "version": 170004,
        "encoding": "UTF8",
        "connections": 100,
        "durable": True,
        "read_only": False,
        "schema": Schema(HEAD),
    }
    return database.Server(**(facts | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "level", "said"),
    [
        ({}, "ok", f"PostgreSQL 17, oddish at db.example.com, revision {HEAD}"),
        ({"version": 140011}, "problem", "too old"),
        ({"read_only": True}, "problem", "read-only"),
        ({"encoding": "SQL_ASCII"}, "problem", "SQL_ASCII"),
        ({"schema": Schema(None)}, "warning", "no schema yet"),
        ({"schema": Schema("0000")}, "warning", "at revision 0000"),
        ({"schema": Schema("9999")}, "problem", "does not know"),
        ({"schema": Schema("9999", remark("9999", HEAD))}, "ok", f"revision 9999, newer than {HEAD}"),
        ({"connections": 20}, "warning", "20 connections"),
        ({"durable": False}, "warning", "power failure"),
    ],
)
def test_a_database_is_judged(changes: dict[str, object], level: str, said: str) -> None:
    found = database.judge(described(**changes))
    assert found.level == level
    assert said in found.found
    assert (found.fix is None) == (level == "ok")


def test_another_driver_is_refused_without_showing_the_address() -> None:
    found = database.judge_scheme("postgres://me:hunter22@db/x")
    assert found.level == "problem"
    assert "hunter22" not in f"{found.found}{found.fix}"


def test_a_database_is_named_without_its_password() -> None:
    assert database.place_of("postgresql://me:hunter22@db.example.com/scores") == "scores at db.example.com"
    with pytest.raises(psycopg.ProgrammingError):
        database.place_of("postgresql://me:hunter22@db.example.com/scores?nonsense=1")


@pytest.mark.parametrize("url", ["postgresql://me:hunter22@db/x", "postgresql:///x?host=db&password=hunter22&port=1"])
def test_passwords_do_not_come_out_in_messages(url: str) -> None:
    assert database.without_password(f"bad address {url}", url).count("***") == 1
    assert "hunter22" not in database.without_password(f"bad address {url}", url)


def test_a_store_is_judged_by_what_comes_back() -> None:
    url = "s3://user:hunter22@bucket/prefix?token=hunter22"
    assert store.judge(url, intact=True, seconds=0.1).found == "s3://bucket/prefix: written, read, deleted"
    assert store.judge(url, intact=True, seconds=1.5).level == "warning"
    assert store.judge(url, intact=False, seconds=0.1).level == "problem"
    assert store.judge_missing(Path("/data/store"), writable=False).level == "problem"


def health(**changes: str) -> Health:
    facts = {"status": "healthy", "database": "connected", "timestamp": "2026-01-01T00:00:00Z", "version": __version__}
    return facts | changes  # type: ignore[return-value]


def test_a_server_is_judged_by_its_database_and_version() -> None:
    assert server.judge_health("http://x", health()).found == f"http://x, healthy, version {__version__}"
    assert server.judge_health("http://x", health(database="disconnected")).level == "problem"
    other = server.judge_health("http://x", health(version="7.0.0"))
    assert other.level == "warning"
    assert "7.0.0" in other.found


def test_a_key_that_is_refused_is_a_problem() -> None:
    there = Endpoint("http://there", "ok_1", "ODDISH_API_URL")

    def judged(status: int, *, is_remote: bool = True) -> Finding:
        return server.judge_refusal(there, status, "no", is_remote=is_remote)

    assert [judged(status).level for status in (401, 403, 404)] == ["problem", "problem", "warning"]
    assert judged(401).found == "http://there does not know the key of ODDISH_API_KEY."
    assert "unset it" not in str(judged(401).fix)
    assert "unset it" in str(judged(401, is_remote=False).fix)


def test_a_server_without_workers_is_a_warning() -> None:
    assert server.judge_workers(0).level == "warning"
    assert server.judge_workers(2).found == "2 alive"
