"""Tables, migrations and connections. PostgreSQL >= 15 is the only database."""
