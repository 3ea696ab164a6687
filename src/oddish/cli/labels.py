"""Options of ``oddish run`` for what is said of its tasks and its experiment, handed over as one argument."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from oddish.cli.gathering import gathered
from oddish.errors import InvalidInput
from oddish.labels import LARGEST_META, link_flaw, read_meta
from oddish.tags import Tag, as_object, too_many

if TYPE_CHECKING:
    from oddish.client.types import Labelling


@dataclass(frozen=True)
class Labels:
    """What a run says of each of its tasks, and of its experiment; attribution only, whoever pays."""

    tags: dict[str, str] = field(default_factory=dict)
    link: str | None = None
    github_user: str | None = None
    github_meta: dict[str, Any] | None = None
    publish: bool = False
    run_analysis: bool = False
    run_probe: bool = False

    def members(self) -> "Labelling":
        said: Labelling = {}
        self.add_to(said)
        return said

    def add_to(self, said: "Labelling") -> None:
        """Make them members of a submission; what was not said is left out."""
        if self.tags:
            said["tags"] = self.tags
        if self.link is not None:
            said["link"] = self.link
        if self.github_user is not None:
            said["github_username"] = self.github_user
        if self.github_meta is not None:
            said["github_meta"] = self.github_meta
        if self.publish:
            said["publish_experiment"] = True
        if self.run_analysis:
            said["run_analysis"] = True
        if self.run_probe:
            said["run_probe"] = True


def _read_tags(ctx: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    try:
        tags = as_object(map(Tag.of, given))
    except InvalidInput as error:
        raise click.BadParameter(str(error)) from None
    if reason := too_many(len(tags)):
        raise click.BadParameter(f"{reason}.")
    return tags


def _read_link(ctx: click.Context, option: click.Parameter, given: str | None) -> str | None:
    if given is not None and (reason := link_flaw(given)):
        raise click.BadParameter(f"It {reason}.")
    return given


def _read_meta(ctx: click.Context, option: click.Parameter, given: str | None) -> dict[str, object] | None:
    if given is None:
        return None
    try:
        return read_meta(given)
    except InvalidInput as error:
        raise click.BadParameter(str(error)) from None


LABEL_OPTIONS = (
    click.option(
        "--tag",
        "tags",
        multiple=True,
        metavar="NAME[=VALUE]",
        callback=_read_tags,
        help="Tag the tasks, beside the tags they have; a value replaces that of the same name.",
    ),
    click.option("--link", metavar="URL", callback=_read_link, help="Show this http or https address with the tasks."),
    click.option(
        "-G",
        "--github-user",
        metavar="NAME",
        help="GitHub user that the tasks are attributed to. By default the one of the key's user, if one is known.",
    ),
    click.option(
        "--github-meta",
        metavar="JSON",
        callback=_read_meta,
        help=f"JSON object to keep with the tasks, of at most {LARGEST_META} bytes: a pull request, a commit, a job.",
    ),
    click.option(
        "--publish/--no-publish",
        default=False,
        help="Let whoever has the link read the experiment, and print the link. Takes a key of scope full. What is "
        "published already stays so; `oddish unpublish` ends it.",
    ),
    click.option(
        "--run-analysis",
        is_flag=True,
        help="Note on the tasks that their trials are to be analysed. The wish is kept; nothing is analysed yet.",
    ),
    click.option(
        "--run-probe",
        is_flag=True,
        help="Note on the tasks that a probe is to look at each version. The wish is kept; nothing is probed yet.",
    ),
)


label_options = gathered("labels", Labels, LABEL_OPTIONS)
"""The command gets them as ``labels``."""
