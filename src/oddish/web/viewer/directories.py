"""The first page of a server: the results directories that it shows."""

from collections.abc import Mapping
from dataclasses import dataclass

from oddish.web.pages import Page
from oddish.web.viewer.shelf import Shelf


@dataclass(frozen=True, slots=True)
class Directory:
    name: str
    address: str


@dataclass(frozen=True, slots=True)
class Directories:
    directories: tuple[Directory, ...]


def show(shelves: Mapping[str, Shelf]) -> Page:
    found = tuple(Directory(name, shelf.links.projects()) for name, shelf in shelves.items())
    return Page("viewer/directories.html", "Viewer", Directories(found))
