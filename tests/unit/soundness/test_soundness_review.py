"""What a task's files say about it, before anything runs."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from oddish.soundness import files, parts
from oddish.soundness.contents import Content, Contents
from oddish.soundness.review import Review, review
from oddish.soundness.verdict import Check, failed, ok, together, unchecked, verdict, warning

EXAMPLES = Path(__file__).parents[3] / "examples"
CONFIG = 'schema_version = "1.4"\n[agent]\ntimeout_sec = 60.0\n[verifier]\ntimeout_sec = 30.0\n'
TASK = {
    "task.toml": CONFIG,
    "instruction.md": "Do it.\n",
    "environment/Dockerfile": "FROM debian:bookworm-slim\nWORKDIR /app\n",
    "solution/solve.sh": "#!/bin/sh\ntouch done\n",
    "tests/test.sh": "#!/bin/sh\necho 1 > /logs/verifier/reward.txt\n",
}
STEPS = CONFIG + '[[steps]]\nname = "one"\n[[steps]]\nname = "two"\n'

type Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a sound task with ``changes`` to its files: contents by path, None to leave one out."""

    def make(name: str = "task", **changes: str | bytes | None) -> Path:
        for path, content in (TASK | changes).items():
            if content is not None:
                file = tmp_path / name / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content.encode() if isinstance(content, str) else content)
        return tmp_path / name

    return make


def one(directory: Path, environment: str | None = None) -> Review:
    (found,) = review([directory], environment)
    return found


def amiss(found: Review) -> list[Check]:
    return [check for check in found.checks if check.level != "ok"]


def only(found: Review) -> Check:
    (check,) = amiss(found)
    return check


def test_every_example_has_nothing_amiss_in_its_files() -> None:
    directories = sorted(path.parent for path in EXAMPLES.glob("*/task.toml"))
    found = review(directories)
    assert [entry.name for entry in found] == [path.name for path in directories]
    assert [amiss(entry) for entry in found] == [[]] * len(directories)
    assert all(entry.sendable and entry.has_solution for entry in found)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"task.toml": None}, "task.toml is missing"),
        ({"task.toml": "[agent"}, "not valid TOML"),
        ({"task.toml": "[agent]\ntimeout_sec = 'soon'"}, "agent.timeout_sec"),
        ({"task.toml": "[agent]\ntimeout_sec = 0"}, "agent.timeout_sec is 0"),
        ({"instruction.md": None}, "instruction.md is missing"),
        ({"tests/test.sh": None}, "tests/test.sh is missing"),
        ({"instruction.md": b"\xff"}, "not UTF-8"),
    ],
)
def test_what_no_server_would_take_is_the_only_finding(write: Write, changes: dict[str, str | None], said: str) -> None:
    found = one(write(**changes))
    assert (found.sendable, found.definition) == (False, None)
    assert (only(found).name, only(found).level) == ("structure", "failed")
    assert said in only(found).found
    assert only(found).fix


def test_an_unknown_key_is_a_warning_with_the_key_that_was_meant(write: Write) -> None:
    check = only(one(write(**{"task.toml": CONFIG.replace("[verifier]\ntimeout_sec", "[verifier]\ntimeout_secs")})))
    assert (check.name, check.level) == ("keys", "warning")
    assert "verifier.timeout_secs" in check.found
    assert check.fix == "Write verifier.timeout_sec."


def test_an_empty_instruction_fails(write: Write) -> None:
    check = only(one(write(**{"instruction.md": " \n\n"})))
    assert (check.name, check.level) == ("instruction", "failed")


def test_without_a_solution_nothing_shows_that_a_task_can_be_solved(write: Write) -> None:
    found = one(write(**{"solution/solve.sh": None}))
    assert (only(found).name, only(found).level) == ("solution", "failed")
    assert found.sendable
    assert not found.has_solution


def test_each_step_has_a_solution_of_its_own_or_that_of_the_task(write: Write) -> None:
    steps = {
        "task.toml": STEPS,
        "steps/one/instruction.md": "One.\n",
        "steps/two/instruction.md": " ",
        "steps/one/solution/solve.sh": "true\n",
        "steps/one/tests/test.sh": "exit\n",
    }
    found = one(write(**steps))
    assert [check.name for check in amiss(found)] == ["instruction"]
    assert "steps/two/instruction.md" in amiss(found)[0].found
    (found.directory / "steps/two/solution").mkdir()
    without = next(check for check in one(found.directory).checks if check.name == "solution")
    assert "steps/two/solution/solve.sh" in without.found


