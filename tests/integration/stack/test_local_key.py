"""Which key the local stack is asked with."""

import pytest

from oddish.cli.session import local_endpoint
from oddish.stack import client
from oddish.stack.layout import layout

from .conftest import Start

GIVEN = "ok_" + "f" * 32


def test_its_own_key_is_used_until_one_is_given(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    start()
    monkeypatch.delenv("ODDISH_API_KEY", raising=False)
    own = local_endpoint()
    assert (own.key, own.key_source) == (client.token(), str(layout().token))
    monkeypatch.setenv("ODDISH_API_KEY", GIVEN)
    given = local_endpoint()
    assert (given.url, given.key, given.key_source) == (own.url, GIVEN, "ODDISH_API_KEY")
