"""How a run names another Harbor, and what of that is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oddish.errors import OddishError
from oddish.variants.reference import ClosedSource, InvalidReference, Reference
from oddish.variants.resolution import chosen_commit, git_environment

HOME = "https://github.com/laude-institute/harbor"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("text", "source", "ref", "sha"),
    [
        ("0.25.0", "package", "0.25.0", "0.25.0"),
        ("==0.25.0", "package", "0.25.0", "0.25.0"),
        ("harbor==0.26.0rc1", "package", "0.26.0rc1", "0.26.0rc1"),
        ("main", HOME, "main", None),
        ("v0.25.0", HOME, "v0.25.0", None),
        ("feature/faster-start", HOME, "feature/faster-start", None),
        (COMMIT, HOME, COMMIT, COMMIT),
        ("org/fork@main", "https://github.com/org/fork", "main", None),
        (f"org/fork@{COMMIT}", "https://github.com/org/fork", COMMIT, COMMIT),
        ("https://example.com/a/b.git@main", "https://example.com/a/b", "main", None),
        ("git+https://example.com/a/b@main", "https://example.com/a/b", "main", None),
        ("/srv/git/harbor.git@main", "file:///srv/git/harbor.git", "main", None),
        ("file:///srv/git/harbor.git@main", "file:///srv/git/harbor.git", "main", None),
    ],
)
def test_a_reference_names_a_release_or_a_place_in_a_repository(
    text: str, source: str, ref: str, sha: str | None
) -> None:
    assert Reference.parse(text, repository=HOME) == Reference(source, ref, sha)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "@main",
        "main@",
        "abc1234",
        "-upload-pack=touch",
        "--output=x",
        "a..b",
        "main lock",
        "https://user:secret@example.com/a/b@main",
        "https://token@example.com/a/b@main",
        "ssh://git@example.com/a/b@main",
        "git@example.com:a/b.git@main",
        "git://example.com/a@main",
        "http://example.com/a@main",
        "ext::sh -c touch@main",
        "https://example.com/a?x=1@main",
        "https://example.com/a#b@main",
        "https:///a/b@main",
        "file://host/a/b@main",
        "file:///a/../b@main",
        "https://example.com/a/-b@main",
        "a/b/c@main",
    ],
)
def test_what_names_no_harbor_is_refused(text: str) -> None:
    with pytest.raises(InvalidReference) as refused:
        Reference.parse(text, repository=HOME)
    assert refused.value.fix
    assert "secret" not in str(refused.value)


def test_a_commit_cut_short_is_said_to_be_one() -> None:
    with pytest.raises(InvalidReference, match="cut short"):
        Reference.parse("org/fork@0123abc", repository=HOME)


@given(st.text(max_size=60))
def test_any_text_is_a_reference_or_refused_by_name(text: str) -> None:
    try:
        reference = Reference.parse(text, repository=HOME)
    except OddishError:
        return
    assert not reference.ref.startswith("-")
    assert reference.source == "package" or reference.source.startswith(("https://", "file:///"))


def test_a_block_names_it_by_ref_and_source() -> None:
    assert Reference.asked_for({}, repository=HOME) is None
    assert Reference.asked_for({"ref": "main"}, repository=HOME) == Reference(HOME, "main")
    fork = Reference("https://github.com/org/fork", "v1")
    assert Reference.asked_for({"source": "org/fork", "ref": "v1"}, repository=HOME) == fork
    assert Reference.asked_for({"source": "package", "ref": "0.25.0"}, repository=HOME) == Reference(
        "package", "0.25.0", "0.25.0"
    )
    for block in (
        {"source": "org/fork"},
        {"ref": 1},
        {"source": [], "ref": "main"},
        {"source": "package", "ref": "main"},
    ):
        with pytest.raises(InvalidReference):
            Reference.asked_for(block, repository=HOME)


def test_a_deployment_runs_only_what_it_allows_and_a_local_one_anything() -> None:
    fork = Reference.parse("org/fork@main", repository=HOME)
    fork.check([], local=True)
    fork.check(["https://github.com/org/*"], local=False)
    for allowed in ([], ["package"], ["https://github.com/laude-institute/*"], ["https://github.com/org"]):
        with pytest.raises(ClosedSource, match="ODDISH_HARBOR_SOURCES"):
            fork.check(allowed, local=False)
    Reference.parse("0.25.0", repository=HOME).check(["package"], local=False)


def test_a_resolved_reference_survives_being_kept() -> None:
    fork = Reference.parse("org/fork@main", repository=HOME).resolved(COMMIT)
    assert Reference.from_record(fork.record()) == fork
    assert Reference.from_record({"verifier": {"disable": True}}) is None
    assert fork.requirement == f"harbor @ git+https://github.com/org/fork@{COMMIT}"
    assert Reference.parse("0.25.0", repository=HOME).requirement == "harbor==0.25.0"
    with pytest.raises(ValueError, match="not resolved"):
        Reference.parse("main", repository=HOME).record()


def test_a_tag_goes_before_a_branch_and_stands_for_its_commit() -> None:
    branch, tag, tagged = "1" * 40, "2" * 40, "3" * 40
    lines = [f"{branch}\trefs/heads/v1", f"{tag}\trefs/tags/v1", f"{tagged}\trefs/tags/v1^{{}}"]
    assert chosen_commit(lines, "v1") == tagged
    assert chosen_commit(lines[:2], "v1") == tag
    assert chosen_commit(lines[:1], "v1") == branch
    assert chosen_commit(lines, "v2") is None


def test_git_reads_no_configuration_and_speaks_one_protocol() -> None:
    environment = git_environment("https", {"PATH": "/bin", "GIT_SSH_COMMAND": "touch x", "ODDISH_SECRET_KEY": "s"})
    assert environment["GIT_ALLOW_PROTOCOL"] == "https"
    assert environment["GIT_CONFIG_NOSYSTEM"] == "1"
    assert not {"GIT_SSH_COMMAND", "ODDISH_SECRET_KEY"} & environment.keys()
