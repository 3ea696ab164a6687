"""What was spent: attempts added up by hour, and reports of it."""
