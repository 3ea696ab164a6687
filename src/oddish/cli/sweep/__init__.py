"""Files that say what to run: sweeps of our own, and the jobs of Harbor."""
