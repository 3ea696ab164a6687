"""Real agent programs in the local sandbox, each talking to its model over the provider's wire format.

Those that ``scripts/fetch-agents`` has not fetched are left out; terminus-2 is Harbor's own and needs tmux alone.
"""

from collections.abc import Callable, Mapping

import pytest

from oddish.sandbox.support import support
from support.agent_checks import chosen, each_agent, each_check
from support.agent_runs import AgentRun, run_agents
from support.agent_scripts import RealAgent

pytestmark = [
    pytest.mark.skipif(not support().usable, reason=str(support().reason)),
    pytest.mark.timeout(900),
]


@pytest.fixture(scope="module")
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, AgentRun]:
    return run_agents(tmp_path_factory.mktemp("agents"), chosen(request), "local", "debian:bookworm-slim")


@each_agent
@each_check
def test_a_real_agent(runs: Mapping[str, AgentRun], agent: RealAgent, check: Callable[[AgentRun], None]) -> None:
    check(runs[agent.name])
