"""What follows from a dataset is worked out once for each version of its file."""

from pathlib import Path

from oddish.viewer.results import Results
from oddish.viewer.versions import KEPT, Versions
from support.results import DATASET, KEY, PROJECT, cell, dataset, write

PLACE = ("data-agent", "eval-v1")
SUMMARY = f"{DATASET}/summary.json"


def test_a_file_that_stays_is_worked_out_once_and_one_that_changes_anew(tmp_path: Path) -> None:
    write(tmp_path, "projects/data-agent/project.json", PROJECT)
    write(tmp_path, SUMMARY, dataset({KEY: cell([1.0])}))
    versions = Versions(Results(tmp_path))
    first = versions.of(*PLACE).value
    assert first is not None
    assert versions.of(*PLACE).value is first
    assert first.standings("both") is first.standings("both")
    write(tmp_path, SUMMARY, dataset({KEY: cell([0.0, 0.0])}))
    second = versions.of(*PLACE).value
    assert second is not None
    assert [of.standings("both")[KEY].rates[0].share for of in (first, second)] == [1, 0]


def test_a_file_that_breaks_leaves_the_last_version_with_a_word_about_it(tmp_path: Path) -> None:
    write(tmp_path, SUMMARY, dataset({KEY: cell([1.0])}))
    versions = Versions(Results(tmp_path))
    first = versions.of(*PLACE).value
    write(tmp_path, SUMMARY, '{"k_max": 4, "tas')
    reading = versions.of(*PLACE)
    assert (reading.value, reading.is_stale) == (first, True)
    assert [finding.level for finding in reading.findings] == ["error"]


def test_a_dataset_that_is_not_there_has_no_version(tmp_path: Path) -> None:
    reading = Versions(Results(tmp_path)).of(*PLACE)
    assert reading.value is None
    assert reading.findings


def test_what_is_remembered_is_bounded(tmp_path: Path) -> None:
    names = [f"eval-{number}" for number in range(KEPT + 1)]
    for name in names:
        write(tmp_path, f"projects/p/datasets/{name}/summary.json", dataset({KEY: cell([1.0]), "b|y": cell([0.0])}))
    versions = Versions(Results(tmp_path))
    found = [versions.of("p", name).value for name in names]
    assert versions.of("p", names[-1]).value is found[-1]
    assert versions.of("p", names[0]).value is not found[0]
    first, second = found[0].table.columns("both") if found[0] else ()
    made = [found[0].comparison("both", first, second) for _ in range(2)] if found[0] else []
    assert made[0] is made[1]