def test_tests_that_never_mention_a_reward_file_are_warned_of(write: Write) -> None:
    check = only(one(write(**{"tests/test.sh": "#!/bin/sh\npytest\n"})))
    assert (check.name, check.level) == ("reward", "warning")
    assert (
        amiss(one(write("other", **{"tests/test.sh": "python3 /tests/run.py\n", "tests/run.py": "'reward.json'\n"})))
        == []
    )


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ('schema_version = "1.4"\n', "agent.timeout_sec is not set"),
        (CONFIG.replace("60.0", "86400.0"), "agent.timeout_sec is 86400 s"),
        (CONFIG + "[environment]\nbuild_timeout_sec = 99999\n", "environment.build_timeout_sec is 99999 s"),
    ],
)
def test_time_limits_that_are_missing_or_too_long_are_warned_of(write: Write, config: str, said: str) -> None:
    check = only(one(write(**{"task.toml": config})))
    assert (check.name, check.level) == ("time limits", "warning")
    assert said in check.found


DOCKER_ONLY = "FROM debian AS build\nFROM debian\nCOPY --from=build /a /b\n"


def test_what_the_local_sandbox_refuses_depends_on_where_the_trials_run(write: Write) -> None:
    task = write(**{"environment/Dockerfile": DOCKER_ONLY})
    anywhere, local, docker = one(task), one(task, "local"), one(task, "docker")
    assert (only(anywhere).name, only(anywhere).level) == ("environment", "warning")
    assert "line 2" in only(anywhere).found
    assert "-e docker" in str(only(anywhere).fix)
    assert (only(local).level, local.sendable) == ("failed", False)
    assert (amiss(docker), docker.sendable) == ([], True)
    assert anywhere.local_obstacle == docker.local_obstacle == only(anywhere).found


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("[environment]\ngpus = 1\n", "GPUs"),
        ('[environment]\nnetwork_mode = "allowlist"\nallowed_hosts = ["example.com"]\n', "list of allowed hosts"),
        ('[environment]\ntpu = { type = "v5e", topology = "2x2" }\n', "no TPU"),
    ],
)
def test_what_the_local_sandbox_has_not_is_named(write: Write, config: str, said: str) -> None:
    check = only(one(write(**{"task.toml": CONFIG + config})))
    assert check.level == "warning"
    assert said in check.found


def test_services_need_a_container_engine(write: Write) -> None:
    check = only(one(write(**{"environment/docker-compose.yaml": "services: {}\n"})))
    assert "docker-compose.yaml" in check.found


def test_commands_for_an_image_that_the_machine_is_not_are_doubtful_in_the_local_sandbox(write: Write) -> None:
    task = write(**{"environment/Dockerfile": "FROM somewhere/python:3.99-slim\nRUN pip install flask\n"})
    for environment in (None, "local"):
        found = one(task, environment)
        assert (only(found).name, only(found).level, found.sendable) == ("environment", "warning", True)
        assert "in place of somewhere/python:3.99-slim" in only(found).found
        assert "-e docker" in str(only(found).fix)
        assert found.local_obstacle is None
    assert amiss(one(task, "docker")) == []


@pytest.mark.parametrize(
    ("dockerfile", "said"),
    [
        ("FROM debian\nCOPY missing.txt /app/\n", "missing.txt"),
        ("FROM debian\nCOPPY a b\n", "line 2"),
        ("RUN true\n", "FROM"),
    ],
)
def test_a_dockerfile_that_no_engine_builds_fails_everywhere(write: Write, dockerfile: str, said: str) -> None:
    task = write(**{"environment/Dockerfile": dockerfile})
    for environment in (None, "local", "docker"):
        check = only(one(task, environment))
        assert (check.name, check.level) == ("environment", "failed")
        assert said in check.found


def test_the_image_of_a_verifier_is_looked_at_too(write: Write) -> None:
    check = only(one(write(**{"tests/Dockerfile": "FROM debian\nCOPY nothing /x\n"})))
    assert check.found.startswith("tests/Dockerfile: ")


def test_an_environment_has_to_come_from_somewhere(write: Write) -> None:
    nothing = {"environment/Dockerfile": None, "environment/data.txt": "1\n"}
    check = only(one(write(**nothing)))
    assert (check.name, check.level) == ("environment", "failed")
    image = CONFIG + '[environment]\ndocker_image = "debian"\n'
    assert amiss(one(write("other", **(nothing | {"task.toml": image})))) == []


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"


def test_git_lfs_pointers_are_all_named(write: Write) -> None:
    found = one(write(**{"environment/a.bin": POINTER, "tests/b.bin": POINTER}))
    assert only(found).found == "Git LFS pointers instead of files: environment/a.bin, tests/b.bin."
    assert only(found).fix == "Run: git lfs pull"
    assert not found.sendable


