"""Whom a job tells, how it signs what it says, and when it says it again."""

import hashlib
import hmac
from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oddish.errors import Unavailable
from oddish.gateway.callbacks import (
    LONGEST_PAUSE,
    PAUSES,
    Answer,
    Callback,
    Kind,
    NotKept,
    Signature,
    callback_of,
    headers_of_upload,
    judged,
    pause,
    secret_flaw,
)

REQUEST = {
    "notifications": [{"url": "https://a.example"}, {"url": "https://b.example", "secret": "of-the-second"}],
    "deliver": {"url": "https://store.example/in.zip?sig=1", "secret": None},
    "writeback": None,
}


@pytest.mark.parametrize(
    ("kind", "place", "expected"),
    [
        ("notifications", 0, Callback("https://a.example", None)),
        ("notifications", 1, Callback("https://b.example", "of-the-second")),
        ("deliver", 0, Callback("https://store.example/in.zip?sig=1", None)),
    ],
)
def test_a_callback_is_what_the_request_says(kind: Kind, place: int, expected: Callback) -> None:
    assert callback_of(REQUEST, kind, place) == expected
    assert "of-the-second" not in repr(expected)


@pytest.mark.parametrize(
    ("request_", "kind", "place"), [(None, "deliver", 0), (REQUEST, "writeback", 0), (REQUEST, "notifications", 2)]
)
def test_a_callback_that_is_not_kept_is_named_so(request_: dict[str, object] | None, kind: Kind, place: int) -> None:
    with pytest.raises(NotKept):
        callback_of(request_, kind, place)


def test_signatures_are_those_of_standard_webhooks() -> None:
    """The example of its specification."""
    signature = Signature("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    for chunk in (b'{"test"', b": 2432232314}"):
        signature.update(chunk)
    assert signature.headers == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


@pytest.mark.parametrize("secret", ["any characters ü", "whsec_not base64!"])
def test_any_secret_signs_by_its_characters(secret: str) -> None:
    signature = Signature("m", 1, secret)
    signature.update(b"body")
    expected = b64encode(hmac.digest(secret.encode(), b"m.1.body", hashlib.sha256)).decode()
    assert signature.headers["webhook-signature"] == f"v1,{expected}"


@pytest.mark.parametrize(
    ("secret", "flaw"),
    [
        ("eight ch", None),
        (f"whsec_{b64encode(bytes(24)).decode()}", None),
        (" " * 8, "fewer than 8"),
        ("seven..", "fewer than 8"),
        ("whsec_not base64!", "not base64"),
        ("whsec_AA", "not base64"),
        ("whsec_", "0 bytes"),
        (f"whsec_{b64encode(bytes(23)).decode()}", "23 bytes"),
    ],
)
def test_a_secret_that_signs_nothing_worth_the_name_is_told_why(secret: str, flaw: str | None) -> None:
    found = secret_flaw(secret)
    assert (found is None) == (flaw is None)
    assert (flaw or "") in (found or "")


def test_a_receiver_that_is_overloaded_has_refused_nothing() -> None:
    assert judged(1, Answer(503), seconds=1, chance=0).error == "The receiver answers 503."
    assert "with a refusal" in (judged(1, Answer(404), seconds=1, chance=0).error or "")


def test_nothing_is_signed_without_a_secret() -> None:
    signature = Signature("gw_1.notifications.2.7", 1, None)
    signature.update(b"body")
    assert not signature.signs
    assert signature.headers == {"webhook-id": "gw_1.notifications.2.7", "webhook-timestamp": "1"}


@given(st.integers(1, 20), st.one_of(st.none(), st.floats(0, 1e6)), st.floats(0, 1, exclude_max=True))
def test_pauses_grow_heed_the_receiver_and_end(attempt: int, retry_after: float | None, chance: float) -> None:
    found = pause(attempt, retry_after=retry_after, chance=chance)
    assert (found is None) == (attempt > len(PAUSES))
    if found is not None:
        assert found >= min(retry_after or 0, LONGEST_PAUSE)
        assert 0.8 * PAUSES[attempt - 1] <= pause(attempt, chance=chance) <= 1.2 * PAUSES[attempt - 1]


@pytest.mark.parametrize(
    ("attempt", "came", "result", "given_up"),
    [
        (1, Answer(204), "delivered", False),
        (1, Answer(429), "postponed", False),
        (1, Answer(503), "postponed", False),
        (len(PAUSES) + 1, Answer(503), "failed", True),
        (1, Answer(404), "failed", False),
        (1, Answer(307), "failed", False),
        (1, Unavailable("the store is away"), "postponed", False),
        (len(PAUSES) + 1, Unavailable("the store is away"), "failed", True),
        (1, NotKept("gone"), "failed", False),
        (1, ValueError("a defect"), "postponed", False),
    ],
)
def test_what_may_pass_is_tried_again_and_a_refusal_is_not(
    attempt: int, came: Answer | Exception, result: str, given_up: bool
) -> None:
    found = judged(attempt, came, seconds=1.5, chance=0.5)
    assert (found.result, found.given_up, found.seconds) == (result, given_up, 1.5)
    assert (found.pause is not None) == (result == "postponed")
    assert (found.error is None) == (result == "delivered")
    assert found.status == (came.status if isinstance(came, Answer) else None)


def test_what_is_kept_of_a_failure_is_short() -> None:
    assert len(judged(1, ValueError("x" * 10_000), seconds=1, chance=0).error or "") == 500


def test_only_azure_is_told_the_type_of_a_blob() -> None:
    assert headers_of_upload("mine.blob.core.windows.net") == {"x-ms-blob-type": "BlockBlob"}
    assert headers_of_upload("blob.core.windows.net.evil.example") == {}
