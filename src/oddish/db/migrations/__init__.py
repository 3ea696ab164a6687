"""Schema migrations: one linear chain, forward only."""
