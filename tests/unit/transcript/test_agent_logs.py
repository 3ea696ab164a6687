"""Logs of real programs: the tokens that the server reported, the tools that it called, however the bytes are cut."""

import json
import random
from itertools import pairwise
from pathlib import Path

import pytest

from oddish.transcript import Event, Usage, adapter, settled, settlement, transcript
from oddish.transcript.adapter import Adapter
from support.agent_logs import KEPT, REASONS, TITLE, TOOL_REASONS, Capture, captures, corpus, figures

KEPT_LOGS = captures(KEPT)
ALL_LOGS = captures(folder) if (folder := corpus()) else KEPT_LOGS
every_log = pytest.mark.parametrize("capture", ALL_LOGS, ids=lambda capture: capture.name)
kept_logs = pytest.mark.parametrize("capture", KEPT_LOGS, ids=lambda capture: capture.name)


def calls(events: list[Event]) -> list[tuple[str, object]]:
    return [(e.payload["name"], json.loads(e.payload["input"])) for e in events if e.kind == "tool_use"]


@every_log
def test_tokens_are_those_the_server_reported_or_the_difference_has_its_reason(capture: Capture) -> None:
    assert capture.difference == capture.expected["log_minus_server"]
    assert bool(capture.difference) == bool(capture.reason)


@kept_logs
def test_extracts_say_the_same_as_the_whole_logs(capture: Capture) -> None:
    assert capture.difference == capture.expected["log_minus_server"]


@every_log
def test_tools_are_those_the_server_called_or_the_difference_has_its_reason(capture: Capture) -> None:
    found = calls(capture.read()[0])
    if capture.program == "codex":  # It names what it does, not the tool.
        same = len(found) == len(capture.tools)
    else:
        same = found == [(tool["name"], tool["input"]) for tool in capture.tools]
    assert same == ((capture.program, capture.variant) not in TOOL_REASONS)


def test_no_reason_is_given_for_what_is_not_there() -> None:
    names = {(capture.program, capture.variant) for capture in ALL_LOGS}
    if len(ALL_LOGS) > len(KEPT_LOGS):
        assert names >= set(REASONS) | set(TOOL_REASONS)
    assert {capture.reason for capture in ALL_LOGS if capture.program == "opencode"} >= {TITLE}


def rewritten(reader: Adapter, path: str) -> bool:
    return any(source.rewritten and source.matches(path) for source in reader.sources)


@kept_logs
def test_any_cut_of_the_bytes_gives_the_same(capture: Capture) -> None:
    events, whole = capture.read()
    chance = random.Random(capture.name)
    reader, met, found = adapter(capture.agent), set[str](), list[Event]()
    for path, file in capture.files():
        data = file.read_bytes()
        if path in met:
            reader.restart(path)
        met.add(path)
        cuts = [] if rewritten(reader, path) else sorted(chance.choices(range(len(data) + 1), k=40))
        for start, end in pairwise((0, *cuts, len(data))):
            found += reader.feed(path, data[start:end])
    found += reader.finish()
    assert (found, reader.usage, reader.model) == (events, whole.usage, whole.model)


@kept_logs
def test_what_is_fed_again_from_the_beginning_counts_once(capture: Capture) -> None:
    reader = adapter(capture.agent)
    for _ in range(2):
        for path, file in capture.files():
            reader.restart(path)
            reader.feed(path, file.read_bytes())
    assert figures(reader.usage) == figures(capture.read()[1].usage)


@kept_logs
def test_damaged_logs_never_raise_and_never_take_back_what_was_counted(capture: Capture) -> None:
    chance = random.Random(capture.name)
    reader, used = adapter(capture.agent), Usage()
    files = [(path, file.read_bytes()) for path, file in capture.files()]
    for _ in range(40):
        path, data = chance.choice(files)
        damaged = bytearray(data[chance.randrange(len(data) + 1) :][: chance.randrange(len(data) + 1)])
        for place in chance.choices(range(len(damaged)), k=chance.randrange(20)) if damaged else ():
            damaged[place] = chance.choice(b'{}[]",:\\\n\0\xff0e')
        if chance.random() < 0.2:
            reader.restart(path)
        reader.feed(path, bytes(damaged))
        assert reader.usage.not_below(used) == reader.usage
        used = reader.usage
    reader.finish()


CLAUDE = {capture.variant: capture for capture in KEPT_LOGS if capture.program == "claude-code"}


@pytest.mark.parametrize("variant", [name for name in CLAUDE if name not in ("cut-stream-late", "interrupted-in-tool")])
def test_claude_code_that_ended_is_counted_by_its_printed_lines_alone(variant: str) -> None:
    events, reader = CLAUDE[variant].read(printed_only=True)
    assert figures(reader.usage) == CLAUDE[variant].server
    assert calls(events) == [(tool["name"], tool["input"]) for tool in CLAUDE[variant].tools]


def capture(name: str) -> Capture:
    return Capture(KEPT / name)


