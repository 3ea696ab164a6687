"""Backups of what a local stack keeps: the database, on request its files and its secret key.

``oddish backup`` and ``oddish restore`` run ``python -m oddish.backup``.
"""
