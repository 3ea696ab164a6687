"""What the kept logs do not show: older and rarer records, as the programs' own readers know them."""

import json
from collections.abc import Iterable
from typing import Any

from oddish.transcript import Event, Usage, adapter
from oddish.transcript.adapter import Adapter, Source
from oddish.transcript.events import Scribe
from oddish.transcript.seen import Seen


def fed(reader: Adapter, path: str, records: Iterable[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    content = "".join(json.dumps(record) + "\n" for record in records).encode()
    return [(event.kind, event.payload) for event in reader.feed(path, content)]


def result(**members: Any) -> dict[str, Any]:
    return {"type": "result", "subtype": "success", "is_error": False, "num_turns": 1, "session_id": "s"} | members


def model_usage(**members: Any) -> dict[str, Any]:
    return {"inputTokens": 100, "outputTokens": 10, "costUSD": 0.5, "costBasis": "list"} | members


def test_claude_code_guesses_no_price_for_us() -> None:
    for usage, cost in (({}, 0.5), ({"costBasis": "unknown"}, None)):
        reader = adapter("claude-code")
        fed(reader, "claude-code.txt", [result(modelUsage={"some-model": model_usage(**usage)})])
        assert reader.usage == Usage(100, 0, 0, 10, cost, {"some-model": Usage(100, 0, 0, 10, cost)})
    reader = adapter("claude-code")
    state = {"type": "cost-state", "sessionId": "s", "hasUnknownModelCost": True, "modelUsage": {"m": model_usage()}}
    fed(reader, "sessions/projects/app/s.jsonl", [state])
    assert (reader.usage.input_tokens, reader.usage.cost_usd) == (100, None)


def test_claude_code_of_former_releases_reports_one_sum() -> None:
    reader = adapter("claude-code")
    usage = {"input_tokens": 5, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 3, "output_tokens": 7}
    init = {"type": "system", "subtype": "init", "model": "claude-opus-4"}
    assert fed(reader, "claude-code.txt", [init, result(usage=usage, total_cost_usd=0.25)]) == [
        ("summary", {"text": "Ended after 1 turns."})
    ]
    assert reader.usage == Usage(28, 20, 3, 7, 0.25, {"claude-opus-4": Usage(28, 20, 3, 7, 0.25)})


def test_a_cost_of_before_the_last_messages_is_none() -> None:
    reader = adapter("claude-code")
    fed(reader, "claude-code.txt", [result(modelUsage={"m": model_usage()})])
    message = {"id": "msg_1", "model": "m", "content": [], "usage": {"input_tokens": 900, "output_tokens": 1}}
    fed(reader, "claude-code.txt", [{"type": "assistant", "message": message}])
    assert (reader.usage.input_tokens, reader.usage.cost_usd) == (900, None)


def test_a_compacted_conversation_is_told_once() -> None:
    reader = adapter("claude-code")
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "u"}
    assert fed(reader, "claude-code.txt", [boundary]) == [("summary", {"text": "The conversation was compacted."})]
    assert fed(reader, "sessions/projects/app/s.jsonl", [boundary]) == []


def item(kind: str, **members: Any) -> dict[str, Any]:
    return {
        "type": "item.completed",
        "item": {"id": f"{kind}-{members}", "type": kind, "status": "completed"} | members,
    }


def test_items_of_codex() -> None:
    assert fed(
        adapter("codex"),
        "codex.txt",
        [
            item("mcp_tool_call", server="docs", tool="search", arguments={"q": "a"}, result={"content": []}),
            item("mcp_tool_call", server="docs", tool="get", arguments={}, error={"message": "gone"}, status="failed"),
            item("web_search", query="tokens"),
            item("collab_tool_call", prompt="Write it"),
            item("todo_list", items=[{"text": "Write", "completed": True}, {"text": "Check", "completed": False}]),
            item("error", message="Model metadata not found"),
        ],
    ) == [
        ("tool_use", {"name": "docs.search", "input": '{"q": "a"}'}),
        ("tool_result", {"content": '{"content": []}'}),
        ("tool_use", {"name": "docs.get", "input": "{}"}),
        ("tool_result", {"content": "gone", "is_error": True}),
        ("tool_use", {"name": "web_search", "input": '{"query": "tokens"}'}),
        ("tool_result", {"content": "completed"}),
        ("tool_use", {"name": "collab_tool_call", "input": '{"prompt": "Write it"}'}),
        ("tool_result", {"content": ""}),
        ("summary", {"text": "Plan:\n[x] Write\n[ ] Check"}),
        ("summary", {"text": "Model metadata not found"}),
    ]


def test_codex_of_former_releases_has_sums_alone_in_its_rollout() -> None:
    reader = adapter("codex")
    total = {"input_tokens": 40, "cached_input_tokens": 10, "output_tokens": 4}
    count = {"type": "event_msg", "payload": {"type": "token_count", "info": {"total_token_usage": total}}}
    meta = {"type": "session_meta", "payload": {"id": "thread-1"}}
    fed(reader, "sessions/2026/11/30/rollout-1.jsonl", [meta, count, count])
    assert (reader.usage.input_tokens, reader.usage.output_tokens) == (40, 4)
    started, completed = {"type": "thread.started", "thread_id": "thread-1"}, {"type": "turn.completed", "usage": total}
    fed(reader, "codex.txt", [started, completed])
    assert reader.usage.input_tokens == 40


def test_printed_sums_of_two_runs_of_one_thread_are_one_sum_and_of_two_threads_two() -> None:
    for second, expected in (("a", 70), ("b", 110)):
        reader = adapter("codex")
        for thread, tokens in (("a", 40), (second, 70)):
            reader.restart("codex.txt")
            turn = {"type": "turn.completed", "usage": {"input_tokens": tokens, "output_tokens": 1}}
            fed(reader, "codex.txt", [{"type": "thread.started", "thread_id": thread}, turn])
        assert reader.usage.input_tokens == expected


def test_mini_swe_agent_by_the_responses_api() -> None:
    response = {
        "object": "response",
        "model": "gpt-5",
        "output": [
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Look first."}]},
            {"type": "message", "content": [{"type": "output_text", "text": "I look."}]},
            {"type": "function_call", "name": "bash", "arguments": '{"command": "ls"}'},
        ],
        "usage": {"input_tokens": 90, "input_tokens_details": {"cached_tokens": 60}, "output_tokens": 9},
        "extra": {"cost": 0.125},
    }
    printed = {"type": "function_call_output", "output": "hello.txt\n", "extra": {"returncode": 1}}
    reader = adapter("mini-swe-agent")
    assert fed(reader, "mini-swe-agent.trajectory.json", [{"messages": [response, printed]}]) == [
        ("message", {"text": "Look first.", "thinking": True}),
        ("message", {"text": "I look."}),
        ("tool_use", {"name": "bash", "input": '{"command": "ls"}'}),
        ("tool_result", {"content": "hello.txt", "is_error": True}),
    ]
    assert reader.usage == Usage(90, 60, 0, 9, 0.125, {"gpt-5": Usage(90, 60, 0, 9, 0.125)})


def test_gemini_cli_tells_its_errors_once() -> None:
    error = {"id": "e", "type": "error", "content": "quota exceeded"}
    assert fed(adapter("gemini-cli"), "gemini-cli.trajectory.jsonl", [error, error]) == [
        ("summary", {"text": "Error: quota exceeded"})
    ]


def test_pictures_and_other_parts_of_a_result() -> None:
    parts = [{"type": "text", "text": "seen"}, {"type": "image", "source": {"data": "AAAA"}}, "plain", {"json": 1}]
    assert Scribe().tool_result(parts) == [Event("tool_result", {"content": 'seen\n[image]\nplain\n{"json": 1}'})]


def test_a_source_matches_name_by_name() -> None:
    source = Source("sessions/*/x-*.jsonl")
    assert source.matches("sessions/a/x-1.jsonl")
    assert not any(map(source.matches, ("sessions/a/b/x-1.jsonl", "sessions/x-1.jsonl", "sessions/a/y-1.jsonl")))


def test_what_was_seen_long_ago_is_new_again() -> None:
    seen = Seen(limit=2)
    assert [seen.add(thing) for thing in "abacb"] == [True, True, False, True, False]
    assert seen.add("a")
    assert "c" in seen
    assert "b" not in seen


def test_what_is_nested_too_deeply_to_be_written_is_not() -> None:
    nested: list[object] = []
    for _ in range(100_000):
        nested = [nested]
    assert Scribe().tool_use("deep", {"a": nested}) == [Event("tool_use", {"name": "deep", "input": "..."})]
