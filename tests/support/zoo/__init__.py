"""Tasks like those people write, to compare environments by: each says what comes of it in each."""

from support.zoo import building, composing, refusing, running
from support.zoo.case import Case

CASES: tuple[Case, ...] = (*building.CASES, *running.CASES, *composing.CASES, *refusing.CASES)
