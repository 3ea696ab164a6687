"""Transcripts: what agents say, do and use, read from the logs that they write. Standard library only."""

from oddish.transcript.adapter import Adapter, Source, printed
from oddish.transcript.events import Event
from oddish.transcript.registry import adapter
from oddish.transcript.settlement import settled, transcript
from oddish.transcript.usage import Usage

__all__ = ["Adapter", "Event", "Source", "Usage", "adapter", "printed", "settled", "transcript"]
