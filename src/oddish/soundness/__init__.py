"""Whether a task can be trusted, as far as its files tell. Standard library only: the command line imports it."""
