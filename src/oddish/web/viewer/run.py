"""A training run: its curves, which grow while it goes on, and what it came to."""

from starlette.requests import Request

from oddish.web.pages import Page
from oddish.web.viewer.shelf import Shelf
from oddish.web.viewer.training import training


def show(shelf: Shelf, request: Request) -> Page:
    """A training run: its curves and what it came to."""
    project, run = shelf.run(request)
    model, found = training(shelf, project, [run], request.query_params)
    others = [other for other in shelf.results.runs(project).ids if other != run]
    drawn = {
        "charts": found.charts,
        "version": found.version,
        "compare": shelf.links.runs(project, [run]) if others else None,
    }
    return Page("viewer/run.html", model.runs[0].label, model, trail=shelf.trail(project), drawn=drawn)
