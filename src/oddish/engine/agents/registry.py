"""Our agents under Harbor's own names, so that configurations and results keep those names."""

from harbor.agents.factory import AgentFactory
from harbor.models.agent.name import AgentName
from harbor.models.trial.config import TrialConfig

from oddish.engine import release
from oddish.outcome import TERMINUS_NO_PROGRESS


def give_up_when_stuck(config: TrialConfig, episodes: int) -> None:
    """Have terminus-2 end the trial of ``config``, ungraded, after that many episodes at a continuation prompt."""
    if config.agent.name != AgentName.TERMINUS_2.value or not release.is_extended():
        return
    # Only here: older releases have no error policy, and terminus-2 loads the model library.
    from harbor.models.trial.error_policy import ErrorPolicyOverride

    from oddish.engine.agents.terminus import GuardedTerminus2

    GuardedTerminus2.stuck_episodes = episodes
    AgentFactory._AGENT_MAP[AgentName.TERMINUS_2] = f"{GuardedTerminus2.__module__}:{GuardedTerminus2.__name__}"
    no_score = ErrorPolicyOverride(should_retry=False, should_grade=False, has_valid_reward=False)
    config.override_error_policy = {**config.override_error_policy, TERMINUS_NO_PROGRESS: no_score}
