"""What a program loads as it starts is not searched for garbage."""

import gc
import subprocess
import sys

from oddish import loading


def test_nothing_is_searched_meanwhile_and_what_comes_later_is() -> None:
    with loading.for_good():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_what_was_loaded_is_not_searched_later() -> None:
    program = (
        "import gc; from oddish import loading\n"
        "with loading.for_good(): import json; kept = []\n"
        "print(any(one is kept for one in gc.get_objects()))"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout == "False\n"
