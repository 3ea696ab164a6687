"""One attempt from its claim to its recorded outcome."""

import asyncio
import random
from dataclasses import asdict
from pathlib import Path

import structlog
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from oddish.engine.client import ForkServer
from oddish.engine.protocol import VERSION, Done, Run
from oddish.engine.redaction import scrub_directory
from oddish.engine.results import TrialFacts, attempt_facts, read_trial
from oddish.errors import OddishError
from oddish.keyring import Keyring
from oddish.outcome import Ending, judge
from oddish.queue.claim import Claim
from oddish.queue.finish import StaleClaim
from oddish.settings import Settings
from oddish.storage import ArtifactStore
from oddish.trials.recording import Report, record_outcome, record_stage
from oddish.trials.spec import TrialSpec, load_spec
from oddish.worker.taskcache import TaskCache
from oddish.worker.workspace import Workspace

log = structlog.get_logger()
