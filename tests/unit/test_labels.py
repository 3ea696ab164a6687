import json
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oddish.labels import LARGEST_META, LONGEST_LINK, InvalidMeta, link_flaw, read_meta


@pytest.mark.parametrize(
    "link", ["https://example.com", "http://localhost:3000/pull/12?tab=files#a", "HTTPS://é.example/ü", "http://[::1]/"]
)
def test_addresses_of_the_web_are_links(link: str) -> None:
    assert link_flaw(link) is None


@pytest.mark.parametrize(
    ("link", "why"),
    [
        ("", "neither http"),
        ("example.com/pull/12", "neither http"),
        ("javascript:alert(1)", "neither http"),
        ("data:text/html,x", "neither http"),
        ("ftp://example.com", "neither http"),
        ("https:///path", "no host"),
        ("https://[::1", "no address"),
        ("https://example.com:port/", "no address"),
        ("https://me:secret@example.com/", "login"),
        ("https://example.com\\@evil.example", "backslash"),
        (" https://example.com", "space"),
        ("https://example.com/\n", "space"),
        ("https://example.com/\u202egpj", "cannot be seen"),
        (f"https://example.com/{'x' * LONGEST_LINK}", "longer than"),
    ],
)
def test_anything_else_is_refused_with_the_reason(link: str, why: str) -> None:
    assert why in (link_flaw(link) or "")


@given(st.text(max_size=40).map(lambda tail: f"http{tail}") | st.text(max_size=40))
def test_what_passes_leads_to_a_host_over_http_without_a_login(link: str) -> None:
    if link_flaw(link) is None:
        parts = urlsplit(link)
        assert parts.scheme in ("http", "https")
        assert parts.hostname
        assert "@" not in parts.netloc
        assert link.isprintable()


@given(st.dictionaries(st.text("abcé", max_size=5), st.none() | st.integers() | st.text("xyz", max_size=9), max_size=9))
def test_metadata_is_read_as_it_was_written(meta: dict[str, object]) -> None:
    assert read_meta(json.dumps(meta)) == meta


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "line 1, column 2"),
        ("{'pr': 12}", "line 1, column 2"),
        ("[1]", "list and no object"),
        ("null", "null and no object"),
        ('{"a": NaN}', "a is nan"),
        ('{"a": "\\u0000"}', "NUL"),
        ('{"a": ' * 5000, "too deep"),
        ('{"a": ' + "[" * 200 + "]" * 200 + "}", "levels"),
        (json.dumps({"a": "x" * LARGEST_META}), "bytes of JSON"),
        (json.dumps({"a": "x" * 2 * LARGEST_META}), "characters"),
    ],
)
def test_what_is_no_small_object_is_refused_without_being_shown(text: str, why: str) -> None:
    with pytest.raises(InvalidMeta, match=why) as refused:
        read_meta(text)
    assert "xxxx" not in str(refused.value)
