"""Models that say what a script says, over the real wire formats, for real agent programs on this machine."""

from support.model_servers.script import Failure, Script, Tool, Turn, Usage
from support.model_servers.server import Conversation, ModelServer

__all__ = ["Conversation", "Failure", "ModelServer", "Script", "Tool", "Turn", "Usage"]
