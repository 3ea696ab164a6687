"""The JSON of the HTTP interface."""
