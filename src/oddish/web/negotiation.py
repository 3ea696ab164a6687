"""Whether a page or its JSON twin is asked for."""

from starlette.requests import Request

from oddish.viewer.parameters import one_of

PAGE, TWIN = "text/html", "application/json"


def wants_twin(request: Request) -> bool:
    """By ``?format=json``, else by which of both ``Accept`` prefers. Raises ``InvalidInput`` for another format."""
    asked = request.query_params.get("format")
    if asked is None:
        return prefers_twin(request)
    return one_of("format", asked, ("html", "json")) == "json"


def prefers_twin(request: Request) -> bool:
    accepted = ",".join(request.headers.getlist("accept"))
    return _weight(accepted, TWIN) > _weight(accepted, PAGE)


def prefers_error_twin(request: Request) -> bool:
    """As ``wants_twin``, for an answer that has to be one of both."""
    return request.query_params.get("format") == "json" or prefers_twin(request)


def _weight(accepted: str, kind: str) -> float:
    """The quality that ``Accept`` names for a type; 0 where it does not name it. ``*/*`` names none."""
    for entry in accepted.split(","):
        name, *parameters = (part.strip().lower() for part in entry.split(";"))
        if name == kind:
            quality = next((value[2:] for value in parameters if value.startswith("q=")), "1")
            try:
                return float(quality)
            except ValueError:
                return 0.0
    return 0.0
