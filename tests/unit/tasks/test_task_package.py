"""The publish set, the content hash and the archive of a task."""

import io
import os
import socket
import tarfile
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from harbor.publisher.packager import Packager
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from oddish.errors import InvalidTask
from oddish.tasks.archive import unpack
from oddish.tasks.package import PublishedFile, content_hash, publish_set, write_archive
from unit.tasks.trees import TASK, Content, Link, Script, plant


def paths(files: list[PublishedFile]) -> list[str]:
    return [file.path for file in files]


def engine_paths(root: Path) -> list[str]:
    return [path.relative_to(root.resolve()).as_posix() for path in Packager.collect_files(root)]


def packed(files: list[PublishedFile]) -> bytes:
    buffer = io.BytesIO()
    write_archive(files, buffer)
    return buffer.getvalue()


PLACES = [
    "README.md",
    "trajectory.json",
    "notes.txt",
    "environment/app.pyc",
    "environment/keep/a.log",
    "environment/keep/b.txt",
    "environment/__pycache__/x",
    "environment/link",
    "environment/empty",
    "tests/data/a.log",
    "tests/data/b~",
    "tests/link",
    "solution/a.log",
    "steps/one/tests/a.log",
    "steps/one/workdir/setup.sh",
]
IGNORES = [
    "*.log\n",
    "data/\n",
    "/tests/data\n",
    "keep/*\n!keep/b.txt\n",
    "environment/\n!a.log\n",
    "*\n!task.toml\n",
    "",
]


def content_of(place: str) -> st.SearchStrategy[Content]:
    if place.endswith("link"):
        return st.sampled_from([Link("../instruction.md"), Link("test.sh"), Link("data/a.log"), Link("../README.md")])
    if place.endswith("empty"):
        return st.none()
    return st.sampled_from(["text", Script("run"), b"\x00\xff"])


trees = st.lists(st.sampled_from(PLACES), unique=True).flatmap(
    lambda places: st.fixed_dictionaries(
        {place: content_of(place) for place in sorted(places)},
        optional={
            ".gitignore": st.sampled_from(IGNORES),
            "tests/.harborignore": st.sampled_from(IGNORES),
            "steps/one/tests/.harborignore": st.sampled_from(IGNORES),
        },
    )
)


@given(trees)
@settings(max_examples=60, deadline=None)
@example({".gitignore": "keep/\n!keep/b.txt\n", "environment/keep/b.txt": "x"})
def test_the_engines_files_are_published_and_survive_the_journey(tree: dict[str, Content]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        root = plant(Path(scratch).resolve() / "task", {**TASK, **tree})
        expected = engine_paths(root)
        assume("task.toml" in expected)
        files = publish_set(root)
        readable = [
            file.path for file in files if file.kind == "file" or (file.kind == "symlink" and file.source.is_file())
        ]
        assert readable == expected

        arrived = Path(scratch) / "arrived"
        unpack(io.BytesIO(packed(files)), arrived)
        assert content_hash(publish_set(arrived)) == content_hash(files)
        assert paths(publish_set(arrived)) == paths(files)
        assert engine_paths(arrived) == expected
        assert Packager.compute_content_hash(arrived)[0] == Packager.compute_content_hash(root)[0]


def test_what_is_published(tmp_path: Path) -> None:
    tree: dict[str, Content] = {
        **TASK,
        ".gitignore": "*.log\n",
        "notes.txt": "left at home",
        "environment/a.pyc": "kept: the rules replace the defaults",
        "environment/empty": None,
        "environment/only/x.log": "",
        "tests/.harborignore": "secret\n",
        "tests/secret": "",
        "tests/link": Link("test.sh"),
    }
    files = {file.path: file for file in publish_set(plant(tmp_path / "task", tree))}
    assert list(files) == [
        *(".gitignore", "environment/Dockerfile", "environment/a.pyc", "environment/empty", "environment/only"),
        *("instruction.md", "solution/solve.sh", "task.toml", "tests/link", "tests/test.sh"),
    ]
    assert (files[".gitignore"].kind, files["environment/empty"].kind) == ("rules", "directory")
    assert (files["tests/link"].kind, files["tests/link"].target) == ("symlink", "test.sh")
    assert (files["tests/test.sh"].executable, files["instruction.md"].executable) == (True, False)


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("../tests/data", "../tests/data"),
        ("./../tests/./data", "../tests/data"),
        ("{root}/tests/data", "../tests/data"),
        ("nowhere", "nowhere"),
    ],
)
def test_links_inside_stay_links(tmp_path: Path, link: str, target: str) -> None:
    root = tmp_path.resolve() / "task"
    plant(root, {**TASK, "tests/data/x": "1", "environment/link": Link(link.format(root=root))})
    found = {file.path: file for file in publish_set(root)}["environment/link"]
    assert (found.kind, os.path.normpath(found.target or "")) == ("symlink", target)


