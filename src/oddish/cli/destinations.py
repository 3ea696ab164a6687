"""Where ``oddish export`` brings a dataset: a directory, a bucket of the Hugging Face Hub, or the pages of a server."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from oddish.cli.pull import BASE
from oddish.cli.session import connect, resolve

if TYPE_CHECKING:
    from oddish.pull.folder import Folder
    from oddish.viewer.exporting import Exported

VIEWER = "viewer:"

type Write = Callable[["Folder"], "Exported"]
type Make = Callable[[str, str, Write], "Made"]
"""Project, dataset, and what writes the dataset into a folder."""


@dataclass(frozen=True)
class Made:
    exported: "Exported"
    directory: Path
    bucket: str | None = None
    uploaded: int = 0
    deleted: int = 0
    url: str | None = None
    """Of its page on the server."""


def destination(target: str, api: str | None) -> Make:
    """What makes the dataset at ``target``. A bucket is known to be there then."""
    if target == VIEWER:
        return lambda project, dataset, write: _on_server(api, project, dataset, write)
    if target.startswith(VIEWER):
        raise click.UsageError(
            f"{VIEWER} stands alone: --project and --dataset say the rest. A directory is ./{target}"
        )
    if "://" in target:
        return _bucket(target)
    return lambda project, dataset, write: Made(_written(Path(target), write), Path(target))


def _on_server(api: str | None, project: str, dataset: str, write: Write) -> Made:
    directory = BASE / "viewer"
    exported = _written(directory, write)
    with connect(resolve(api)) as client:
        kept = client.exports.send(directory, project, dataset)
    return Made(exported, directory, url=kept["url"])


def _bucket(target: str) -> Make:
    from oddish.publishing.address import read_address
    from oddish.publishing.bucket import Bucket
    from oddish.publishing.publishing import publish

    bucket = Bucket(read_address(target))
    bucket.check()
    address = bucket.address
    directory = BASE.joinpath("hf", address.namespace, address.name, *address.path)

    def make(project: str, dataset: str, write: Write) -> Made:
        published = publish(bucket, directory, project, dataset, write)
        return Made(published.exported, directory, str(address), published.uploaded, published.deleted)

    return make


def _written(directory: Path, write: Write) -> "Exported":
    from oddish.pull.folder import Folder

    with Folder(directory) as folder:
        exported = write(folder)
        folder.forget_partial()
    return exported
