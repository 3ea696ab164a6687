"""Templates: everything is escaped, and a name that nobody set is an error, not an empty text."""

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from oddish import __version__
from oddish.web import assets
from oddish.web.wording import FILTERS

_ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).with_name("templates")),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,
)
_ENVIRONMENT.filters.update(FILTERS)
_ENVIRONMENT.globals.update(asset=assets.address, release=__version__)


def render(template: str, **context: Any) -> str:
    return _ENVIRONMENT.get_template(template).render(context)


def compile_all() -> None:
    """So that no reader of a page waits for it: as a program, each template is remembered."""
    for name in _ENVIRONMENT.list_templates():
        _ENVIRONMENT.get_template(name)