def test_a_link_to_an_unpublished_file_becomes_the_file(tmp_path: Path) -> None:
    root = plant(tmp_path / "task", {**TASK, "shared/data": Script("abc"), "tests/link": Link("../shared/data")})
    found = {file.path: file for file in publish_set(root)}["tests/link"]
    assert (found.kind, found.size, found.executable, found.target) == ("file", 3, True, None)


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        ({"tests/out": Link("/etc/passwd")}, ["tests/out", "/etc/passwd", "outside of the task"]),
        ({"environment/up": Link("../../other")}, ["environment/up", "../../other"]),
        ({"environment/gone": Link("../../../nowhere")}, ["environment/gone", "../../../nowhere"]),
        ({"tests/out": Link("hop"), "tests/hop": Link("/etc")}, ["tests/", "outside of the task"]),
        ({"tests/loop": Link("loop")}, ["tests/loop", "leads to itself"]),
        ({"tests/dir": Link("../shared"), "shared/x": ""}, ["tests/dir", "shared/, which is not published"]),
        ({"environment/model.bin": "version https://git-lfs.github.com/spec/v1\noid sha256:0\n"}, ["git lfs pull"]),
        ({"tests/a\nb": ""}, ["'tests/a\\nb'", "control character"]),
        ({"tests/a\\b": ""}, ["backslash"]),
        ({".gitignore": "task.toml\n"}, ["task.toml is missing or ignored"]),
        ({".gitignore": "ok\n[z-a]\n"}, [".gitignore, line 2", "backwards"]),
        ({".gitignore": "x\n" * 40_000}, [".gitignore is larger than"]),
        ({".gitignore": Link("/etc/hostname")}, [".gitignore is not a regular file"]),
    ],
)
def test_what_cannot_travel_is_named(tmp_path: Path, tree: dict[str, Content], words: list[str]) -> None:
    with pytest.raises(InvalidTask) as refused:
        publish_set(plant(tmp_path / "task", {**TASK, **tree}))
    for word in words:
        assert word in str(refused.value)
    assert refused.value.fix


def test_special_files_and_undecodable_names_are_named(tmp_path: Path) -> None:
    root = plant(tmp_path / "task", TASK)
    os.mkfifo(root / "tests" / "pipe")
    with pytest.raises(InvalidTask, match=r"tests/pipe is a named pipe"):
        publish_set(root)
    (root / "tests" / "pipe").unlink()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(root / "tests" / "sock"))
        with pytest.raises(InvalidTask, match=r"tests/sock is a socket"):
            publish_set(root)
    (root / "tests" / "sock").unlink()
    (root / "tests" / os.fsdecode(b"\xff")).write_text("")
    with pytest.raises(InvalidTask, match=r"udcff' is not UTF-8"):
        publish_set(root)


def file_of(directory: Path, path: str, content: bytes, *, executable: bool = False) -> PublishedFile:
    source = directory / path.encode().hex()
    source.write_bytes(content)
    return PublishedFile(path, source, "file", size=len(content), executable=executable, target=None)


entry_names = st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=8)
contents = st.dictionaries(entry_names, st.tuples(st.binary(max_size=40), st.booleans()), max_size=5)


def hash_of(tree: dict[str, tuple[bytes, bool]], *, backwards: bool = False) -> str:
    with tempfile.TemporaryDirectory() as scratch:
        files = [file_of(Path(scratch), path, data, executable=flag) for path, (data, flag) in tree.items()]
        return content_hash(reversed(files) if backwards else files)


@given(contents)
@settings(max_examples=60, deadline=None)
def test_the_hash_does_not_depend_on_order(tree: dict[str, tuple[bytes, bool]]) -> None:
    assert hash_of(tree) == hash_of(tree, backwards=True)
    assert hash_of(tree).startswith("oddish1:")
    assert len(hash_of(tree)) == len("oddish1:") + 64


@given(contents, contents)
@settings(max_examples=100, deadline=None)
@example({"ab": (b"c", False)}, {"a": (b"bc", False)})
@example({"a": (b"", False), "b": (b"", False)}, {"a": (b"b", False)})
@example({"a": (b"x", False)}, {"a": (b"x", True)})
def test_different_trees_have_different_hashes(
    one: dict[str, tuple[bytes, bool]], other: dict[str, tuple[bytes, bool]]
) -> None:
    assert (hash_of(one) == hash_of(other)) == (one == other)


def test_kind_and_target_count_and_rules_do_not(tmp_path: Path) -> None:
    file = file_of(tmp_path, "a", b"")
    link = replace(file, kind="symlink", target="b")
    variants = [file, link, replace(link, target="c"), replace(file, kind="directory")]
    assert len({content_hash([variant]) for variant in variants}) == len(variants)
    assert content_hash([file, replace(file, path=".gitignore", kind="rules")]) == content_hash([file])


def test_times_owners_and_other_mode_bits_do_not_count(tmp_path: Path) -> None:
    root = plant(tmp_path / "task", TASK)
    before = content_hash(publish_set(root)), packed(publish_set(root))
    os.utime(root / "task.toml", (1, 1))
    (root / "instruction.md").chmod(0o666)
    assert (content_hash(publish_set(root)), packed(publish_set(root))) == before
    (root / "instruction.md").chmod(0o755)
    assert content_hash(publish_set(root)) != before[0]


def test_the_archive_is_plain(tmp_path: Path) -> None:
    root = plant(tmp_path / "task", {**TASK, "environment/empty": None, f"tests/{'long' * 40}": "x"})
    files = publish_set(root)
    assert packed(files) == packed(files[::-1])
    with tarfile.open(fileobj=io.BytesIO(packed(files))) as archive:
        members = archive.getmembers()
    assert [member.name for member in members] == paths(files)
    assert {(member.mtime, member.uid, member.gid, member.uname, member.gname) for member in members} == {
        (0, 0, 0, "", "")
    }
    assert {member.name: member.mode for member in members}["tests/test.sh"] == 0o755


def test_a_file_that_changes_meanwhile_is_named(tmp_path: Path) -> None:
    files = publish_set(plant(tmp_path / "task", TASK))
    for text in ("grown beyond what it was\n", ""):
        (tmp_path / "task" / "instruction.md").write_text(text)
        for use in (content_hash, packed):
            with pytest.raises(InvalidTask, match=r"instruction\.md changed while"):
                use(files)
    (tmp_path / "task" / "instruction.md").unlink()
    with pytest.raises(InvalidTask, match=r"instruction\.md cannot be read: No such file"):
        content_hash(files)
