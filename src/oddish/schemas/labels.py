"""What may be said of a task: tags, a link, metadata."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from oddish.labels import LONGEST_LINK, link_flaw, meta_flaw
from oddish.schemas.base import RequestBody, ResponseBody
from oddish.tags import LONGEST_VALUE, MOST_TAGS, NAME_PATTERN, name_flaw


def _sound_names(tags: Any) -> Any:
    for name in tags if isinstance(tags, Mapping) else ():
        if isinstance(name, str) and (reason := name_flaw(name)):
            raise ValueError(f"{reason}.")
    return tags


def _sound_link(link: str) -> str:
    if reason := link_flaw(link):
        raise ValueError(f"it {reason}.")
    return link


def _sound_meta(meta: dict[str, Any]) -> dict[str, Any]:
    if reason := meta_flaw(meta):
        raise ValueError(f"it {reason}.")
    return meta


type TagName = Annotated[str, StringConstraints(pattern=NAME_PATTERN)]
type TagValue = Annotated[str, StringConstraints(max_length=LONGEST_VALUE)]
type Tags = Annotated[
    dict[TagName, TagValue],
    BeforeValidator(_sound_names),
    Field(max_length=MOST_TAGS, description="Values by name; an empty value is none."),
]
type Link = Annotated[
    str,
    AfterValidator(_sound_link),
    Field(max_length=LONGEST_LINK, description="An http or https address.", examples=["https://example.com/pull/12"]),
]
type Metadata = Annotated[dict[str, Any], AfterValidator(_sound_meta)]


class TagsRequest(RequestBody):
    """Tags to add, which replace those of their names, and names to take away before."""

    add: Tags = Field(default_factory=dict)
    remove: Annotated[list[Annotated[str, StringConstraints(min_length=1, max_length=255)]], Field(max_length=200)] = (
        Field(default_factory=list)
    )


class TaggedResponse(ResponseBody):
    """A task and all its tags."""

    task_id: str
    name: str
    user_tags: dict[str, str]
