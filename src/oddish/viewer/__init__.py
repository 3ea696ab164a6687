"""Results directories that other programs write and people look at: read leniently, written strictly.

``docs/viewer.md`` is their contract. Standard library only.
"""
