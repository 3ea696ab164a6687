"""Datasets of an organisation that the server shows: one archive of a results directory each, kept in the store."""
