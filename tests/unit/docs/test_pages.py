"""What README and docs name exists: variables, commands and their options, scripts, modules, links."""

import importlib.util
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import pytest
import reference
from huggingface_hub.cli._cli_utils import LazyHfCommand
from huggingface_hub.cli.hf import app as hf

from oddish.cli import cli
from oddish.settings import VARIABLES

ROOT = reference.ROOT
PAGES = sorted({ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.md")})
NAMES = [str(path.relative_to(ROOT)) for path in PAGES]
VARIABLE = re.compile(rf"\b{reference.VARIABLE}\b")
FENCE = re.compile(r"^ *```[^\n]*\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
SPAN = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+?)#* *$", re.MULTILINE)
ENDS = {"|", ">", ">>", "<", "&&", "||", ";", "&", "#"}
"""Words of a shell line at which a command is over."""

PROGRAMS: dict[str, click.Group] = {"oddish": cli, "hf": hf}
"""Whose commands are read."""

every_page = pytest.mark.parametrize("page", PAGES, ids=NAMES)


@pytest.fixture(scope="module")
def known() -> set[str]:
    """Every variable that is read somewhere."""
    read = set().union(*(reference.variables_in(ROOT / name) for name in ("src", "scripts", "tests")))
    return read | VARIABLES


@every_page
def test_variables_that_are_named_are_read(page: Path, known: set[str]) -> None:
    assert set(VARIABLE.findall(page.read_text())) - known == set()


@every_page
def test_commands_that_are_shown_can_be_typed(page: Path) -> None:
    for line in commands_in(page.read_text()):
        check(line)


@every_page
def test_scripts_and_modules_that_are_named_are_there(page: Path) -> None:
    text = page.read_text()
    for script in re.findall(r"(?<![\w/])(?:\./)?scripts/([\w.-]*\w)", text):
        assert (ROOT / "scripts" / script).exists(), script
    for module in re.findall(r"python -m (oddish[\w.]*)", text):
        assert importlib.util.find_spec(f"{module}.__main__"), module


@every_page
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(without_code(page.read_text())):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_a_command_that_does_not_exist_would_be_noticed() -> None:
    for line in ("oddish walk", "oddish run --fast", "oddish status a b", "oddish run -n"):
        with pytest.raises((click.UsageError, AssertionError)):
            check(line)
    check("oddish run task -a oracle --json")
    with pytest.raises(AssertionError):
        check("hf repo create name")
    with pytest.raises(click.UsageError):
        check("hf repos create name --fast")


def commands_in(text: str) -> Iterator[str]:
    """Lines of code blocks that begin with a program, without prompt, variables and explanation; and code spans."""
    for block in FENCE.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            found = re.match(r"(?:\$ )?(?:[A-Z_]+=\S* )*(?:\S*/)?((?:oddish|hf)(?: \S+)*)", line.strip())
            if found:
                yield found[1]
    for span in SPAN.findall(without_code(text, spans=False)):
        if re.match(r"(oddish|hf) [a-z]", span):
            yield span


def check(line: str) -> None:
    """Raises ``click.UsageError`` or ``AssertionError`` for a line that could not be typed."""
    program, words = words_of(line)
    command: click.Command = PROGRAMS[program]
    context = click.Context(command, **reference.HELP)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(context, words[0])
        assert found is not None, f"{line}: there is no command {words[0]}"
        command, words = found.materialize() if isinstance(found, LazyHfCommand) else found, words[1:]
        context = click.Context(command, parent=context, **{**reference.HELP, **command.context_settings})
    _, rest, _ = command.make_parser(context).parse_args(list(words))
    assert not rest, f"{line}: too many arguments"


def words_of(line: str) -> tuple[str, Sequence[str]]:
    """The program, and what it is called with."""
    program, *words = shlex.split(line)
    end = next((index for index, word in enumerate(words) if word in ENDS), len(words))
    return program, words[:end]


def without_code(text: str, *, spans: bool = True) -> str:
    text = FENCE.sub("", text)
    return SPAN.sub("", text) if spans else text


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    headings = HEADING.findall(FENCE.sub("", page.read_text()))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
