"""How much one request may ask for: all of it together is found among 100,000 trials within half a second."""

MOST_GROUPS = 10
MOST_NEEDLES = 16
MOST_NAMES = 100
MOST_LOOKS = 4
"""Filters and groups that each look at the trials of every task."""
MOST_COMPARISONS = 2
MOST_MINIMUMS = 20
LONGEST_TEXT = 20_000
"""Characters of one parameter."""
LONGEST_SEARCH = 1000
LONGEST_NAME = 255
