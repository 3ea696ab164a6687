"""The model's own host beside the hosts that a submission lets the agent reach."""

import tempfile
from pathlib import Path
from typing import cast

from harbor.agents.factory import AgentFactory
from harbor.agents.installed.base import BaseInstalledAgent
from harbor.models.trial.config import AgentConfig
from harbor.trial.network_policy import inference_endpoint_host


def keep_model_host(agent: AgentConfig) -> AgentConfig:
    """``agent`` with the host of its model among the extra hosts, if it has any of those.

    Harbor lets an agent in a restricted phase reach its model by itself only where nobody names a host.
    """
    if not agent.extra_allowed_hosts:
        return agent
    host = _model_host(agent)
    if host is None or host in agent.extra_allowed_hosts:
        return agent
    return agent.model_copy(update={"extra_allowed_hosts": [*agent.extra_allowed_hosts, host]})


def _model_host(agent: AgentConfig) -> str | None:
    """None for an agent that talks to its model from outside of the sandbox, and where it cannot be told."""
    if not issubclass(AgentFactory.get_agent_class_from_config(agent), BaseInstalledAgent):
        return None
    with tempfile.TemporaryDirectory(prefix="oddish-agent-") as logs:
        made = cast(BaseInstalledAgent, AgentFactory.create_agent_from_config(agent, logs_dir=Path(logs)))
    return inference_endpoint_host(made.model_connection.inference_base_url)
