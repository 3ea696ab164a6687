"""Which texts let whoever has them in."""

import pytest

from oddish.secrecy import is_signed, without_signatures


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://a.example/x?Date=2026&X-Amz-Signature=0123456789", "https://a.example/x?Date=2026&X-Amz-Signature=…"),
        ("https://a.example/x?sv=1&sig=0123456789%2B&se=2", "https://a.example/x?sv=1&sig=…&se=2"),
        ("see http://a.example/?token=0123456789#top, please", "see http://a.example/?token=…#top, please"),
        ("https://a.example/x?AWSAccessKeyId=0123456789", "https://a.example/x?AWSAccessKeyId=…"),
    ],
)
def test_a_signature_in_an_address_is_not_shown(text: str, shown: str) -> None:
    assert is_signed(text)
    assert without_signatures({"a": [text, 7, None]}) == {"a": [shown, 7, None]}


@pytest.mark.parametrize(
    "text",
    [
        "https://a.example/x.zip",
        "https://a.example/?design=0123456789&author=0123456789",
        "sig=0123456789",
        "https://a.example/?token=short",
    ],
)
def test_other_addresses_are_shown_as_they_are(text: str) -> None:
    assert not is_signed(text)
    assert without_signatures(text) == text
