"""Our agents under Harbor's own names, so that configurations and results keep those names."""

from harbor.agents.factory import AgentFactory
from harbor.models.agent.name import AgentName
from harbor.models.trial.config import TrialConfig
from harbor.models.trial.error_policy import ErrorPolicyOverride

from oddish.engine import release
from oddish.outcome import TERMINUS_NO_PROGRESS

NO_SCORE = ErrorPolicyOverride(should_retry=False, should_grade=False, has_valid_reward=False)


def give_up_when_stuck(config: TrialConfig, episodes: int) -> None:
    """Have terminus-2 end the trial of ``config``, ungraded, after that many episodes at a continuation prompt."""
    if config.agent.name != AgentName.TERMINUS_2.value or not release.is_extended():
        return
    from oddish.engine.agents.terminus import GuardedTerminus2  # only here: it loads the model library

    GuardedTerminus2.stuck_episodes = episodes
    AgentFactory._AGENT_MAP[AgentName.TERMINUS_2] = f"{GuardedTerminus2.__module__}:{GuardedTerminus2.__name__}"
    config.override_error_policy = {**config.override_error_policy, TERMINUS_NO_PROGRESS: NO_SCORE}
