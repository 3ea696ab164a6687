"""Connections that end at the worst moment: with a real server, real sockets and a proxy that cuts them."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
from click.testing import CliRunner, Result

from oddish import Client
from oddish.cli import cli, watch
from oddish.client import connection
from oddish.client.errors import ApiError, Unreachable
from oddish.client.retry import RetryPolicy
from oddish.client.types import SweepRequest
from oddish.settings import Settings
from support.flaky_proxy import Cut, FlakyProxy

from .serving import KEY, Server, TaskFolder

type NewTask = Callable[..., TaskFolder]

AT_ONCE = RetryPolicy(base=0)
INIT, PUT, COMPLETE, SWEEP = (
    b"POST /tasks/upload/init",
    b"PUT /store/",
    b"POST /tasks/upload/complete",
    b"POST /tasks/sweep",
)


@pytest.fixture
def proxy(server: Server) -> Iterator[FlakyProxy]:
    with FlakyProxy(int(server.url.rpartition(":")[2])) as running:
        yield running


@pytest.fixture
def client(proxy: FlakyProxy) -> Iterator[Client]:
    with Client(proxy.url, KEY, retry=AT_ONCE) as opened:
        yield opened


@pytest.fixture
def task(new_task: NewTask) -> Path:
    """One whose archive takes more than one packet."""
    return with_random(new_task().path, 150_000)


def with_random(task: Path, size: int) -> Path:
    (task / "tests" / "data.bin").write_bytes(os.urandom(size))
    return task


def stored(server: Server) -> list[Path]:
    root = Path(server.services.settings.storage_url.removeprefix("file://"))
    return [path for path in root.rglob("*") if path.is_file()]


@dataclass(frozen=True)
class Away(RetryPolicy):
    """The server is away from the first failure on, for a number of attempts."""

    proxy: FlakyProxy | None = None
    attempts_away: int = 6

    def delay(self, attempt: int, retry_after: float | None = None) -> float:
        assert self.proxy is not None
        if attempt == 1:
            self.proxy.go_down()
        if attempt == self.attempts_away:
            self.proxy.come_back()
        return 0.0


@pytest.mark.parametrize(
    ("cut", "puts"),
    [
        (Cut(INIT, request=100), 1),
        (Cut(INIT), 1),
        (Cut(INIT, response=50), 1),
        (Cut(PUT, request=0), 2),
        (Cut(PUT, request=100_000, times=4), 5),
        (Cut(PUT), 2),
        (Cut(PUT, response=10), 2),
        (Cut(COMPLETE, request=200), 1),
        (Cut(COMPLETE), 1),
        (Cut(COMPLETE, response=100, times=4), 1),
    ],
    ids=str,
)
def test_an_upload_that_is_cut_anywhere_makes_one_version(
    server: Server, proxy: FlakyProxy, client: Client, task: Path, cut: Cut, puts: int
) -> None:
    happening = proxy.cut(cut)
    version = client.upload(task)
    assert happening.done.wait(10)
    assert version["version"] == 1
    assert len(proxy.requests(PUT)) == puts
    assert server.sql("SELECT count(*) FROM task_versions") == [(1,)]
    assert len(stored(server)) == 1
    assert client.upload(task)["content_unchanged"]


@pytest.mark.parametrize("request_line", [PUT, COMPLETE, SWEEP])
def test_a_server_that_restarts_meanwhile_is_waited_for(
    server: Server, proxy: FlakyProxy, task: Path, request_line: bytes
) -> None:
    server.offer()
    cut = proxy.cut(Cut(request_line, request=100))
    with Client(proxy.url, KEY, retry=Away(proxy=proxy)) as client:
        sent = client.sweep(wanting(2, client.upload(task)["task_id"]))
    assert cut.done.wait(10)
    assert len(sent["new_trial_ids"]) == 2
    assert server.sql("SELECT count(*) FROM task_versions") == [(1,)]


def test_an_upload_that_never_gets_through_is_given_up(proxy: FlakyProxy, client: Client, task: Path) -> None:
    proxy.cut(Cut(PUT, request=100_000, times=99))
    with pytest.raises(Unreachable, match=f"The server at {proxy.url} cannot be reached"):
        client.upload(task)
    assert len(proxy.requests(PUT)) == AT_ONCE.attempts


def wanting(count: int, task_id: str) -> SweepRequest:
    return {
        "task_id": task_id,
        "experiment_id": "lost",
        "priority": "low",
        "configs": [{"agent": "oracle", "model": None, "n_trials": count}],
    }


@pytest.mark.parametrize("cut", [Cut(SWEEP, request=250), Cut(SWEEP), Cut(SWEEP, response=40, times=3)], ids=str)
def test_a_submission_whose_answer_is_lost_is_repeated_under_its_key_and_starts_nothing_twice(
    server: Server, proxy: FlakyProxy, client: Client, task: Path, cut: Cut
) -> None:
    server.offer()
    task_id = client.upload(task)["task_id"]
    happening = proxy.cut(cut)
    sent = client.sweep(wanting(3, task_id))
    assert happening.done.wait(10)
    keys = [re.search(rb"(?i)idempotency-key: (\S+)", head) for head in proxy.requests(SWEEP)]
    assert len(keys) == cut.times + 1
    assert len({key[1] for key in keys if key}) == 1
    assert all(keys)
    assert (len(sent["new_trial_ids"]), sent["trials_count"]) == (3, 3)
    assert server.sql("SELECT count(*) FROM trials") == [(3,)]
    assert server.sql("SELECT count(*) FROM jobs") == [(3,)]


def test_an_archive_takes_the_time_it_needs_while_its_bytes_flow(
    start: Callable[[Settings], Server], settings: Settings, new_task: NewTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "UPLOAD_TIMEOUT", httpx2.Timeout(2.0))
    size = 8_000_000
    server = start(settings.model_copy(update={"max_archive_bytes": 2 * size, "max_extracted_bytes": 2 * size}))
    with FlakyProxy(int(server.url.rpartition(":")[2])) as proxy, Client(proxy.url, KEY, retry=AT_ONCE) as client:
        proxy.cut(Cut(PUT, pause=0.02))
        assert client.upload(with_random(new_task().path, size))["version"] == 1
        assert len(proxy.requests(PUT)) == 1


@pytest.mark.parametrize("size", [201_000, 20_000_000])
def test_an_archive_above_the_limit_is_refused_by_size_and_setting(
    server: Server, new_task: NewTask, size: int
) -> None:
    task = with_random(new_task().path, size)
    with Client(server.url, KEY, retry=AT_ONCE) as client, pytest.raises(ApiError) as caught:
        client.upload(task)
    assert caught.value.problem_code == "too_large"
    assert re.match(r"The archive of task hello has (202 kB|20\.0 MB) \(\d+ bytes\): ", caught.value.message)
    assert "larger than 200000 bytes" in caught.value.message
    assert "tests/data.bin" in str(caught.value.fix)
    assert "ODDISH_MAX_ARCHIVE_BYTES" in str(caught.value.fix)
    assert stored(server) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    directory = tmp_path / "disk"
    directory.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(directory)]
    if shutil.which("mount") is None or subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("a disk of a chosen size cannot be mounted here")
    yield directory
    subprocess.run(["umount", "--lazy", str(directory)], check=True)


def test_a_store_without_room_is_named_and_the_archive_is_sent_once(
    start: Callable[[Settings], Server], settings: Settings, task: Path, small_disk: Path, run: "Run"
) -> None:
    server = start(settings.model_copy(update={"storage_url": small_disk.as_uri()}))
    with FlakyProxy(int(server.url.rpartition(":")[2])) as proxy:
        result = run(proxy, "run", task, "-a", "oracle")
        assert result.exit_code == 1
        assert "No space left in the object store" in result.stderr
        assert "Fix: Free space, or enlarge the store." in result.stderr
        assert "Nothing was started." in result.stderr
        assert len(proxy.requests(PUT)) == 1
    assert stored(server) == []


type Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """``oddish`` with the server behind a proxy; between two tries no time passes."""
    monkeypatch.setattr(RetryPolicy, "delay", lambda *_: 0.0)

    def call(proxy: FlakyProxy, *arguments: str | Path) -> Result:
        environ = {"ODDISH_API_URL": proxy.url, "ODDISH_API_KEY": KEY}
        return CliRunner().invoke(cli, [str(argument) for argument in arguments], env=environ)

    return call


@pytest.mark.parametrize("request_line", [INIT, PUT, COMPLETE, SWEEP])
def test_a_lost_answer_is_not_noticed_by_the_user(
    server: Server, proxy: FlakyProxy, run: Run, task: Path, request_line: bytes
) -> None:
    server.offer()
    cut = proxy.cut(Cut(request_line))
    result = run(proxy, "run", task, "-a", "oracle", "-E", "lost", "--n-trials", "2", "-b")
    assert cut.done.wait(10)
    assert result.exit_code == 0, result.output
    assert "2 trials queued." in result.output
    assert server.sql("SELECT count(*) FROM trials") == [(2,)]


def test_a_submission_without_any_answer_says_how_to_make_sure(
    server: Server, proxy: FlakyProxy, run: Run, task: Path
) -> None:
    server.offer()
    proxy.cut(Cut(SWEEP, times=5))
    result = run(proxy, "run", task, "-a", "oracle", "-E", "lost", "-b")
    assert result.exit_code == 1
    assert "It is not known whether trials were started." in result.stderr
    assert "Run the same command with -E lost: what was started is not started twice." in result.stderr
    assert run(proxy, "run", task, "-a", "oracle", "-E", "lost", "-b").exit_code == 0
    assert server.sql("SELECT count(*) FROM trials") == [(1,)]


class Clock:
    """Time for a watch: it passes by sleeping, and things happen at numbered pauses."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses = 0
        self.events: dict[int, Callable[[], None]] = {}

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.pauses += 1
        if event := self.events.get(self.pauses):
            event()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(watch, "time", made)
    return made


