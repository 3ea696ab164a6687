"""The job gateway: runs for callers who host their own task archives."""
