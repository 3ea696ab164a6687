"""What a Dockerfile comes to in the local sandbox, and what it refuses."""

import subprocess
from pathlib import Path

import pytest

from oddish.errors import InvalidTask
from oddish.sandbox.dockerfile import parse
from oddish.sandbox.plan import Copy, Healthcheck, MakeDirectory, Plan, Run, make
from oddish.sandbox.platforms import current
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


def test_the_image_of_from_is_kept_with_its_variables_replaced() -> None:
    made = plan("ARG V=1\nFROM --platform=linux/amd64 debian:$V AS only\n")
    assert (made.image, made.platform) == ("debian:1", "linux/amd64")


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


def test_what_only_an_image_needs_is_ignored() -> None:
    made = plan('FROM x\nLABEL a=b\nEXPOSE 80\nCMD ["x"]\nMAINTAINER me\nSTOPSIGNAL 9\nONBUILD RUN x\n')
    assert (made.steps, made.notes, made.entrypoint) == ([], [], ())


@pytest.mark.parametrize(
    ("lines", "argv"),
    [
        ('ENTRYPOINT ["/entry.sh", "$X"]', ("/entry.sh", "$X")),
        ("ENTRYPOINT exec server", ("/bin/sh", "-c", "exec server")),
        ('SHELL ["/bin/bash", "-c"]\nENTRYPOINT server', ("/bin/bash", "-c", "server")),
        ("ENTRYPOINT first\nENTRYPOINT last", ("/bin/sh", "-c", "last")),
    ],
)
def test_an_entry_script_is_given_the_command_that_a_container_is_given(lines: str, argv: tuple[str, ...]) -> None:
    assert plan(f"FROM x\n{lines}\n").entrypoint == (*argv, "sh", "-c", "sleep infinity")


def test_an_empty_entry_point_takes_the_earlier_one_away() -> None:
    assert plan("FROM x\nENTRYPOINT first\nENTRYPOINT []\n").entrypoint == ()


def test_the_last_healthcheck_counts() -> None:
    shell = plan("FROM x\nHEALTHCHECK --interval=1m30s --timeout=500ms --start-period=2s --retries=5 CMD a || exit 1\n")
    assert shell.healthcheck == Healthcheck("a || exit 1", interval=90, timeout=0.5, start_period=2, retries=5)
    argv = plan('FROM x\nHEALTHCHECK NONE\nHEALTHCHECK CMD ["a", "it\'s"]\n')
    assert argv.healthcheck == Healthcheck("'a' 'it'\\''s'")
    assert plan("FROM x\nHEALTHCHECK CMD a\nHEALTHCHECK NONE\n").healthcheck is None


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
        ("FROM x\nADD --checksum=sha256:1 a /b\n", "line 2: ADD --checksum"),
        ("FROM x\nCOPY --exclude=*.md . /b\n", "line 2: COPY --exclude"),
        ("FROM x\nADD git@example.org:a/b.git /b\n", "line 2: ADD from 'git@example.org:a/b.git'"),
        ("FROM a\nRUN --security=insecure true\n", r"line 2: RUN --security"),
        ("FROM a\nRUN --mount=source=x,target=/y true\n", r"line 2: RUN --mount=source=x"),
        ("FROM a\nRUN --mount=type=ssh true\n", r"line 2: RUN --mount=type=ssh"),
        ("FROM a\nRUN --device=gpu true\n", r"line 2: RUN --device"),
        ("FROM a\nRUN\n", "line 2: RUN without"),
        ("FROM a\nENV A=${B\n", "line 2: ENV: .*closing brace"),
        ("FROM a\nENV A=${B:?must be set}\n", "line 2: ENV: B: must be set"),
        ("FROM a\nENV A=${B/x/y}\n", "line 2: ENV: .*unknown modifier"),
        ("FROM a\nHEALTHCHECK CMD\n", "line 2: HEALTHCHECK is neither"),
        ("FROM a\nHEALTHCHECK --interval=soon CMD a\n", "line 2: HEALTHCHECK cannot be read: 'soon'"),
        ("FROM a\nHEALTHCHECK --retry=1 CMD a\n", "line 2: HEALTHCHECK cannot be read: --retry"),
    ],
)
def test_what_cannot_be_done_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(InvalidTask, match=message):
        plan(text)


