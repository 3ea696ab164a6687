"""Finding tasks: what can be asked for, as parameters, options and words of a search. Pure; standard library only.

The command line, the HTTP interface and pages read their input with it; ``oddish.trials.matching`` makes SQL of it.
"""

from oddish.browsing.filters import Filter
from oddish.browsing.flaws import InvalidFilter
from oddish.browsing.parameters import Browse, parameters, parse
from oddish.browsing.search import Needle, Search

__all__ = ["Browse", "Filter", "InvalidFilter", "Needle", "Search", "parameters", "parse"]
