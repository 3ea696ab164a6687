"""Prints what comes of every task of the zoo in each environment, side by side."""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence

from support.zoo import CASES
from support.zoo.case import Case, Failed, Solved
from support.zoo.outing import ENVIRONMENTS, Outing, differs, expected, left_out, outing


def result(case: Case, environment: str, came_to: Outing) -> str:
    """One word, and what was said of it where it differs from what the case says."""
    if left_out(case, environment):
        return "left out"
    if difference := differs(case, environment, came_to):
        return f"NOT AS SAID: {' '.join(difference.split())[:200]}"
    match expected(case, environment):
        case Solved():
            return "solved"
        case Failed():
            return "failed"
        case _:
            return "refused"


def reasons(case: Case, environments: tuple[str, ...]) -> str:
    said = [case.why] if case.why else []
    omitted = [f"{environment}: {reason}" for environment in environments if (reason := left_out(case, environment))]
    return "; ".join(said + omitted)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/zoo", description=__doc__)
    parser.add_argument("environments", nargs="*", choices=ENVIRONMENTS, help="by default, all of them")
    environments: tuple[str, ...] = tuple(parser.parse_args(arguments).environments) or ENVIRONMENTS
    outings = {environment: outing(environment) for environment in environments}
    print(" | ".join(("task", "shows", *environments, "reason")))
    counts = {environment: Counter[str]() for environment in environments}
    for case in CASES:
        row = {environment: result(case, environment, outings[environment]) for environment in environments}
        for environment, word in row.items():
            counts[environment][word.partition(":")[0]] += 1
        print(" | ".join((case.name, case.shows, *row.values(), reasons(case, environments))))
    for environment, count in counts.items():
        print(f"{environment}: " + ", ".join(f"{number} {word}" for word, number in sorted(count.items())))
    return int(any(count["NOT AS SAID"] for count in counts.values()))


if __name__ == "__main__":
    sys.exit(main())
