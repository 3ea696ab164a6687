"""Asking a server with a key that it does not know."""

from typing import Any

import pytest

from oddish.cli.session import LOCAL, connect
from oddish.client.endpoint import Endpoint
from oddish.client.errors import ApiError


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
