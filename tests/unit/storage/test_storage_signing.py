"""Signed URLs: what they grant, and that nothing else passes."""

from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oddish.storage.errors import ExpiredUrl, InvalidKey, InvalidSignature
from oddish.storage.signing import ROUTE, Grant, UrlSigner

SECRET = b"0123456789abcdef"
NOW = 1_700_000_000


def signer(*, secret: bytes = SECRET, now: float = NOW) -> UrlSigner:
    return UrlSigner(secret, clock=lambda: now)


def received(url: str) -> tuple[str, dict[str, str]]:
    """Key and query as a server sees them."""
    parts = urlsplit(url)
    return unquote(parts.path).removeprefix(ROUTE), dict(parse_qsl(parts.query, strict_parsing=True))


UPLOAD = signer().sign("PUT", "tasks/a b/ü.tgz", expires_in=60, size_limit=1000, content_type="application/gzip")


def test_an_upload() -> None:
    assert UPLOAD.startswith("/store/tasks/a%20b/%C3%BC.tgz?expires=1700000060&limit=1000&")
    assert signer().verify("PUT", *received(UPLOAD)) == Grant(
        method="PUT",
        key="tasks/a b/ü.tgz",
        expires_at=NOW + 60,
        size_limit=1000,
        content_type="application/gzip",
    )


def test_a_download_serves_head_too() -> None:
    key, query = received(signer().sign("GET", "a/b", expires_in=5))
    for method in ("GET", "HEAD", "get"):
        grant = signer().verify(method, key, query)
        assert (grant.method, grant.size_limit, grant.content_type) == ("GET", None, None)
    for method in ("PUT", "DELETE", "POST"):
        with pytest.raises(InvalidSignature):
            signer().verify(method, key, query)


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE"])
def test_an_upload_url_does_nothing_else(method: str) -> None:
    with pytest.raises(InvalidSignature):
        signer().verify(method, *received(UPLOAD))


@pytest.mark.parametrize(
    "change",
    [
        {"expires": "1700000061"},
        {"expires": "+1700000060"},
        {"expires": "1_700_000_060"},
        {"expires": " 1700000060"},
        {"expires": "x"},
        {"expires": "9" * 5000},
        {"limit": "1001"},
        {"limit": "-1"},
        {"type": "text/html"},
        {"signature": ""},
        {"signature": "A" * 43},
        {"signature": "ü"},
    ],
)
def test_an_altered_url_is_refused(change: dict[str, str]) -> None:
    key, query = received(UPLOAD)
    with pytest.raises(InvalidSignature):
        signer().verify("PUT", key, {**query, **change})


@pytest.mark.parametrize("name", ["expires", "limit", "type", "signature"])
def test_an_incomplete_url_is_refused(name: str) -> None:
    key, query = received(UPLOAD)
    del query[name]
    with pytest.raises(InvalidSignature):
        signer().verify("PUT", key, query)


def test_another_key_or_secret_is_refused() -> None:
    key, query = received(UPLOAD)
    with pytest.raises(InvalidSignature):
        signer().verify("PUT", "tasks/other", query)
    with pytest.raises(InvalidSignature):
        signer(secret=b"another secret of the same kind").verify("PUT", key, query)


def test_it_ends_at_its_time() -> None:
    assert signer(now=NOW + 59.9).verify("PUT", *received(UPLOAD))
    with pytest.raises(ExpiredUrl):
        signer(now=NOW + 60).verify("PUT", *received(UPLOAD))


keys = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Z"], exclude_characters="/\\"), min_size=1)


@given(keys, keys, st.sampled_from([None, 0, 1, 12]), st.sampled_from([None, "1", "a/b"]))
def test_fields_never_run_into_one_another(one: str, other: str, limit: int | None, kind: str | None) -> None:
    def signature(key: str) -> str:
        try:
            url = signer().sign("PUT", f"k{key}k", expires_in=1, size_limit=limit or 0, content_type=kind)
        except InvalidKey:
            return key
        assert signer().verify("PUT", *received(url)).key == f"k{key}k"
        return received(url)[1]["signature"]

    assert (signature(one) == signature(other)) == (one == other)


def test_misuse_is_refused() -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        signer(secret=b"short")
    with pytest.raises(ValueError, match="size limit"):
        signer().sign("PUT", "a", expires_in=1)
    with pytest.raises(InvalidKey):
        signer().sign("GET", "../a", expires_in=1)
