"""Which lines of a log tell of a defect."""

from chaos.collecting import defects

EXPECTED = '{"event": "worker fenced", "level": "error", "reason": "its lease had ended"}'
ENGINE = (
    'Traceback (most recent call last):\n  File "/x/oddish/engine/forkserver.py", line 1, in <module>\nBrokenPipeError'
)


def test_expected_errors_and_ends_of_engines_are_no_defects() -> None:
    assert defects(f"{EXPECTED}\n{ENGINE}\n") == []


def test_an_event_with_a_traceback_is_a_defect_named_by_its_last_line() -> None:
    log = '{"event": "execution failed", "exception": "Traceback:\\n  File x\\nKeyError: 1"}'
    assert defects(log) == ["execution failed: KeyError: 1"]


def test_a_worker_that_ends_with_a_traceback_is_a_defect() -> None:
    log = (
        'Traceback:\n  File "/x/oddish/worker/__main__.py", line 54, in <module>\n    main()\n    ^^^^^^\nKeyError: 1\n'
    )
    assert defects(log) == ["it ended with KeyError: 1"]
