"""What of a request gets into the log."""

import asyncio

import pytest
from starlette.types import Message, Receive, Scope, Send
from structlog.testing import capture_logs

from oddish.api.access import AccessLog

TOKEN = "3q2-7wDvdSecretOfTheLink_0123456789abcdefghij"


@pytest.mark.parametrize("rest", ["", "/tasks", f"/tasks/{TOKEN[:9]}/trials"])
def test_the_token_of_a_share_link_is_not_logged(rest: str) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        assert message["status"] == 200

    path = f"/public/experiments/{TOKEN}{rest}"
    scope: Scope = {"type": "http", "method": "GET", "path": path, "headers": [], "query_string": b"a=secret"}
    with capture_logs() as lines:
        asyncio.run(AccessLog(app)(scope, receive, send))
    assert [line["path"] for line in lines] == [f"/public/experiments/…{rest}"]
    assert TOKEN not in str(lines)