def test_cache_mounts_of_a_step_are_directories_and_said_to_be() -> None:
    made = plan("FROM a\nWORKDIR /w\nRUN --mount=type=cache,target=c,sharing=locked --network=default make\n")
    assert made.steps[1:] == [MakeDirectory(3, "/w/c"), *(step for step in made.steps if isinstance(step, Run))]
    assert made.notes == ["line 3: the cache mount of RUN is an ordinary directory"]


def test_an_argument_before_from_is_seen_after_it_only_when_named_again() -> None:
    first, second = runs("ARG V=1\nARG W=${V}2\nFROM x\nRUN one\nARG V\nARG W=own\nRUN two\n")
    assert not {"V", "W"} & dict(first.env).keys()
    assert {name: value for name, value in second.env if name in "VW"} == {"V": "1", "W": "own"}


def test_the_platform_is_there_for_whoever_names_it() -> None:
    (step,) = runs("FROM x\nARG TARGETOS\nARG TARGETARCH\nRUN one\n")
    assert dict(step.env)["TARGETOS"] == "linux"
    assert dict(step.env)["TARGETARCH"] in current().name
    assert dict(plan("ARG A=$TARGETOS\nFROM x-$A\n").env) == {"PATH": PATH}
    assert plan("ARG A=$TARGETOS\nFROM x-$A\n").image == "x-linux"


def test_a_variable_of_env_hides_an_argument() -> None:
    (step,) = runs("FROM x\nENV A=env\nARG A=arg\nRUN one\n")
    assert dict(step.env)["A"] == "env"


def test_quotes_are_taken_off_single_values() -> None:
    made = plan("FROM x\nENV OLD \"q uo ted\" and 'single'\nWORKDIR \"/w x\"\nUSER '$NOBODY'\n")
    assert (made.env["OLD"], made.workdir, made.user) == ("q uo ted and single", "/w x", "$NOBODY")


def test_a_here_document_with_more_on_its_line_goes_to_the_shell() -> None:
    (step,) = runs("FROM x\nRUN <<-EOF bash\n\techo $0\n\tEOF\n")
    assert step.argv[-1] == "<<-EOF bash\necho $0\nEOF\n"


def test_a_here_document_that_names_its_interpreter_is_run_by_it(tmp_path: Path) -> None:
    (step,) = runs("FROM x\nRUN <<EOF\n#!/usr/bin/env -S sed -n '2s/it.s/that is/p'\n# it's $HOME\nEOF\n")
    done = subprocess.run(
        step.argv, capture_output=True, text=True, check=True, env={"PATH": PATH, "TMPDIR": str(tmp_path)}
    )
    assert done.stdout == "# that is $HOME\n"
    assert list(tmp_path.iterdir()) == []


def test_several_here_documents_become_files_beside_other_sources() -> None:
    (step,) = copies("FROM x\nENV A=1\nCOPY own <<ONE <<'TWO' /etc/\n\"$A\" \\$A\nONE\n$A\nTWO\n")
    assert step.sources == ("own",)
    assert step.texts == (("ONE", '"1" $A\n'), ("TWO", "$A\n"))


def test_the_escape_character_of_a_directive_holds_in_values() -> None:
    made = plan("# escape=`\nFROM x\nENV A=c:\\dir B=two` words\n")
    assert (made.env["A"], made.env["B"]) == ("c:\\dir", "two words")


def test_values_that_grow_without_end_are_refused() -> None:
    lines = ["ENV A0=" + "x" * 100, *(f"ENV A{step + 1}=$A{step}$A{step}" for step in range(60))]
    with pytest.raises(InvalidTask, match="grows beyond"):
        plan("FROM x\n" + "\n".join(lines))


def test_variables_that_no_command_could_be_given_together_are_refused() -> None:
    lines = ["ENV A0=" + "x" * 1000, *(f"ENV A{step + 1}=$A{step}$A{step}" for step in range(6))]
    copied = [f"{word} B{number}=$A6" for number in range(20) for word in ("ARG", "ENV")]
    with pytest.raises(InvalidTask, match=r"Dockerfile line .*together"):
        plan("FROM x\n" + "\n".join(lines + copied))
