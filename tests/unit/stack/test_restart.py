from hypothesis import given
from hypothesis import strategies as st

from oddish.stack.restart import STEADY, Restart


def ended(*lives: float) -> Restart:
    restart, now = Restart(), 1000.0
    for life in lives:
        restart.note_start(now)
        now += life
        restart.note_end(now)
    return restart


def test_the_first_end_is_answered_at_once() -> None:
    assert ended(0.1).delay == 0.0


def test_repeated_short_lives_are_answered_ever_later_up_to_a_bound() -> None:
    delays = [ended(*[1.0] * count).delay for count in range(1, 12)]
    assert delays == sorted(delays)
    assert delays[1:4] == [0.5, 1.0, 2.0]
    assert delays[-1] == 30.0


def test_a_long_life_forgives() -> None:
    restart = ended(1.0, 1.0, 1.0, 1.0)
    assert restart.troubled
    restart.note_start(2000.0)
    assert not restart.note_alive(2000.0 + STEADY / 2)
    assert restart.note_alive(2000.0 + STEADY)
    assert not restart.troubled
    assert not restart.note_alive(2000.0 + STEADY)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=50))
def test_a_restart_is_never_due_before_the_end(lives: list[float]) -> None:
    assert ended(*lives).due >= 1000.0 + sum(lives) - 1e-6
