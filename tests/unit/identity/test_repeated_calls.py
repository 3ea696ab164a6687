"""What makes two calls the same one."""

import pytest

from oddish.errors import InvalidInput
from oddish.identity.idempotency import Call, canonical
from oddish.identity.principal import Principal, Scope

ME = Principal("key", "org", "me", "me", "admin", Scope.FULL)


def call(key: str = "one", body: bytes = b"{}", target: str = "/a?") -> Call:
    return Call.of(ME, "POST /a", key, target=target, body=body)


def test_spacing_and_order_do_not_matter() -> None:
    assert canonical(b'{"a": 1, "b": [1, 2]}') == canonical(b'{ "b":[1,2],\n"a":1 }')
    assert canonical(b'{"b": [1, 2]}') != canonical(b'{"b": [2, 1]}')


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000])
def test_a_body_that_is_no_document_is_compared_as_it_is(body: bytes) -> None:
    assert canonical(body) == body


def test_a_call_is_known_by_its_key_and_its_request() -> None:
    assert call().identity == call(body=b'{"a": 1}').identity
    assert call().identity != call("two").identity
    hashes = {call().body_hash, call(body=b"[]").body_hash, call(target="/b?").body_hash, call("two").body_hash}
    assert len(hashes) == 4


def test_neither_the_key_nor_the_body_is_shown() -> None:
    assert "secret" not in repr(call("secret-key", b'{"a": "secret"}'))


def test_the_parts_of_a_batch_are_calls_of_their_own() -> None:
    parts = [call().part(0, b"{}"), call().part(1, b"{}"), call().part(0, b"[]"), call("two").part(0, b"{}")]
    assert len({part.identity["key_hash"] for part in [*parts, call()]}) == 5
    assert call().part(0, b"{ }").identity == parts[0].identity


@pytest.mark.parametrize("key", ["", " ", "a b", "é", "\x7f", "k" * 256])
def test_a_key_of_another_form_is_refused(key: str) -> None:
    with pytest.raises(InvalidInput, match="Idempotency-Key"):
        call(key)
