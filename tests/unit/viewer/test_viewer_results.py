"""A directory that others write while it is read: what is there is found, what breaks spoils nothing else."""

import json
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from oddish.viewer import files as files_module
from oddish.viewer import metrics as metrics_module
from oddish.viewer.files import LARGE_BYTES, Files, Reading
from oddish.viewer.findings import Notes
from oddish.viewer.results import NOTES_LIMIT, Results
from support.results import DATASET, KEY, RUN, STEP, SUMMARY, TRACE, TRACE_DOCUMENT, cell, dataset, example, write

PROJECT_FILE = "projects/data-agent/project.json"
SUMMARY_FILE = f"{DATASET}/summary.json"
METRICS_FILE = f"{RUN}/train/metrics.jsonl"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return example(tmp_path / "results")


@pytest.fixture
def results(root: Path) -> Results:
    return Results(root)


def line(step: float, **members: object) -> str:
    return json.dumps(STEP | {"step": step} | members) + "\n"


def test_files_that_are_there_make_projects_datasets_and_runs(root: Path, results: Results) -> None:
    for directory in ("projects/empty", f"{DATASET}-copy", "projects/.hidden", f"{RUN}-copy"):
        (root / directory).mkdir()
    assert results.projects().ids == ("data-agent",)
    assert results.datasets("data-agent").ids == ("eval-v1",)
    assert results.runs("data-agent").ids == ("rl-1",)
    (finding,) = results.projects().findings
    assert (finding.place, finding.found) == ("projects/empty", "is not shown: it has no file project.json.")


def test_nothing_else_is_required(tmp_path: Path) -> None:
    results = Results(tmp_path)
    assert results.projects().ids == results.datasets("p").ids == results.runs("p").ids == ()
    write(tmp_path, "projects/p/project.json", {})
    assert results.dataset("p", "d").findings == results.metrics("p", "r").findings == ()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda file: file.write_text(file.read_text()[:-20]),
        lambda file: file.write_text("[1, 2]"),
        lambda file: file.write_bytes(b"\xff\xfe{}"),
        lambda file: file.write_bytes(b'{"a": "\0"}'),
        lambda file: file.write_text('{"a":' * 5000),
        lambda file: file.write_text('{"a":' * 200 + "1" + "}" * 200),
        lambda file: file.unlink(),
        lambda file: (file.unlink(), file.symlink_to("/etc/passwd")),
        lambda file: (file.unlink(), file.mkdir()),
        lambda file: (file.unlink(), os.mkfifo(file)),
        lambda file: os.truncate(file, NOTES_LIMIT + 1),
    ],
    ids=["half-written", "list", "binary", "nul", "endless", "deep", "gone", "link", "directory", "pipe", "huge"],
)
def test_the_last_good_value_stays_with_what_is_wrong_now(
    root: Path, results: Results, spoil: Callable[[Path], object]
) -> None:
    results.projects()
    good = results.project("data-agent")
    assert good.value is not None
    assert not good.is_stale
    spoil(root / PROJECT_FILE)
    assert results.projects().ids == ("data-agent",)
    stale = results.project("data-agent")
    assert stale.value == good.value
    assert stale.is_stale
    assert stale.findings[0].place == PROJECT_FILE
    assert Results(root).project("data-agent").value is None
    assert results.summary("data-agent", "eval-v1").value is not None


def test_a_file_that_is_good_again_is_read_again(root: Path, results: Results) -> None:
    results.summary("data-agent", "eval-v1")
    write(root, SUMMARY_FILE, json.dumps(SUMMARY)[:100])
    assert results.summary("data-agent", "eval-v1").is_stale
    write(root, SUMMARY_FILE, dataset({KEY: cell([1.0])}, {KEY: cell([1.0])}))
    found = results.summary("data-agent", "eval-v1")
    assert found.value is not None
    assert (found.is_stale, len(found.value.tasks)) == (False, 2)


def test_a_file_that_did_not_change_is_parsed_once(results: Results) -> None:
    assert results.summary("data-agent", "eval-v1") is results.summary("data-agent", "eval-v1")


def test_a_large_file_is_parsed_once_for_all_who_ask_at_once(root: Path) -> None:
    write(root, "large.json", json.dumps({"padding": "x" * LARGE_BYTES}))
    files, parsed = Files(root), 0

    def reader(document: Mapping[str, Any], notes: Notes) -> int:
        nonlocal parsed
        parsed += 1
        return parsed

    with ThreadPoolExecutor(4) as pool:
        readings = list(pool.map(lambda _: files.read("large.json", 2 * LARGE_BYTES, reader), range(8)))
    assert {reading.value for reading in readings} == {1}