def test_a_link_out_of_the_task_and_a_name_that_is_no_text_cannot_travel(write: Write) -> None:
    task = write()
    (task / "environment" / "out").symlink_to("/etc/passwd")
    assert "symbolic link" in only(one(task)).found
    (task / "environment" / "out").unlink()
    Path(os.fsdecode(os.fsencode(task / "environment") + b"/\xff")).write_text("")
    assert "not UTF-8" in only(one(task)).found


def test_windows_line_ends_in_scripts_fail_and_elsewhere_do_not_matter(write: Write) -> None:
    sound = write(**{"environment/data.csv": "a\r\nb\r\n", "environment/tool.py": "print(1)\r\n"})
    assert amiss(one(sound)) == []
    for path, content in (
        ("tests/test.sh", "echo 1 > /logs/verifier/reward.txt\r\n"),
        ("solution/tool", "#!/usr/bin/env bash\ntrue\r\n"),
        ("tests/run.py", "#!/usr/bin/env python3\r\nprint(1)\r\n"),
    ):
        check = only(one(write(path.replace("/", "-"), **{path: content})))
        assert (check.name, check.level) == ("scripts", "failed")
        assert path in check.found


def test_a_missing_execute_bit_does_not_matter(write: Write) -> None:
    task = write()
    assert not (task / "tests/test.sh").stat().st_mode & 0o111
    assert amiss(one(task)) == []


KEYS = {
    "environment/.env": "A=1\n",
    "tests/id_rsa": "x\n",
    "tests/key.pem": "-----BEGIN RSA PRIVATE KEY-----\nMII\n",
    "environment/config.json": '{"aws": "AKIA' + "ABCDEFGHIJKLMNOP" + '"}\n',
    "solution/call.py": "KEY = 'sk-ant-" + "a1B2" * 10 + "'\n",
    "tests/hub.txt": "ghp_" + "a1B2" * 9 + "\n",
}


@pytest.mark.parametrize("path", KEYS)
def test_what_looks_like_a_secret_is_a_warning_that_does_not_repeat_it(write: Write, path: str) -> None:
    check = only(one(write(**{path: KEYS[path]})))
    assert (check.name, check.level) == ("secrets", "warning")
    assert path in check.found
    assert KEYS[path].strip() not in f"{check.found}{check.fix}"


def test_examples_of_settings_and_public_certificates_are_no_secrets(write: Write) -> None:
    harmless = {"environment/.env.example": "KEY=\n", "tests/ca.pem": "-----BEGIN CERTIFICATE-----\nMII\n"}
    assert amiss(one(write(**harmless))) == []


def test_ignored_files_are_not_looked_at(write: Write) -> None:
    assert amiss(one(write(**{".gitignore": ".env\n", "environment/.env": "A=1\n"}))) == []


def test_large_files_and_large_tasks_are_warned_of() -> None:
    contents = [Content(f"environment/{number}", 60 * files.MIB, b"") for number in range(9)]
    large, total = files.check_files(Contents(tuple(contents), None))
    assert (large.level, total.level) == ("warning", "warning")
    assert "environment/0 (60 MiB)" in large.found
    assert "and 4 more" in large.found
    assert "540 MiB" in total.found


def test_directories_of_one_name_would_be_versions_of_one_task(write: Write, tmp_path: Path) -> None:
    first, second = write("a/task"), write("b/task")
    found = review([first, second])
    assert [entry.sendable for entry in found] == [True, False]
    assert str(first) in amiss(found[1])[0].found


def test_the_deadline_that_limits_are_compared_with_is_the_default_of_a_deployment() -> None:
    from oddish.settings import Settings

    assert Settings.model_fields["attempt_deadline_seconds"].default == parts.DEADLINE_SECONDS


@pytest.mark.parametrize(
    ("checks", "expected"),
    [
        ([], "sound"),
        ([ok("a", "x"), warning("b", "x")], "sound"),
        ([ok("a", "x"), unchecked("b", "x")], "unchecked"),
        ([unchecked("a", "x"), failed("b", "x")], "unsound"),
    ],
)
def test_a_failed_check_decides_then_one_that_could_not_be_made(checks: list[Check], expected: str) -> None:
    assert verdict(checks) == expected


def test_a_set_of_tasks_is_as_sound_as_its_worst() -> None:
    assert together(["sound", "unchecked", "unsound"]) == "unsound"
    assert together(["sound", "unchecked"]) == "unchecked"
    assert together([]) == "sound"
