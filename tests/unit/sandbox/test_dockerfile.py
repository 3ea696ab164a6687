"""Dockerfile syntax."""

import pytest

from oddish.errors import InvalidTask
from oddish.sandbox.dockerfile import Heredoc, Instruction, parse


def values(text: str) -> list[tuple[str, str]]:
    return [(item.name, item.value) for item in parse(text)]


def test_names_are_case_insensitive_and_lines_are_counted() -> None:
    assert parse("# comment\n\nfrom debian\n  Run  true\n") == (
        Instruction("FROM", "debian", 3),
        Instruction("RUN", "true", 4),
    )


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("RUN a \\\n  b\n", "a   b"),
        ("RUN a \\\n# comment\n  b\n", "a   b"),
        ("RUN a \\\n\n  b\n", "a   b"),
        ("RUN a \\  \n  b\n", "a   b"),
        ("# escape=`\nRUN a `\n  b\n", "a   b"),
        ("# escape=`\nRUN a \\\n", "a \\"),
        ("RUN echo '# no comment'\n", "echo '# no comment'"),
        ("RUN\ta b\n", "a b"),
        ("\\\nRUN a\n", "a"),
        ("RUN a\\\\\n", "a\\\\"),
        ("RUN a \\", "a"),
        ("RUN a \\\r\n b\r\n", "a  b"),
        ("RUN a\u2028b\n", "a\u2028b"),
    ],
)
def test_continuation_lines_are_joined(text: str, wanted: str) -> None:
    assert values(text) == [("RUN", wanted)]


def test_nothing_but_a_continuation_is_an_instruction_without_a_name() -> None:
    assert values("\\\n") == [("", "")]


def test_a_comment_before_a_directive_makes_it_a_comment() -> None:
    assert values("# just words\n# escape=`\nRUN a \\\n b\n") == [("RUN", "a  b")]


def test_flags_are_taken_off() -> None:
    (instruction,) = parse("COPY --chown=app:app --chmod=755 a b\n")
    assert instruction.flags == (("chown", "app:app"), ("chmod", "755"))
    assert instruction.value == "a b"


@pytest.mark.parametrize(
    ("value", "wanted"),
    [('["a", "b c"]', ("a", "b c")), ("[ -f x ]", None), ("['a']", None), ('["a", 1]', None), ("a b", None)],
)
def test_the_exec_form_is_a_json_array_of_strings(value: str, wanted: object) -> None:
    (instruction,) = parse(f"RUN {value}\n")
    assert instruction.exec_form() == wanted


def test_here_documents_belong_to_their_instruction() -> None:
    run, copy, user = parse("RUN <<EOF\none\n# two\nEOF\nCOPY <<-'A' <<\"B\" /x/\n\tin a\n\tA\nin b\nB\nUSER x\n")
    assert run.heredocs == (Heredoc("EOF", "one\n# two\n", expand=True, mark="<<EOF"),)
    assert copy.heredocs == (
        Heredoc("A", "in a\n", expand=False, mark="<<-'A'"),
        Heredoc("B", "in b\n", expand=False, mark='<<"B"'),
    )
    assert (user.name, user.line) == ("USER", 10)


def test_a_here_document_without_end_is_refused_with_its_line() -> None:
    with pytest.raises(InvalidTask, match=r"line 2.*'EOF'"):
        parse("FROM x\nRUN <<EOF\nnever\n")


@pytest.mark.parametrize(
    "value",
    [
        "cat <<< EOF",
        'echo "a <<EOF b"',
        "echo $((1 << 3))",
        "x=$((1<<SHIFT))",
        "cat<<EOF",
        '["cat", "<<EOF"]',
        "echo '<<EOF'",
    ],
)
def test_what_only_looks_like_a_here_document_is_none(value: str) -> None:
    (instruction,) = parse(f"RUN {value}\n")
    assert instruction.heredocs == ()


def test_a_here_document_may_go_to_another_descriptor() -> None:
    (instruction,) = parse("RUN program 3<<IN\ntext\nIN\n")
    assert instruction.heredocs == (Heredoc("IN", "text\n", expand=True, mark="3<<IN"),)


def test_other_directives_do_not_end_the_directives() -> None:
    assert values("# syntax=docker/dockerfile:1\n# escape=`\nRUN a `\n b\n") == [("RUN", "a  b")]


def test_an_unknown_escape_character_is_refused() -> None:
    with pytest.raises(InvalidTask, match=r"line 1.*'x'"):
        parse("# escape=x\nFROM a\n")


def test_a_dockerfile_of_too_many_instructions_is_refused_with_its_line() -> None:
    with pytest.raises(InvalidTask, match=r"line 501.*more than 500"):
        parse("RUN x\n" * 501)
