"""Asking a server with a key that it does not know."""

from typing import Any

import pytest

from oddish.cli.session import LOCAL, connect
from oddish.client.endpoint import GATEWAY, GATEWAY_KEY, Endpoint
from oddish.client.errors import ApiError, Unreachable
from oddish.client.retry import RetryPolicy


@pytest.mark.parametrize(
    ("source", "key_source", "advised"),
    [(LOCAL, "ODDISH_API_KEY", True), (LOCAL, "/somewhere/token", False), ("--api", "ODDISH_API_KEY", False)],
)
def test_a_key_of_another_server_is_advised_against(
    server: Any, source: str, key_source: str, *, advised: bool
) -> None:
    with pytest.raises(ApiError) as refused, connect(Endpoint(server.url, "ok_other", source, key_source)) as client:
        client.tasks()
    assert ("Unset ODDISH_API_KEY" in str(refused.value.fix)) == advised


def test_a_gateway_that_a_variable_names_is_refused_by_its_name(server: Any) -> None:
    with (
        pytest.raises(ApiError) as refused,
        connect(Endpoint(server.url, "dev-local-key", GATEWAY, GATEWAY_KEY)) as client,
    ):
        client.gateway.jobs()
    assert "SANDBOX_API_KEY" in str(refused.value.fix)
    assert "oddish up --dev-key" in str(refused.value.fix)
    away = Endpoint("http://127.0.0.1:9", "dev-local-key", GATEWAY, GATEWAY_KEY)
    with pytest.raises(Unreachable) as unanswered, connect(away, RetryPolicy(attempts=1)) as client:
        client.gateway.jobs()
    assert "SANDBOX_GATEWAY_URL" in str(unanswered.value.fix)
