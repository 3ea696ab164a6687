"""When those who find the quota used up are to come again."""

import pytest

from oddish.gateway.jobs import wait_for_room


@pytest.mark.parametrize(
    ("usual", "running", "limit", "seconds"),
    [(0, 8, 8, 5), (80, 8, 8, 10), (80, 12, 8, 33), (86400, 8, 8, 300), (60, 1, 1, 60)],
)
def test_who_is_sent_away_is_told_when_room_is_to_be_expected(
    usual: float, running: int, limit: int, seconds: int
) -> None:
    assert wait_for_room(usual, running=running, limit=limit) == seconds
