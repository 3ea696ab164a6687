"""A results directory as pages show it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from starlette.requests import Request

from oddish.errors import NotFound
from oddish.viewer.parameters import offered
from oddish.viewer.results import Results
from oddish.viewer.versions import Versions
from oddish.web.pages import Attachment, Link, Page
from oddish.web.viewer.drawings import Drawings
from oddish.web.viewer.links import Links


@dataclass(frozen=True, slots=True)
class Shelf:
    results: Results
    links: Links
    label: str
    """What the directory is called."""
    above: Sequence[Link] = ()
    """Pages above those of this directory."""
    versions: Versions = field(init=False)
    drawings: Drawings = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "versions", Versions(self.results))
        object.__setattr__(self, "drawings", Drawings(self.links))

    def project(self, request: Request) -> str:
        """The id in the address. Raises ``NotFound`` where there is no such project."""
        project = str(request.path_params["project"])
        if not self.results.has_project(project):
            raise NotFound(
                f"There is no project {project!r} in {self.label}.", fix=offered(self.results.projects().ids)
            )
        return project

    def dataset(self, request: Request) -> tuple[str, str]:
        """The ids in the address: of the project and of the dataset. Raises ``NotFound``."""
        project, dataset = self.project(request), str(request.path_params["dataset"])
        if not self.results.has_dataset(project, dataset):
            there = self.results.datasets(project).ids
            raise NotFound(f"Project {project!r} has no dataset {dataset!r}.", fix=offered(there))
        return project, dataset

    def run(self, request: Request) -> tuple[str, str]:
        """The ids in the address: of the project and of the run. Raises ``NotFound``."""
        project, run = self.project(request), str(request.path_params["run"])
        if not self.results.has_run(project, run):
            raise self.no_run(project, run)
        return project, run

    def no_run(self, project: str, run: str) -> NotFound:
        return NotFound(f"Project {project!r} has no run {run!r}.", fix=offered(self.results.runs(project).ids))

    def trail(self, project: str | None = None, dataset: str | None = None) -> list[Link]:
        """The pages above one of this directory, of a project or of a dataset."""
        trail = [*self.above, Link(self.label, self.links.projects())]
        if project is not None:
            trail.append(Link(self.title(project), self.links.project(project)))
        if project is not None and dataset is not None:
            found = self.results.dataset(project, dataset).value
            trail.append(Link((found and found.label) or dataset, self.links.dataset(project, dataset)))
        return trail

    def title(self, project: str) -> str:
        """What a project is called."""
        found = self.results.project(project).value
        return (found and found.label) or project


type Show = Callable[[Shelf, Request], Page | Attachment]
