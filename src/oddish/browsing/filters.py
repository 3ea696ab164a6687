"""The filter: everything that tasks can be chosen by. Its members are named as the parameters of a request."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import datetime

from oddish.browsing.flaws import Flaw
from oddish.browsing.search import Search
from oddish.browsing.values import Minimums

ALL = "all"

type Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Filter:
    """What a task has to be. What is None or empty asks for nothing.

    Trials are those that count of the current version: nothing has replaced them, and they are no probes unless these
    are asked for. The filters about trials first say which of them are looked at, then what any or all of those have
    to be.
    """

    query: Search | None = None
    tags: Words = ()
    tags_any: Words = ()
    tags_none: Words = ()
    author: Words = ()
    statuses: Words = ()
    priorities: Words = ()
    created_after: datetime | None = None
    created_before: datetime | None = None
    has_link: bool | None = None
    run_analysis: bool | None = None
    run_probe: bool | None = None
    experiment_ids: Words = ()

    models: Words = ()
    agents: Words = ()
    agent_models: Words = ()
    providers: Words = ()
    environments: Words = ()
    trial_statuses: Words = ()
    origins: Words = ()
    trial_is_probe: bool | None = None
    harbor_shas: Words = ()
    harbor_stages: Words = ()
    trial_finished_after: datetime | None = None
    trial_finished_before: datetime | None = None

    min_steps: int | None = None
    max_steps: int | None = None
    min_duration_seconds: float | None = None
    max_duration_seconds: float | None = None
    min_tool_calls: int | None = None
    max_tool_calls: int | None = None
    tool_names: Words = ()
    tool_count_mins: Minimums = ()
    min_tokens: int | None = None
    max_tokens: int | None = None
    reward_min: float | None = None
    reward_max: float | None = None
    min_attempts: int | None = None
    has_error: bool | None = None
    has_trajectory: bool | None = None
    trial_metric_match: str | None = None

    total_trials_min: int | None = None
    completed_count_min: int | None = None
    failed_count_min: int | None = None
    pass_count_min: int | None = None
    partial_count_min: int | None = None
    fail_count_min: int | None = None
    harness_count_min: int | None = None
    avg_score_min: float | None = None
    avg_score_max: float | None = None
    pass_rate_min: float | None = None
    pass_rate_max: float | None = None
    total_tokens_min: int | None = None
    total_tokens_max: int | None = None
    runtime_total_min: float | None = None
    runtime_total_max: float | None = None
    runtime_avg_min: float | None = None
    runtime_avg_max: float | None = None

    compare_by: str | None = None
    compare_a: str | None = None
    compare_b: str | None = None
    compare_metric: str | None = None
    compare_agg: str | None = None
    compare_margin: float | None = None
    compare_margin_unit: str | None = None
    top_by: str | None = None
    top_value: str | None = None
    top_metric: str | None = None

    or_groups: tuple["Filter", ...] = ()
    """Of one of these the task has to be all, too."""

    @property
    def looks_at_trials(self) -> bool:
        """It says which trials, or what these have to be."""
        return any(getattr(self, name) not in (None, ()) for name in _OF_TRIALS)

    @property
    def names(self) -> tuple[Words, ...]:
        """Of each of the filters that take some."""
        values = (getattr(self, member.name) for member in fields(self) if member.name not in _NO_NAMES)
        return tuple(value for value in values if isinstance(value, tuple))

    @property
    def match_all(self) -> bool:
        return self.trial_metric_match == ALL

    def check(self) -> None:
        """Raises ``Flaw`` for members that contradict each other, by their names."""
        for least, most in bounds():
            low, high = getattr(self, least), getattr(self, most)
            if low is not None and high is not None and low > high:
                raise Flaw(f"{least} is above {most}", fix="Exchange them, or leave one out.")
        _together(self, "compare_by", "compare_a", "compare_b", also=_COMPARISON)
        _together(self, "top_by", "top_value", also=("top_metric",))
        if self.compare_margin is not None and self.compare_margin < 0:
            raise Flaw("compare_margin is below 0", fix="Exchange compare_a and compare_b.")


_NO_NAMES = ("tool_count_mins", "or_groups")
_MEMBERS = [member.name for member in fields(Filter)]
_OF_TRIALS = _MEMBERS[_MEMBERS.index("models") : _MEMBERS.index("trial_metric_match")]
_COMPARISON = ("compare_metric", "compare_agg", "compare_margin", "compare_margin_unit")


def bounds() -> Iterator[tuple[str, str]]:
    """Pairs of members of which the first is not to be above the second."""
    names = [member.name for member in fields(Filter)]
    for name in names:
        for least, most in (("min", "max"), ("after", "before")):
            other = "_".join(most if part == least else part for part in name.split("_"))
            if other != name and other in names:
                yield name, other


def _together(wanted: Filter, *names: str, also: tuple[str, ...]) -> None:
    given = [name for name in (*names, *also) if getattr(wanted, name) is not None]
    missing = [name for name in names if name not in given]
    if given and missing:
        raise Flaw(f"{missing[0]} is missing, which {given[0]} needs", fix=f"Give {', '.join(names)} together.")