def succeed(server: Server) -> None:
    server.sql("UPDATE trials SET status = 'success', reward = 1, finished_at = now()")


def test_a_watch_outlives_a_server_that_restarts(
    server: Server, proxy: FlakyProxy, run: Run, task: Path, clock: Clock
) -> None:
    server.offer()

    def back() -> None:
        proxy.come_back()
        succeed(server)

    clock.events = {2: proxy.go_down, 5: back}
    result = run(proxy, "run", task, "-a", "oracle", "-E", "watched")
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    outages = [line for line in lines if "Trying again in" in line]
    assert len(outages) == 3
    assert outages[0].endswith("The watch ends after 10 minutes without an answer.")
    assert lines[lines.index(outages[-1]) + 1] == "The server answers again."


@pytest.mark.parametrize(
    "cut", [Cut(b"GET /tasks"), Cut(b"GET /tasks", response=600), Cut(b"GET /tasks", request=20)], ids=str
)
def test_a_watch_does_not_mind_a_cut_connection(
    server: Server, proxy: FlakyProxy, run: Run, task: Path, clock: Clock, cut: Cut
) -> None:
    server.offer()
    happening: list[Cut] = []
    clock.events = {1: lambda: happening.append(proxy.cut(cut)), 4: lambda: succeed(server)}
    result = run(proxy, "run", task, "-a", "oracle", "-E", "watched")
    assert happening[0].done.wait(10)
    assert result.exit_code == 0, result.output
    assert "Trying again" not in result.output