@pytest.mark.parametrize("content", ["{cut", "x" * (LARGE_BYTES + 1), '{"a":' * 200])
def test_what_cannot_be_read_is_not_looked_at_again_until_it_changes(root: Path, content: str) -> None:
    looked_at = []

    def parse(found: bytes) -> Any:
        looked_at.append(found)
        return json.loads(found)

    write(root, "broken.json", content)
    files = Files(root, parse)

    def read() -> Reading[str]:
        return files.read("broken.json", 2 * LARGE_BYTES, lambda document, _: document["a"])

    first = read()
    assert first.value is None
    assert (read(), len(looked_at)) == (first, 1)
    write(root, "broken.json", '{"a": "good"}')
    assert read() == Reading("good")
    write(root, "broken.json", content)
    assert (read(), read().is_stale, len(looked_at)) == (read(), True, 3)


@pytest.mark.parametrize(
    ("trace", "normal"), [("traces/./a.json", "'traces/a.json'"), ("traces//a.json", "'traces/a.json'"), ("./", "")]
)
def test_a_path_that_is_not_in_its_normal_form_is_named_as_such(results: Results, trace: str, normal: str) -> None:
    (finding,) = results.trace("data-agent", "eval-v1", trace).findings
    assert "is not in its normal form" in finding.found
    assert normal in finding.found
    with results.open_trace("data-agent", "eval-v1", trace) as reading:
        assert reading.findings == (finding,)


def test_a_directory_that_is_gone_is_gone(root: Path, results: Results) -> None:
    results.datasets("data-agent")
    results.summary("data-agent", "eval-v1")
    (root / DATASET).rename(root / "elsewhere")
    assert results.datasets("data-agent").ids == ()
    assert results.summary("data-agent", "eval-v1").value is None


@pytest.mark.parametrize("trace", ["../../../secret.json", "/etc/passwd", "", "traces/../../x", "a\0b", "traces\\x"])
def test_a_trace_outside_of_its_dataset_is_refused(root: Path, results: Results, trace: str) -> None:
    write(root, "projects/data-agent/secret.json", {})
    found = results.trace("data-agent", "eval-v1", trace)
    assert found.value is None
    assert found.findings[0].level == "error"


def test_links_are_not_followed(root: Path, results: Results, tmp_path: Path) -> None:
    write(tmp_path, "outside/secret.json", TRACE_DOCUMENT)
    (root / DATASET / "linked").symlink_to(tmp_path / "outside")
    (root / DATASET / "secret.json").symlink_to(tmp_path / "outside" / "secret.json")
    (root / "projects" / "linked").symlink_to("data-agent")
    assert results.trace("data-agent", "eval-v1", "linked/secret.json").value is None
    assert results.trace("data-agent", "eval-v1", "secret.json").value is None
    assert results.projects().ids == ("data-agent",)
    assert results.trace("data-agent", "eval-v1", TRACE).value is not None


def test_ids_that_are_paths_lead_nowhere(results: Results) -> None:
    assert results.datasets("../projects/data-agent").ids == ()
    assert results.project("../projects/data-agent").value is None


