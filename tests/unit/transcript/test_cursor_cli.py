"""Cursor CLI: what its printed lines become."""

from oddish.transcript import Event, Usage, adapter
from support.agent_logs import KEPT

LOG = (KEPT / "cursor-cli" / "basic" / "cursor-cli.txt").read_bytes()


def test_a_run_reads_as_it_went() -> None:
    reader = adapter("cursor-cli")
    assert reader.feed("cursor-cli.txt", LOG) == [
        Event("message", {"text": "The folder is empty. I will write hello.txt.", "thinking": True}),
        Event("message", {"text": "I will create the greeting file first."}),
        Event(
            "tool_use",
            {"name": "writeToolCall", "input": '{"path": "/data/app/hello.txt", "fileText": "hello world\\n"}'},
        ),
        Event("tool_result", {"content": '{"success": {"path": "/data/app/hello.txt", "linesCreated": 1}}'}),
        Event("tool_use", {"name": "shellToolCall", "input": '{"command": "cat hello.txt"}'}),
        Event("tool_result", {"content": "hello world"}),
        Event("tool_use", {"name": "readToolCall", "input": '{"path": "missing.txt"}'}),
        Event("tool_result", {"content": '{"error": {"errorMessage": "File not found"}}', "is_error": True}),
        Event("message", {"text": "Done: hello.txt holds the greeting."}),
        Event("summary", {"text": "Ended."}),
    ]
    assert reader.usage == Usage(
        11000, 6200, 3320, 180, 0.0125, {"composer-2.5": Usage(11000, 6200, 3320, 180, 0.0125)}
    )
    assert reader.model == "composer-2.5"


def test_runs_add_up_and_one_that_is_read_again_counts_once() -> None:
    reader = adapter("cursor-cli")
    for log in (LOG, LOG, LOG.replace(b'"request_id":"r-1"', b'"request_id":"r-2"')):
        reader.restart("cursor-cli.txt")
        reader.feed("cursor-cli.txt", log)
    assert reader.usage.output_tokens == 360
    assert reader.usage.cost_usd == 0.025


def test_an_error_is_told_with_its_reason() -> None:
    line = b'{"type":"result","subtype":"error","is_error":true,"result":"Usage limit reached"}\n'
    assert adapter("cursor-cli").feed("cursor-cli.txt", line) == [
        Event("summary", {"text": "Ended with an error: Usage limit reached"})
    ]
