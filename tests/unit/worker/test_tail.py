"""What an agent writes becomes numbered events, however it reaches the worker."""

import json
import os
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from oddish.engine.protocol import LogLine, LogsLine
from oddish.engine.redaction import Redactor
from oddish.metrics import REGISTRY
from oddish.queue.claim import Claim
from oddish.transcript import Usage, adapter
from oddish.trials.ledger import Spending
from oddish.worker import tail as tails
from oddish.worker.folders import Place
from oddish.worker.logfiles import READ_BYTES
from oddish.worker.tail import SEARCH_ANYWAY_SECONDS, SEARCH_SECONDS, SPENDING_SECONDS, Spend, Tail
from support.agent_logs import KEPT, captures


def make(
    trial: Path,
    agent: str = "oracle",
    max_events: int = 100,
    clock: Callable[[], float] = time.monotonic,
    spend: Spend | None = None,
    hurry: Callable[[], None] = lambda: None,
) -> Tail:
    claim = Claim(1, "org", "trial", "trial-0", 1, uuid.uuid4(), 1, 3, 0, 0)
    redactor = Redactor(["correct-horse"])
    place = Place(trial, "agent")
    return Tail(
        claim,
        agent,
        place,
        redact=redactor.text,
        spend=spend or unpriced,
        max_events=max_events,
        hurry=hurry,
        clock=clock,
    )


def ten_cents_a_token(usage: Usage) -> Spending:
    return Spending(input_tokens=usage.input_tokens, cost_usd=(usage.input_tokens or 0) / 10)


def unpriced(usage: Usage) -> Spending:
    return Spending(input_tokens=usage.input_tokens, model=next(iter(usage.by_model), None))


def texts(tail: Tail) -> list[str]:
    assert [entry.seq for entry in tail.pending] == list(range(1, len(tail.pending) + 1))
    return [str(entry.payload["text"]) for entry in tail.pending]


def printed(text: str) -> LogLine:
    return LogLine(type="log", phase="agent", text=text)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    (tmp_path / "agent").mkdir()
    return tmp_path / "agent"


def append(file: Path, text: str) -> None:
    with file.open("a") as stream:
        stream.write(text)


def test_an_agent_that_waits_is_read_only_now_and_then(logs: Path) -> None:
    now = [0.0]
    file, tail = logs / "oracle.txt", make(logs.parent, clock=lambda: now[0])
    append(file, "one\n")
    assert tail.stirs(), "no file is known"
    tail.read()
    assert not tail.stirs()
    now[0] = SEARCH_SECONDS
    assert tail.stirs(), "there may be new files"
    tail.read()
    assert not tail.stirs()
    append(file, "two\n")
    assert tail.stirs()
    tail.read()
    assert not tail.stirs()
    tail.hear(printed("three\n"))
    assert tail.stirs()


def test_new_files_are_looked_for_where_a_folder_has_changed_and_everywhere_now_and_then(logs: Path) -> None:
    now = [0.0]
    tail = make(logs.parent, clock=lambda: now[0])
    append(logs / "oracle.txt", "one\n")
    os.utime(logs, (1, 1))
    tail.read()
    now[0] = SEARCH_SECONDS
    assert not tail.stirs()
    append(logs / "more.txt", "two\n")
    assert not tail.stirs(), "it was asked just now"
    now[0] += SEARCH_SECONDS
    assert tail.stirs()
    os.utime(logs, (2, 2))
    tail.read()
    assert texts(tail) == ["one", "two"]
    now[0] += SEARCH_SECONDS
    assert not tail.stirs()
    now[0] += SEARCH_ANYWAY_SECONDS
    assert tail.stirs()


def test_a_secret_that_arrives_in_two_reads_is_not_shown(logs: Path) -> None:
    tail = make(logs.parent)
    append(logs / "oracle.txt", "it is corr")
    tail.read()
    append(logs / "oracle.txt", "ect-horse\n")
    tail.read()
    assert texts(tail) == ["it is [REDACTED]"]


def test_a_secret_is_no_name_of_a_model(logs: Path) -> None:
    tail = make(logs.parent, "claude-code")
    message = {"id": "m", "model": "correct-horse", "usage": {"input_tokens": 5, "output_tokens": 1}, "content": []}
    append(logs / "claude-code.txt", json.dumps({"type": "assistant", "message": message}) + "\n")
    tail.read()
    assert tail.spent is not None
    assert (tail.spent.input_tokens, tail.spent.model) == (5, "[REDACTED]")


def test_spending_is_stored_every_few_seconds_and_at_the_end(logs: Path) -> None:
    now = [0.0]
    tail = make(logs.parent, "claude-code", clock=lambda: now[0])

    def say(number: int) -> None:
        message = {"id": f"m{number}", "model": "m", "usage": {"input_tokens": 1, "output_tokens": 1}, "content": []}
        append(logs / "claude-code.txt", json.dumps({"type": "assistant", "message": message}) + "\n")

    def tokens() -> int | None:
        return None if tail.checkpoint is None else tail.checkpoint.input_tokens

    say(1)
    tail.read()
    assert tokens() == 1
    tail.stored(0, tail.checkpoint)
    say(2)
    tail.read()
    assert tokens() is None
    now[0] = SPENDING_SECONDS
    assert tokens() == 2
    tail.stored(0, tail.checkpoint)
    say(3)
    tail.read(last=True)
    assert tokens() == 3


