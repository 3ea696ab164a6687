"""Templates, styles and modules, as far as they can be judged without a browser."""

import re
from pathlib import Path

import jinja2
import pytest
from markupsafe import escape

from oddish.web import assets, templates
from oddish.web.twins import twin

WEB = Path(assets.__file__).parent
TEMPLATES = sorted(path.relative_to(WEB / "templates").as_posix() for path in WEB.rglob("*.html"))
HOSTILE = "<script>alert(1)</script>\" onload='x'"


def test_every_template_can_be_read() -> None:
    templates.compile_all()
    cache = templates._ENVIRONMENT.cache
    assert cache is not None
    assert len(cache) == len(TEMPLATES) > 5


@pytest.mark.parametrize("name", TEMPLATES)
def test_no_template_needs_what_the_policy_forbids(name: str) -> None:
    source = (WEB / "templates" / name).read_text()
    assert not re.search(r"\bstyle=|\bon[a-z]+=\"|javascript:|<style|https?://", source)
    assert not re.search(r"<script(?![^>]*\bsrc=)", source)
    assert "|safe" not in source.replace(" ", "")


def test_text_is_escaped_wherever_it_stands() -> None:
    notices = templates._ENVIRONMENT.get_template("components/notices.html").module
    finding = {"level": "error", "place": HOSTILE, "found": HOSTILE, "fix": HOSTILE}
    shown = notices.notices([finding])  # type: ignore[attr-defined]
    assert "<script" not in shown
    assert shown.count(str(escape(HOSTILE))) == 3


def test_a_name_that_nobody_set_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError):
        templates.render("error.html", site=None)


def test_an_asset_that_is_not_there_is_an_error() -> None:
    with pytest.raises(KeyError):
        assets.address("absent.css")


def test_styles_and_modules_come_from_here_alone() -> None:
    for path in (WEB / "static").iterdir():
        source = path.read_text()
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|@import|url\(|\beval\(|innerHTML", source), path.name
        for imported in re.findall(r"from \"(.*?)\"|import \"(.*?)\"", source):
            assert (WEB / "static" / "".join(imported)).is_file(), path.name


def test_colours_are_named_in_one_place() -> None:
    for path in (WEB / "static").glob("*.css"):
        if path.name != "tokens.css":
            assert not re.search(r"#[0-9a-f]{3,8}\b|\brgb\((?!0 0 0)", path.read_text()), path.name


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


TEXTS = ("text", "muted", "accent", "brand", "pass", "fail", "unmeasured", "running", "warning", "bad")
GROUNDS = ("page", "surface", "sunken")
PAIRS = [
    *((text, ground, 4.5) for text in TEXTS for ground in GROUNDS),
    *((f"series-{number}", "surface", 3.0) for number in range(1, 7)),
    *((text, f"{text}-sunken", 4.5) for text in ("pass", "fail", "warning", "bad")),
    *((text, "accent-sunken", 4.5) for text in ("text", "muted", "accent", "pass", "fail")),
    ("control", "surface", 3.0),
    ("control", "page", 3.0),
]


@pytest.mark.parametrize(("front", "ground", "least"), PAIRS)
def test_colours_can_be_told_apart_in_both_themes(front: str, ground: str, least: float) -> None:
    tokens = (WEB / "static" / "tokens.css").read_text()
    colours = {name: both for name, *both in re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", tokens)}
    for theme in (0, 1):
        assert contrast(colours[front][theme], colours[ground][theme]) >= least


def test_the_twin_has_what_json_has() -> None:
    assert twin({"a": float("nan"), "b": (1, 2.5, None, True), "c": "é"}) == (
        '{"a": null, "b": [1, 2.5, null, true], "c": "é"}'.encode()
    )
    with pytest.raises(TypeError, match=r"Page\.drawn"):
        twin({"a": object()})
