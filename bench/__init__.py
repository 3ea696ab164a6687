"""The figures that oddish holds itself to, each beside a peer that is measured in the same run: ``scripts/bench``."""
