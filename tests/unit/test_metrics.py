"""What is counted, and under how many names at most."""

import errno
from datetime import UTC, datetime

from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from oddish.api.metrics import OTHERS, Picture, queue_series
from oddish.metrics import REGISTRY, render
from oddish.queue.diagnostics.backlog import Backlog, Group, Key
from oddish.queue.limits import Limit
from oddish.storage.errors import translated
from oddish.worker.metrics import count_outcome


def counted(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


def shown(picture: Picture | None, most_keys: int = 500) -> dict[tuple[str, ...], float]:
    """Series by name and the values of their labels, in the order of their names."""
    text = render(queue_series(picture, most_keys)).decode()
    return {
        (sample.name, *(sample.labels[name] for name in sorted(sample.labels))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def key(name: str, *, paused: bool = False, override: int | None = None) -> Key:
    return Key(name, 8, override, paused, 1, None, None)


def group(name: str, jobs: int, *, state: str = "ready", oldest: float = 10.0) -> Group:
    return Group(key=name, org_id="org", kind="trial", pool="local@h", state=state, jobs=jobs, oldest_seconds=oldest)


def picture(keys: list[Key], groups: list[Group], caps: list[Limit] | None = None) -> Picture:
    return Picture(Backlog(datetime.now(UTC), keys, groups), caps or [], 2)


def test_the_keys_with_the_most_jobs_have_series_of_their_own_and_the_rest_is_one() -> None:
    keys = [key("a"), key("b"), key("c")]
    groups = [group("a", 5), group("b", 1, oldest=30), group("c", 2, oldest=20)]
    found = shown(picture(keys, groups), most_keys=1)
    assert found["oddish_queue_jobs", "a", "ready"] == 5
    assert found["oddish_queue_jobs", OTHERS, "ready"] == 3
    assert found["oddish_queue_oldest_ready_seconds", OTHERS] == 30
    assert ("oddish_queue_jobs", "b", "ready") not in found
    assert ("oddish_queue_limit", "key", "b") not in found


def test_a_key_without_jobs_is_shown_only_if_an_admin_limited_it() -> None:
    found = shown(picture([key("idle"), key("limited", override=2)], []))
    assert found["oddish_queue_limit", "key", "limited"] == 2
    assert not any("idle" in labels for labels in found)


def test_a_paused_key_may_run_nothing() -> None:
    assert shown(picture([key("a", paused=True)], [group("a", 1)]))["oddish_queue_limit", "key", "a"] == 0


def test_caps_of_organisations_are_not_shown() -> None:
    caps = [Limit("provider:openai", 4, None, 3, False), Limit("org:secret", 4, None, 3, False)]
    found = shown(picture([], [], caps))
    assert found["oddish_queue_running", "cap", "provider:openai"] == 3
    assert not any("org:secret" in labels for labels in found)


def test_a_key_that_tries_to_be_more_than_a_label_is_one_label() -> None:
    hostile = 'x"} 1\noddish_workers 99\n'
    found = shown(picture([key(hostile)], [group(hostile, 1)]))
    assert found["oddish_queue_jobs", hostile, "ready"] == 1
    assert found["oddish_workers",] == 2


def test_failures_of_the_store_are_counted_and_missing_objects_are_not() -> None:
    before = counted("oddish_store_errors_total", code="storage_full")
    translated(OSError(errno.ENOSPC, "full"), "k")
    translated(FileNotFoundError(), "k")
    assert counted("oddish_store_errors_total", code="storage_full") == before + 1
    assert counted("oddish_store_errors_total", code="not_found") == 0


def test_an_outcome_is_counted_under_its_main_reason() -> None:
    labels = {"kind": "trial", "status": "failed", "reason": "no_reward"}
    before = counted("oddish_outcomes_total", **labels)
    count_outcome("trial", "failed", ("no_reward", "no_report"))
    assert counted("oddish_outcomes_total", **labels) == before + 1


def test_what_was_looked_up_for_one_answer_is_not_kept() -> None:
    shown(picture([key("a")], [group("a", 1)]))
    assert b"oddish_queue_jobs" not in generate_latest(REGISTRY)
