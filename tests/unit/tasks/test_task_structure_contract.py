"""``load_task`` accepts exactly the directories that the engine considers valid and whose instructions it can read."""

import tempfile
from pathlib import Path

import pytest
from harbor.models.task.task import Task
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oddish.errors import InvalidTask
from oddish.tasks.definition import load_task
from unit.tasks.trees import TASK, Content, Link, Script, plant

CONFIGS = [
    "",
    "[agent]\ntimeout_sec = 5\n",
    "[environment]\ndocker_image = 'x'\n",
    "[environment]\nos = 'windows'\n",
    "[verifier]\nenvironment_mode = 'separate'\n",
    "[verifier.environment]\ndocker_image = 'v'\n",
    "[verifier.environment]\nos = 'windows'\n",
    "[[steps]]\nname = 'one'\n",
    "[[steps]]\nname = 'one'\n[[steps]]\nname = 'two'\n[steps.verifier]\nenvironment_mode = 'separate'\n",
    "[environment]\ndocker_image = 'x'\n[[steps]]\nname = 'one'\n[steps.verifier.environment]\ndocker_image = 'v'\n",
    "[environment]\nos = 'windows'\n[[steps]]\nname = 'two'\n[steps.verifier.environment]\nos = 'linux'\n",
    "steps = []\n",
    "not toml",
    "[agent]\ntimeout_sec = 'soon'\n",
]
PLACES = [
    "instruction.md",
    "environment",
    "environment/Dockerfile",
    "environment/docker-compose.yaml",
    "environment/link",
    "tests",
    "tests/test.sh",
    "tests/test.bat",
    "tests/Dockerfile",
    "tests/link",
    "tests/.harborignore",
    "solution/solve.sh",
    "solution/link",
    "solution/.harborignore",
    "steps/one",
    "steps/one/instruction.md",
    "steps/one/tests/test.sh",
    "steps/one/tests/test.bat",
    "steps/one/tests/docker-compose.yaml",
    "steps/one/tests/.harborignore",
    "steps/one/link",
    "steps/two/instruction.md",
    "steps/two/tests/test.sh",
]
LINKS = ["../instruction.md", "..", ".", "/etc/passwd", "../../outside", "nowhere", "test.sh", "../tests", "link"]
IGNORES = ["*.sh\n", "test.sh\n!test.sh\n", "link\n", "/test.*", "# nothing\n", "[", "\\", "*\n", "!", ""]


def content_of(place: str) -> st.SearchStrategy[Content]:
    if place.endswith("link"):
        return st.sampled_from([Link(target) for target in LINKS])
    if place.endswith(".harborignore"):
        return st.sampled_from([*IGNORES, None, b"\xff", Link("test.sh"), Link("/etc/hostname")])
    if place.rpartition("/")[2] in ("environment", "tests", "one"):
        return st.none()
    return st.sampled_from(["text", "text", Script(), None, Link("/etc/hostname"), Link("nowhere")])


trees = st.lists(st.sampled_from(PLACES), unique=True).flatmap(
    lambda places: st.fixed_dictionaries({place: content_of(place) for place in sorted(places)})
)


def engine_accepts(root: Path, *, disable_verification: bool) -> bool:
    if not Task.is_valid_dir(root, disable_verification=disable_verification):
        return False
    try:
        task = Task(root, disable_verification=disable_verification)
        for step in task.config.steps or []:
            task.step_instruction(step.name)
    except (OSError, ValueError, RuntimeError):
        return False
    return True


def verdict(root: Path, *, disable_verification: bool) -> str:
    try:
        load_task(root, disable_verification=disable_verification)
    except InvalidTask as error:
        return str(error)
    return ""


def agree(tree: dict[str, Content]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        root = plant(Path(scratch).resolve() / "task", tree)
        for disable_verification in (False, True):
            ours = verdict(root, disable_verification=disable_verification)
            engines = engine_accepts(root, disable_verification=disable_verification)
            assert (not ours) == engines, (tree, disable_verification, ours)


def has_room(tree: dict[str, Content]) -> bool:
    """Whether nothing lies below an entry that is no directory."""
    return not any(
        tree.get("/".join(parts[:depth])) is not None
        for parts in (place.split("/") for place in tree)
        for depth in range(1, len(parts))
    )


@given(st.sampled_from(CONFIGS), trees)
@settings(max_examples=100, deadline=None)
def test_generated_directories(config: str, tree: dict[str, Content]) -> None:
    assume(has_room(tree))
    agree({**tree, "task.toml": config})


@given(st.sampled_from(CONFIGS), st.sampled_from(PLACES), st.data())
@settings(max_examples=100, deadline=None)
def test_one_change_to_a_good_task(config: str, place: str, data: st.DataObject) -> None:
    tree: dict[str, Content] = {
        **TASK,
        "task.toml": config,
        "steps/one/instruction.md": "One.",
        "steps/two/instruction.md": "Two.",
    }
    if data.draw(st.booleans()):
        tree[place] = data.draw(content_of(place))
    else:
        tree.pop(place, None)
    assume(has_room(tree))
    agree(tree)


@pytest.mark.parametrize("config", CONFIGS)
def test_a_complete_task(config: str) -> None:
    agree({**TASK, "task.toml": config})
