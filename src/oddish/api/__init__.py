"""The HTTP server: routes, who may call them, and how refusals look."""
