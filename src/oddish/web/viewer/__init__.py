"""The pages of results directories: a module for each, with its view model and what makes it."""