def test_a_watch_of_a_server_that_stays_away_ends_and_can_be_resumed(
    server: Server, proxy: FlakyProxy, run: Run, task: Path, clock: Clock
) -> None:
    server.offer()
    clock.events = {2: proxy.go_down}
    result = run(proxy, "run", task, "-a", "oracle", "-E", "watched")
    assert result.exit_code == 1
    assert "No longer watching after 10 minutes without an answer; the trials go on." in result.stderr
    assert "Fix: When the server is back: oddish status -e watched --watch" in result.stderr
    assert watch.GIVE_UP_AFTER < clock.now < watch.GIVE_UP_AFTER + 2 * watch.LONGEST_PAUSE
    proxy.come_back()
    clock.events = {clock.pauses + 3: lambda: succeed(server)}
    resumed = run(proxy, "status", "-e", "watched", "--watch")
    assert resumed.exit_code == 0, resumed.output
    assert "1/1 done: 1 success" in resumed.output


def test_the_priority_reaches_the_queue(server: Server, proxy: FlakyProxy, run: Run, new_task: NewTask) -> None:
    server.offer()
    for name, priority in (("a", "low"), ("b", "high")):
        arguments = ["--priority", priority, "--max-trial-attempts", "3", "-b"]
        assert run(proxy, "run", new_task(name).path, "-a", "oracle", *arguments).exit_code == 0
    rows = server.sql("SELECT subject_id, priority, max_attempts FROM jobs ORDER BY id")
    assert [(str(trial)[0], *rest) for trial, *rest in rows] == [("a", 0, 3), ("b", 1, 3)]