def test_what_is_much_is_stored_at_once(logs: Path) -> None:
    tail = make(logs.parent, "claude-code", clock=lambda: 0.0, spend=ten_cents_a_token)
    for number in range(1, 4):
        message = {"id": f"m{number}", "model": "m", "usage": {"input_tokens": 1, "output_tokens": 0}, "content": []}
        append(logs / "claude-code.txt", json.dumps({"type": "assistant", "message": message}) + "\n")
        tail.read()
        assert tail.checkpoint is not None
        assert tail.checkpoint.input_tokens == number
        tail.stored(len(tail.pending), tail.checkpoint)


def test_the_last_line_needs_no_end(logs: Path) -> None:
    tail = make(logs.parent)
    append(logs / "oracle.txt", "one\ntwo")
    tail.read()
    assert texts(tail) == ["one"]
    tail.read(last=True)
    assert texts(tail) == ["one", "two"]


def test_what_was_printed_is_not_read_again_from_its_file(logs: Path) -> None:
    tail = make(logs.parent)
    tail.hear(printed("one\n"))
    tail.hear(LogLine(type="log", phase="agent_setup", text="not of the agent\n"))
    tail.read()
    append(logs / "oracle.txt", "one\ntwo\n")
    tail.hear(printed("two\n"))
    tail.read(last=True)
    assert texts(tail) == ["one", "two"]


def test_a_file_that_is_read_is_not_heard_again(logs: Path) -> None:
    tail = make(logs.parent)
    append(logs / "oracle.txt", "one\n")
    tail.read()
    tail.hear(printed("one\n"))
    append(logs / "oracle.txt", "two\n")
    tail.read()
    assert texts(tail) == ["one", "two"]


def test_logs_are_read_where_the_engine_says_they_are(logs: Path, tmp_path: Path) -> None:
    tail = make(logs.parent)
    (tmp_path / "sandbox" / "logs").mkdir(parents=True)
    tail.hear(LogsLine(type="logs", base=str(tmp_path / "sandbox"), below="logs"))
    append(tmp_path / "sandbox" / "logs" / "oracle.txt", "inside\n")
    tail.read()
    assert texts(tail) == ["inside"]


def test_beyond_the_limit_a_summary_says_so_once(logs: Path) -> None:
    tail = make(logs.parent, max_events=2)
    for _ in range(2):
        append(logs / "oracle.txt", "one\ntwo\n")
        tail.read()
    assert texts(tail) == ["one", "two", "Only the first 2 events are shown live."]
    assert [entry.payload.get("incomplete", False) for entry in tail.pending] == [False, False, True]


def test_an_agent_that_prints_faster_than_it_is_read_loses_lines(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def dropped() -> float:
        return REGISTRY.get_sample_value("oddish_live_dropped_total", {"what": "line"}) or 0.0

    monkeypatch.setattr(tails, "HEARD_CHARACTERS", 10)
    tail, before = make(logs.parent), dropped()
    for _ in range(2):
        tail.hear(printed("1234\n"))
        tail.hear(printed("567\n"))
        tail.read()
    tail.hear(printed("a line of its own\n"))
    tail.read()
    assert texts(tail) == ["1234", "567"] * 2
    assert dropped() == before + 1


def test_an_agent_that_prints_much_is_read_soon(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tails, "HEARD_CHARACTERS", 40)
    hurried: list[None] = []
    tail = make(logs.parent, hurry=lambda: hurried.append(None))
    for times in (1, 2):
        tail.hear(printed("123456789\n"))
        assert len(hurried) == times - 1
        tail.hear(printed("more\n"))
        tail.hear(printed("and more\n"))
        assert len(hurried) == times
        tail.read()


def test_a_look_that_leaves_something_unread_says_so(logs: Path) -> None:
    tail = make(logs.parent)
    append(logs / "oracle.txt", "x" * READ_BYTES + "\nrest\n")
    tail.read()
    assert tail.behind
    tail.read()
    assert not tail.behind
    append(logs / "oracle.txt", "a line that has no end")
    tail.read()
    assert not tail.behind


AT_HOME = {
    "codex": ("installed-agent/codex-home/sessions/2026/11/29/{}", "sessions/2026/11/29/{}"),
    "gemini-cli": ("root/.gemini/tmp/app/chats/{}", "gemini-cli.trajectory.jsonl"),
    "qwen-coder": ("root/.qwen/projects/-data-app/chats/{}", "qwen-sessions/-data-app/chats/{}"),
}


@pytest.mark.parametrize("agent", ["codex", "gemini-cli", "qwen-coder"])
def test_sessions_are_read_where_the_agent_keeps_them_and_not_again_in_the_logs(
    agent: str, logs: Path, tmp_path: Path
) -> None:
    [capture] = [log for log in captures(KEPT) if (log.agent, log.variant) == (agent, "thinking")]
    [session] = capture.folder.rglob("sessions/**/*.jsonl")
    tail, sandbox = make(logs.parent, agent), tmp_path / "sandbox"
    for home in adapter(agent).homes:
        tail.hear(LogsLine(type="logs", base=str(sandbox), below=home.lstrip("/")))
    at_home, copied = (path.format(session.name) for path in AT_HOME[agent])
    told = []
    for file in (sandbox / at_home, logs / copied):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(session.read_bytes())
        tail.read()
        assert tail.spent is not None
        assert tail.spent.input_tokens == capture.server["input"]
        told.append(len(tail.pending))
    assert told[0] == told[1]
