"""Real agent programs in containers, each talking to its model over the provider's wire format.

Those that ``scripts/fetch-agents`` has not fetched are left out; terminus-2 is Harbor's own.
"""

import ipaddress
from collections.abc import Callable, Mapping

import pytest

from support.agent_checks import chosen, each_agent, each_check
from support.agent_runs import AgentRun, run_agents
from support.agent_scripts import RealAgent
from support.engine_state import docker

IMAGE = "fixtures-base:1"
SUBNET = ("network", "inspect", "bridge", "--format", "{{(index .IPAM.Config 0).Subnet}}")
"""Of the engine's own network. Its first address is this machine, also for the containers of other networks."""

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, AgentRun]:
    address = ipaddress.ip_network(docker(*SUBNET).strip())[1]
    return run_agents(tmp_path_factory.mktemp("agents"), chosen(request), "docker", IMAGE, str(address))


@each_agent
@each_check
def test_a_real_agent(runs: Mapping[str, AgentRun], agent: RealAgent, check: Callable[[AgentRun], None]) -> None:
    check(runs[agent.name])
