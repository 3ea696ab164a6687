"""What the child of an attempt is asked for goes by the worker's settings."""

from pathlib import Path
from uuid import UUID

from oddish.engine.protocol import Run
from oddish.queue.claim import Claim
from oddish.settings import Settings
from oddish.worker.request import request
from oddish.worker.workspace import Workspace
from support.trial_specs import GREET

CLAIM = Claim(1, "org", "trial", GREET.trial_id, 1, UUID(int=1), 1, 1, 0, 512)


def ask(settings: Settings, directory: Path) -> Run:
    workspace = Workspace(directory, "w")
    try:
        return request(GREET, CLAIM, settings, workspace, directory, directory)
    finally:
        workspace.close()


def test_terminus_gives_up_after_so_many_episodes(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    assert ask(settings, tmp_path)["stuck_episodes"] == 6
    assert "stuck_episodes" not in ask(settings.model_copy(update={"terminus_no_progress": False}), tmp_path)
