"""Run agent evaluations written in the Harbor task format."""

__version__ = "0.1.0"
