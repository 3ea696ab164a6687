"""Transcripts: what agents say, do and use, read from the logs that they write. Pure; standard library only."""

from oddish.transcript.adapter import Adapter, Source
from oddish.transcript.events import Event
from oddish.transcript.registry import adapter
from oddish.transcript.usage import Usage

__all__ = ["Adapter", "Event", "Source", "Usage", "adapter"]
