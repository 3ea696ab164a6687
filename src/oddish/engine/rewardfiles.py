"""What a verifier leaves as its reward is read as a file of the trial, never as a link to one of the worker's.

Where the directories of a trial are mounted into its container, what runs there could put a link to any file of the
machine in the reward's place: Harbor would follow it, and quote the content when it is no number.
"""

import copy
import functools
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from harbor.verifier.verifier import RewardFileNotFoundError, Verifier

from oddish.documents import read_bytes
from oddish.engine.rewards import REWARD_LIMIT

_PARSERS = {"_parse_reward_text": "reward_text_path", "_parse_reward_json": "reward_json_path"}


def follow_no_links() -> None:
    """Make this process's Harbor read rewards from a copy, made without following links or waiting for pipes."""
    for method, attribute in _PARSERS.items():
        if original := vars(Verifier).get(method):
            setattr(Verifier, method, _from_copy(original, attribute))


def _from_copy(original: Callable[[Any], Any], attribute: str) -> Callable[[Any], Any]:
    @functools.wraps(original)
    def parse(verifier: Any) -> Any:
        path: Path = getattr(verifier.trial_paths, attribute)
        content, problem = read_bytes(path.parent, path.name, REWARD_LIMIT)
        if problem is not None:
            raise RewardFileNotFoundError(f"The reward file {path} cannot be used: it is {problem}.")
        with tempfile.TemporaryDirectory() as directory:
            safe = Path(directory, path.name)
            safe.write_bytes(content)
            reader = copy.copy(verifier)
            reader.trial_paths = SimpleNamespace(**{attribute: safe})
            return original(reader)

    return parse
