"""What a Dockerfile comes to in the local sandbox, and what it refuses."""

import pytest

from oddish.errors import InvalidTask
from oddish.sandbox.dockerfile import parse
from oddish.sandbox.plan import Copy, MakeDirectory, Plan, Run, make
from oddish.sandbox.spec import PATH


def plan(text: str, arguments: dict[str, str] | None = None) -> Plan:
    return make(parse(text), arguments)


def runs(text: str) -> list[Run]:
    return [step for step in plan(text).steps if isinstance(step, Run)]


def copies(text: str) -> list[Copy]:
    return [step for step in plan(text).steps if isinstance(step, Copy)]


def test_the_state_of_the_last_line_is_that_of_commands() -> None:
    made = plan('FROM x\nENV A=1 B="two words"\nENV OLD style value\nWORKDIR /app\nWORKDIR sub\nUSER me\n')
    assert made.env == {"PATH": PATH, "A": "1", "B": "two words", "OLD": "style value"}
    assert (made.workdir, made.user) == ("/app/sub", "me")
    assert [step.path for step in made.steps if isinstance(step, MakeDirectory)] == ["/app", "/app/sub"]


def test_the_base_image_is_this_machine_and_said_so() -> None:
    assert plan("ARG V=1\nFROM debian:$V AS only\n").notes == [
        "line 2: this machine's own system stands in for the image debian:1"
    ]


def test_a_step_has_the_state_of_its_own_line() -> None:
    first, second = runs("FROM x\nENV A=1\nRUN one\nENV A=2\nWORKDIR /w\nUSER u\nRUN two\n")
    assert (dict(first.env)["A"], first.cwd, first.user) == ("1", "/", "root")
    assert (dict(second.env)["A"], second.cwd, second.user) == ("2", "/w", "u")


def test_shell_and_exec_form() -> None:
    steps = runs('FROM x\nRUN a && b\nRUN ["c", "d e"]\nSHELL ["/bin/bash", "-ec"]\nRUN f\n')
    assert [step.argv for step in steps] == [("/bin/sh", "-c", "a && b"), ("c", "d e"), ("/bin/bash", "-ec", "f")]


def test_a_here_document_is_the_script_or_follows_its_command() -> None:
    script, following = runs("FROM x\nRUN <<EOF\na\nb\nEOF\nRUN cat <<EOF > /f\nc\nEOF\n")
    assert script.argv[-1] == "a\nb\n"
    assert following.argv[-1] == "cat <<EOF > /f\nc\nEOF\n"


def test_arguments_are_seen_by_steps_and_can_be_given() -> None:
    text = "FROM x\nARG WHO=nobody\nARG UNSET\nRUN hello\n"
    assert dict(runs(text)[0].env)["WHO"] == "nobody"
    given = plan(text, {"WHO": "you", "OTHER": "ignored"}).steps[0]
    assert isinstance(given, Run)
    assert dict(given.env)["WHO"] == "you"
    assert "OTHER" not in dict(given.env)
    assert "WHO" not in plan(text).env


def test_variables_of_one_env_line_see_those_before_it_only() -> None:
    assert plan("FROM x\nENV A=1\nENV A=2 B=$A\n").env["B"] == "1"


@pytest.mark.parametrize(
    ("line", "sources", "target"),
    [
        ("COPY a b", ("a",), "/w/b"),
        ("COPY a b/", ("a",), "/w/b/"),
        ("COPY a .", ("a",), "/w/"),
        ("COPY a b /c/", ("a", "b"), "/c/"),
        ('COPY ["a b", "/c d"]', ("a b",), "/c d"),
        ("COPY $DIR/x /y", ("d/x",), "/y"),
    ],
)
def test_copy_targets_are_absolute(line: str, sources: tuple[str, ...], target: str) -> None:
    (step,) = copies(f"FROM x\nENV DIR=d\nWORKDIR /w\n{line}\n")
    assert (step.sources, step.target) == (sources, target)


def test_copy_of_a_here_document() -> None:
    (step,) = copies("FROM x\nENV A=1\nCOPY <<conf /etc/conf\na=$A\nconf\n")
    assert (step.sources, step.texts, step.target) == ((), (("conf", "a=1\n"),), "/etc/conf")


def test_what_only_an_image_needs_is_ignored_and_what_matters_is_noted() -> None:
    made = plan('FROM x\nLABEL a=b\nEXPOSE 80\nCMD ["x"]\nMAINTAINER me\nENTRYPOINT ["y"]\nHEALTHCHECK CMD true\n')
    assert made.steps == []
    assert [note.partition(":")[0] for note in made.notes] == ["line 1", "line 6", "line 7"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("FROM a\nFROM b\n", r"line 2: a second FROM .* line 1.*docker environment"),
        ("FROM a\nCOPY --from=b /x /y\n", r"line 2: COPY --from=b"),
        ("FROM a\nADD https://h/x /y\n", r"line 2: ADD from 'https://h/x'"),
        ("FROM a\nRUN --mount=type=secret,id=k true\n", r"line 2: RUN --mount"),
        ("FROM a\nRUN --network=none true\n", r"line 2: RUN --network"),
        ("FROM a\nCOPY --parents a b\n", r"line 2: COPY --parents"),
        ("FROM a\nFETCH x\n", r"line 2: unknown instruction 'FETCH'"),
        ("FROM a\nCOPY x\n", r"line 2: COPY needs"),
        ("FROM a\nENV A\n", r"line 2: ENV A has no value"),
        ("FROM a\nSHELL bash\n", r"line 2: SHELL needs"),
        ("RUN x\n", r"line 1: RUN before FROM"),
        ("FROM\n", r"line 1: FROM without"),
        ("", r"no FROM"),
        ("FROM x\nCOPY --chmod=u+x a /b\n", "line 2: COPY --chmod=u"),
    ],
)
def test_what_cannot_be_done_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(InvalidTask, match=message):
        plan(text)


def test_cache_mounts_of_a_step_are_no_obstacle() -> None:
    assert runs("FROM a\nRUN --mount=type=cache,target=/c make\n")[0].argv[-1] == "make"
