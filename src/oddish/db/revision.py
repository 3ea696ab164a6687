"""The schema revision this code expects. Standard library only: start-up compares it before importing migrations."""

HEAD = "0020"
