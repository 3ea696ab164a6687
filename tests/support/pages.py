"""Pages of the viewer as a browser gets them, without a socket in between."""

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from oddish.web.server import create_app
from oddish.web.signin import Door

BASE = "http://127.0.0.1:8790"
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


def visitor(directory: Path, *, door: Door | None = None, **options: Any) -> TestClient:
    """A client of ``oddish view`` that is signed in, or of a public one without a ``door``."""
    headers = {**BROWSER, **({"Authorization": f"Bearer {door.token}"} if door else {})}
    return TestClient(create_app(directory, door), base_url=BASE, headers=headers, **options)


class Markup(HTMLParser):
    """The elements of a page with their attributes, and its text."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        self.elements.append(("!--", {}))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def addresses(self) -> list[str]:
        return [href for tag, attributes in self.elements if tag == "a" and (href := attributes.get("href"))]

    @property
    def tags(self) -> set[str]:
        return {tag for tag, _ in self.elements}

    @property
    def attributes(self) -> set[str]:
        return {name for _, attributes in self.elements for name in attributes}

    def values(self, name: str) -> set[str]:
        """Of an attribute, wherever it is."""
        return {value for _, attributes in self.elements if (value := attributes.get(name)) is not None}