def test_the_directory_itself_may_be_a_link(root: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(root)
    assert Results(tmp_path / "link").projects().ids == ("data-agent",)


def test_texts_that_cannot_be_written_are_made_so(root: Path, results: Results) -> None:
    write(root, PROJECT_FILE, '{"label": "\\ud800<b>\\u0000"}')
    found = results.project("data-agent").value
    assert found is not None
    assert found.label == "\ufffd<b>\ufffd"
    (root / PROJECT_FILE).write_bytes(b'{"label": "\xed\xa0\x80"}')
    found = results.project("data-agent").value
    assert found is not None
    assert found.label == "\ufffd"


@pytest.mark.parametrize("written", ["é\U0001f600", "\\u00e9\\ud83d\\ude00"])
def test_texts_that_can_be_written_stay_as_they_are(root: Path, results: Results, written: str) -> None:
    write(root, PROJECT_FILE, f'{{"label": "{written}"}}')
    found = results.project("data-agent").value
    assert found is not None
    assert found.label == "é\U0001f600"


def test_metrics_grow_line_by_line(root: Path, results: Results) -> None:
    def steps() -> list[float | None]:
        found = results.metrics("data-agent", "rl-1").value
        return [step.step for step in found.steps] if found else []

    assert steps() == [3]
    with (root / METRICS_FILE).open("a") as file:
        file.write(line(4) + line(5)[:-10])
        file.flush()
        assert steps() == [3, 4]
        file.write(line(5)[-10:-1])
        file.flush()
        assert steps() == [3, 4, 5]
        file.write("\n" + line(6))
    assert steps() == [3, 4, 5, 6]
    assert results.metrics("data-agent", "rl-1").findings == ()
    write(root, METRICS_FILE, line(1) * 2)
    assert steps() == [1, 1]


def test_metrics_that_are_written_anew_are_read_anew_however_they_end(root: Path, results: Results) -> None:
    def first() -> float | None:
        found = results.metrics("data-agent", "rl-1").value
        return found.steps[0].step if found else None

    rest = "".join(map(line, range(2, 9)))
    file = write(root, METRICS_FILE, line(1) + rest)
    assert first() == 1
    write(root, "other.jsonl", line(0) + rest).replace(file)
    assert first() == 0
    before = file.stat().st_mtime_ns
    write(root, METRICS_FILE, line(1) + rest)
    os.utime(file, ns=(before + 1, before + 1))
    assert first() == 1


def test_lines_are_read_the_same_in_small_pieces(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(root, METRICS_FILE, "".join(map(line, range(50))))
    whole = Results(root).metrics("data-agent", "rl-1")
    monkeypatch.setattr(metrics_module, "CHUNK_BYTES", 300)
    assert Results(root).metrics("data-agent", "rl-1") == whole


def test_what_is_wrong_with_metrics_is_said_and_the_rest_is_read(root: Path, results: Results) -> None:
    content = [line(1), "{cut\n", "[2]\n", line(2, loss="nan", mine=7), "\n", line(1), "x" * 100_000 + "\n"]
    write(root, METRICS_FILE, "".join(content))
    found = results.metrics("data-agent", "rl-1")
    assert found.value is not None
    assert [(step.step, step.loss) for step in found.value.steps] == [(1, 0.279), (2, None), (1, 0.279)]
    assert found.value.steps[1].extra == {"mine": 7}
    said = [f"{entry.place} {entry.found}" for entry in found.findings]
    for part in (
        "line 2 is no JSON",
        "line 3 is no JSON",
        "line 4.loss is no",
        "step 1 after step 2",
        "line 7 has 100000",
    ):
        assert any(part in text for text in said), part
    assert len(said) == 5


def test_steps_that_go_back_or_come_twice_are_named_once(root: Path, results: Results) -> None:
    write(root, METRICS_FILE, line(1) + line(2) + line(2) + line(5))
    (finding,) = results.metrics("data-agent", "rl-1").findings
    assert finding.found == "has step 2 after step 2."
    with (root / METRICS_FILE).open("a") as file:
        file.write(line(3) + line(4))
    (finding,) = results.metrics("data-agent", "rl-1").findings
    assert finding.found == "has step 2 after step 2, and 1 more of that kind."


def test_steps_are_the_same_object_until_there_are_more(root: Path, results: Results) -> None:
    first = results.metrics("data-agent", "rl-1").value
    assert results.metrics("data-agent", "rl-1").value is first
    with (root / METRICS_FILE).open("a") as file:
        file.write(line(4)[:-1])
    half = results.metrics("data-agent", "rl-1").value
    assert first is not None
    assert half is not None
    assert (len(first.steps), len(half.steps)) == (1, 2)
    assert results.metrics("data-agent", "rl-1").value is half


def test_a_line_without_an_end_is_not_read_to_its_end(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics_module, "CHUNK_BYTES", 1000)
    write(root, METRICS_FILE, line(1) + "x" * 5000 + "\n" + line(2))
    found = Results(root).metrics("data-agent", "rl-1")
    assert found.value is not None
    assert [step.step for step in found.value.steps] == [1]
    assert "line 2: is beyond what is read" in f"{found.findings[0].place}: {found.findings[0].found}"


def test_as_many_bytes_of_files_are_remembered_as_there_is_room_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files_module, "KEPT_BYTES", 300)
    for name in "abc":
        write(tmp_path, f"in/{name}.json", {"text": name * 88})
    files, reader = Files(tmp_path), lambda document, notes: dict(document)

    def read(name: str) -> object:
        return files.read(f"in/{name}.json", NOTES_LIMIT, reader).value

    first = {name: read(name) for name in "abc"}
    assert [read(name) is first[name] for name in "abc"] == [True, True, True]
    write(tmp_path, "in/b.json", {"text": "longer" * 30})
    changed = read("b")
    assert [read(name) is first[name] for name in "ca"] == [True, False]
    assert read("b") is changed
    files.forget("in")
    assert [read(name) for name in "abc"] == [first["a"], changed, first["c"]]
