"""Who is calling: organisations, users, keys and what a key may do."""
