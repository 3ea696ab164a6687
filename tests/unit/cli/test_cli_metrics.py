"""The numbers of metrics.json as ``status`` shows them."""

from oddish.cli.metrics import METRICS, SHOWN, rows


def test_agreed_names_have_words_and_units_and_the_tasks_own_follow() -> None:
    result = {
        "schema_version": 1,
        "regions": 4,
        "throughput_tokens_per_sec": 4300,
        "ttft_ms": 12.5,
        "mxu_utilization_pct": 41.25,
        "expert_load_balance": 0.93,
        "shape": [1, 2],
        "exact": True,
        "_verifier": {"tests": 3},
    }
    assert rows(result) == [
        ("Time to first token", "12.5 ms"),
        ("Throughput", "4300 tokens/s"),
        ("MXU utilization", "41.25%"),
        ("Expert load balance", "0.93"),
        ("regions", "4"),
        ("shape", "[1, 2]"),
        ("exact", "true"),
    ]
    assert rows(None) == []
    assert all(metric.label for metric in METRICS.values())


def test_many_metrics_are_cut_and_nothing_of_them_reaches_the_terminal_raw() -> None:
    shown = rows({f"key{number}\x1b[31m": "\x1b[2Jtext" for number in range(SHOWN + 7)})
    assert len(shown) == SHOWN + 1
    assert shown[0] == ("key0", "text")
    assert shown[-1] == ("and more", "7, with --json")
