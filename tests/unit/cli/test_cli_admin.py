"""What is said of an API key."""

from datetime import UTC, datetime

import pytest

from oddish.cli.admin import state
from oddish.client.types import ApiKey

NOW = datetime(2030, 1, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("expires_at", "revoked_at", "said"),
    [
        (None, None, "usable"),
        ("2030-02-01T00:00:00Z", None, "usable until 2030-02-01"),
        ("2030-01-02T00:00:00Z", None, "expired"),
        ("2029-12-31T00:00:00Z", "2029-12-30T00:00:00Z", "revoked"),
    ],
)
def test_the_state_of_a_key(expires_at: str | None, revoked_at: str | None, said: str) -> None:
    entry: ApiKey = {
        "id": "key_1",
        "name": "laptop",
        "prefix": "ok_00000000",
        "scope": "tasks",
        "user": "ada",
        "role": "member",
        "created_at": "2029-01-01T00:00:00Z",
        "created_by": None,
        "expires_at": expires_at,
        "last_used_at": None,
        "revoked_at": revoked_at,
    }
    assert state(entry, NOW) == said
