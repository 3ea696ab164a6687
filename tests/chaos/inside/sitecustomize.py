"""Loaded by the interpreter of a worker that has this directory on its ``PYTHONPATH``, before all else."""

import os
import traceback

try:
    if clock_file := os.environ.get("CHAOS_CLOCK"):
        from chaos.clocks import follow

        follow(clock_file)
    if breakage := os.environ.get("CHAOS_BREAKAGE"):
        from chaos.breakages import BREAKAGES

        BREAKAGES[breakage].apply()
except BaseException:  # noqa: BLE001 - the interpreter would go on without it
    traceback.print_exc()
    os._exit(70)
