"""Agents of our own, which Harbor loads by their import path."""