@pytest.mark.parametrize(
    ("name", "cost"),
    [
        ("claude-code/basic", 0.02145),
        ("claude-code/subagent", 0.026445),
        ("claude-code/resume", 0.02589),
        ("claude-code/interrupted-in-tool", 0.0192),
        ("mini-swe-agent/priced", 0.00614),
        ("mini-swe-agent/thinking", None),
        ("opencode/thinking", 0.0065),
        ("codex/thinking", None),
        ("gemini-cli/thinking", None),
        ("qwen-code/thinking", None),
    ],
)
def test_costs_are_the_programs_own_where_they_know_the_prices(name: str, cost: float | None) -> None:
    assert capture(name).read()[1].usage.cost_usd == (None if cost is None else pytest.approx(cost))


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("claude-code/basic", "claude-sonnet-4-5"),
        ("codex/thinking", "gpt-5.5"),
        ("gemini-cli/thinking", "gemini-2.5-pro"),
        ("mini-swe-agent/thinking", "scripted-a"),
        ("qwen-code/thinking", "scripted-a"),
        ("opencode/thinking", None),
    ],
)
def test_the_model_is_the_one_that_the_log_names(name: str, model: str | None) -> None:
    reader = capture(name).read()[1]
    assert reader.model == model
    assert set(reader.usage.by_model) == {model or ""}


@pytest.mark.parametrize(
    "name", ["claude-code/thinking", "codex/thinking", "gemini-cli/thinking", "mini-swe-agent/thinking"]
)
def test_reasoning_is_a_message_marked_as_such(name: str) -> None:
    messages = [event.payload for event in capture(name).read()[0] if event.kind == "message"]
    assert {"text": "The size is right, so I can stop here.", "thinking": True} in messages
    assert {"text": "Done: hello.txt holds the greeting."} in messages


@pytest.mark.parametrize("name", ["codex/tool-error", "mini-swe-agent/tool-error", "opencode/tool-error"])
def test_a_command_that_fails_is_marked(name: str) -> None:
    failed = [event.payload["content"] for event in capture(name).read()[0] if event.payload.get("is_error")]
    assert any("to-stderr" in content for content in failed)


@pytest.mark.parametrize("name", ["gemini-cli/thinking", "qwen-code/thinking"])
def test_words_that_are_printed_and_recorded_are_shown_once(name: str) -> None:
    for files in (list(capture(name).files()), list(capture(name).files())[::-1]):
        reader = adapter(capture(name).agent)
        events = [event for path, file in files for event in reader.feed(path, file.read_bytes())]
        assert [event.payload["text"] for event in events if event.kind == "message"].count(
            "Done: hello.txt holds the greeting."
        ) == 1


def test_failed_requests_and_ends_are_told() -> None:
    told = {
        name: [event.payload["text"] for event in capture(name).read()[0] if event.kind == "summary"]
        for name in ("claude-code/rate-limit-forever", "codex/rate-limit-forever", "opencode/rate-limit-forever")
    }
    assert told["claude-code/rate-limit-forever"][:1] == ["Request failed (429): attempt 1 of 3."]
    assert told["claude-code/rate-limit-forever"][-1].startswith("Ended with an error after 2 turns: API Error")
    assert (
        told["codex/rate-limit-forever"][-1] == "Turn failed: exceeded retry limit, last status: 429 Too Many Requests"
    )
    assert told["opencode/rate-limit-forever"] == ["Error: Rate limit reached, try again in 1s."]


def test_a_subagent_is_marked_and_its_last_words_are_there() -> None:
    messages = [event.payload for event in capture("claude-code/subagent").read()[0] if event.kind == "message"]
    assert {"text": "The file is written.", "subagent": True} in messages
    assert {"text": "Done: the helper wrote hello.txt."} in messages


def laid_out(capture: Capture, folder: Path) -> Path:
    for path, file in capture.files():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(file.read_bytes())
    return folder


@pytest.mark.parametrize(
    "name", ["claude-code/subagent", "codex/thinking", "gemini-cli/thinking", "mini-swe-agent/thinking"]
)
def test_what_an_attempt_used_is_read_from_the_folder_of_its_logs(name: str, tmp_path: Path) -> None:
    folder = laid_out(capture(name), tmp_path / "agent")
    events, reader = capture(name).read()
    assert settled(capture(name).agent, [folder]) == reader.usage
    assert list(transcript(capture(name).agent, [folder])) == events


def test_steps_of_a_trial_add_up_and_files_that_are_there_again_count_once(tmp_path: Path) -> None:
    first = laid_out(capture("claude-code/basic"), tmp_path / "steps" / "one" / "agent")
    second = laid_out(capture("claude-code/basic"), tmp_path / "steps" / "two" / "agent")
    laid_out(capture("claude-code/rate-limit-forever"), second)
    usage = settled("claude-code", [first, second])
    assert usage is not None
    assert usage.input_tokens == capture("claude-code/basic").server["input"]


def test_an_agent_that_reports_nothing_has_used_nothing_known(tmp_path: Path) -> None:
    (tmp_path / "oracle.txt").write_text("Hello\n")
    assert settled("oracle", [tmp_path]) is None
    assert settled("claude-code", [tmp_path, tmp_path / "missing"]) is None
    assert [event.payload for event in transcript("oracle", [tmp_path])] == [{"text": "Hello"}]


def test_links_are_not_followed(tmp_path: Path) -> None:
    outside = laid_out(capture("claude-code/basic"), tmp_path / "outside")
    folder = tmp_path / "agent"
    folder.mkdir()
    (folder / "sessions").symlink_to(outside / "sessions")
    (folder / "claude-code.txt").symlink_to(outside / "claude-code.txt")
    assert settled("claude-code", [folder]) is None


def test_a_sparse_file_is_not_read_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settlement, "MOST_CHUNKS", 2)
    with (tmp_path / "oracle.txt").open("wb") as sparse:
        sparse.write(b"begun\n")
        sparse.truncate(2**40)
    assert next(transcript("oracle", [tmp_path])).payload == {"text": "begun"}
    assert settled("oracle", [tmp_path]) is None
