"""How each member of the filter is given: as a parameter of a request and as an option of the command line."""

from collections.abc import Mapping
from dataclasses import dataclass

from oddish.browsing.values import (
    AGENT_MODELS,
    FLAG,
    MINIMUMS,
    MODELS,
    MOMENT,
    NUMBER,
    SEARCH,
    TAGS,
    WHOLE,
    WORD,
    WORDS,
    Kind,
    choice_of,
    choices_of,
)

TASK_STATUSES = ("pending", "running", "completed", "failed")
TRIAL_STATUSES = ("queued", "running", "retrying", "success", "failed", "skipped")
PRIORITIES = ("low", "high")
ORIGINS = ("oddish", "imported")
MATCHES = ("any", "all")
SUBJECTS = ("agent", "model")
METRICS = ("reward", "runtime", "tokens", "steps", "pass_rate")
AGGREGATES = ("best", "avg", "median")
UNITS = ("absolute", "percent")


@dataclass(frozen=True, slots=True)
class Parameter:
    kind: Kind
    option: str
    """Of the command line. ``--yes/--no`` of a flag; ``-x/--long`` of one with a letter."""
    help: str


PARAMETERS: Mapping[str, Parameter] = {
    "query": Parameter(
        SEARCH, "-q/--query", 'In its name, author or tags: "a phrase", -not, this OR that, tag:NAME, author:NAME.'
    ),
    "tags": Parameter(TAGS, "--tag", "Has this tag; all of several."),
    "tags_any": Parameter(TAGS, "--tag-any", "Has this tag, or another one named so."),
    "tags_none": Parameter(TAGS, "--not-tag", "Has none of these tags."),
    "author": Parameter(WORDS, "--author", "Submitted by this user, by name or GitHub name; me is you."),
    "statuses": Parameter(choices_of(*TASK_STATUSES), "--status", "Is in this state."),
    "priorities": Parameter(choices_of(*PRIORITIES), "--priority", "Has this priority."),
    "created_after": Parameter(MOMENT, "--created-after", "Was uploaded first at this time or later."),
    "created_before": Parameter(MOMENT, "--created-before", "Was uploaded first before this time."),
    "has_link": Parameter(FLAG, "--has-link/--no-link", "Is linked to an address."),
    "run_analysis": Parameter(FLAG, "--run-analysis/--no-run-analysis", "Its trials are to be analysed."),
    "run_probe": Parameter(FLAG, "--run-probe/--no-run-probe", "Its versions are to be probed."),
    "experiment_ids": Parameter(WORDS, "-E/--experiment", "Belongs to this experiment, by id or name."),
    "models": Parameter(MODELS, "-m/--model", "Trials of this model, with or without its provider."),
    "agents": Parameter(WORDS, "-a/--agent", "Trials of this agent."),
    "agent_models": Parameter(AGENT_MODELS, "--agent-model", "Trials of this AGENT:MODEL."),
    "providers": Parameter(WORDS, "--provider", "Trials of models of this provider."),
    "environments": Parameter(WORDS, "-e/--env", "Trials in this environment."),
    "trial_statuses": Parameter(choices_of(*TRIAL_STATUSES), "--trial-status", "Trials in this state."),
    "origins": Parameter(choices_of(*ORIGINS), "--origin", "Trials run here, or imported."),
    "trial_is_probe": Parameter(FLAG, "--probe/--no-probe", "Probes instead of other trials."),
    "harbor_shas": Parameter(WORDS, "--harbor-sha", "Trials run by this other Harbor: its commit or version."),
    "harbor_stages": Parameter(WORDS, "--stage", "Trials at this stage, such as verification or cancelled."),
    "trial_finished_after": Parameter(MOMENT, "--finished-after", "Trials that ended at this time or later."),
    "trial_finished_before": Parameter(MOMENT, "--finished-before", "Trials that ended before this time."),
    "min_steps": Parameter(WHOLE, "--min-steps", "Trials of so many steps or more."),
    "max_steps": Parameter(WHOLE, "--max-steps", "Trials of at most so many steps."),
    "min_duration_seconds": Parameter(NUMBER, "--min-duration", "Trials whose agent worked so many seconds or more."),
    "max_duration_seconds": Parameter(NUMBER, "--max-duration", "Trials whose agent worked at most so many seconds."),
    "min_tool_calls": Parameter(WHOLE, "--min-tool-calls", "Trials with so many calls of tools or more."),
    "max_tool_calls": Parameter(WHOLE, "--max-tool-calls", "Trials with at most so many calls of tools."),
    "tool_names": Parameter(WORDS, "--tool", "Trials that called this tool; all of several."),
    "tool_count_mins": Parameter(MINIMUMS, "--tool-min", "Trials that called a tool so often: NAME=COUNT."),
    "min_tokens": Parameter(WHOLE, "--min-tokens", "Trials with so many tokens, read and written, or more."),
    "max_tokens": Parameter(WHOLE, "--max-tokens", "Trials with at most so many tokens."),
    "reward_min": Parameter(NUMBER, "--min-reward", "Trials with this reward or more."),
    "reward_max": Parameter(NUMBER, "--max-reward", "Trials with at most this reward."),
    "min_attempts": Parameter(WHOLE, "--min-attempts", "Trials that took so many attempts or more."),
    "has_error": Parameter(FLAG, "--has-error/--no-error", "Trials with an error message."),
    "has_trajectory": Parameter(FLAG, "--has-trajectory/--no-trajectory", "Trials that left a trajectory."),
    "trial_metric_match": Parameter(
        choice_of(*MATCHES), "--trial-match", "Whether any or all of the trials have to be so. Default: any."
    ),
    "total_trials_min": Parameter(WHOLE, "--min-trials", "Has so many trials or more."),
    "completed_count_min": Parameter(WHOLE, "--min-completed", "So many of its trials succeeded."),
    "failed_count_min": Parameter(WHOLE, "--min-failed", "So many of its trials failed or were cancelled."),
    "pass_count_min": Parameter(WHOLE, "--min-passed", "So many of its trials earned exactly 1."),
    "partial_count_min": Parameter(WHOLE, "--min-partial", "So many earned neither 0 nor 1."),
    "fail_count_min": Parameter(WHOLE, "--min-unsolved", "So many of its trials earned 0."),
    "harness_count_min": Parameter(WHOLE, "--min-errors", "So many of its trials failed and were not cancelled."),
    "avg_score_min": Parameter(NUMBER, "--min-score", "Its mean reward is so many percent or more."),
    "avg_score_max": Parameter(NUMBER, "--max-score", "Its mean reward is at most so many percent."),
    "pass_rate_min": Parameter(NUMBER, "--min-pass-rate", "So many percent of its rewards are 1, or more."),
    "pass_rate_max": Parameter(NUMBER, "--max-pass-rate", "At most so many percent of its rewards are 1."),
    "total_tokens_min": Parameter(WHOLE, "--min-total-tokens", "Its trials took so many tokens together."),
    "total_tokens_max": Parameter(WHOLE, "--max-total-tokens", "Its trials took at most so many tokens."),
    "runtime_total_min": Parameter(NUMBER, "--min-total-runtime", "Its trials took so many seconds together."),
    "runtime_total_max": Parameter(NUMBER, "--max-total-runtime", "They took at most so many seconds together."),
    "runtime_avg_min": Parameter(NUMBER, "--min-mean-runtime", "Its trials took so many seconds on average."),
    "runtime_avg_max": Parameter(NUMBER, "--max-mean-runtime", "They took at most so many seconds on average."),
    "compare_by": Parameter(choice_of(*SUBJECTS), "--compare-by", "What --compare-a and --compare-b name."),
    "compare_a": Parameter(WORD, "--compare-a", "Does better than --compare-b."),
    "compare_b": Parameter(WORD, "--compare-b", "What --compare-a is compared with."),
    "compare_metric": Parameter(choice_of(*METRICS), "--compare-metric", "In what. Default: reward."),
    "compare_agg": Parameter(choice_of(*AGGREGATES), "--compare-agg", "Of its trials what. Default: avg."),
    "compare_margin": Parameter(NUMBER, "--compare-margin", "By how much at least."),
    "compare_margin_unit": Parameter(choice_of(*UNITS), "--compare-margin-unit", "Of the margin. Default: absolute."),
    "top_by": Parameter(choice_of(*SUBJECTS), "--top-by", "What --top names."),
    "top_value": Parameter(WORD, "--top", "None does better on the task, on average."),
    "top_metric": Parameter(choice_of(*METRICS), "--top-metric", "In what. Default: reward."),
}
"""By the name of the member."""
