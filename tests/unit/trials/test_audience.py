"""What a server knows of what it told the workers."""

from oddish.trials.audience import NO_ATTEMPT, NOT_BEGUN, WORD_SECONDS, Audience


def test_a_word_of_an_attempt_lasts_a_few_seconds_and_is_none_of_later_attempts_or_other_trials() -> None:
    now = [0.0]
    audience = Audience(clock=lambda: now[0])
    assert audience.told("t-0") == NO_ATTEMPT
    audience.tell("t-0", NOT_BEGUN)
    audience.tell("t-0", 1)
    assert (audience.told("t-0"), audience.told("t-1")) == (1, NO_ATTEMPT)
    now[0] = WORD_SECONDS
    assert audience.told("t-0") == NO_ATTEMPT
