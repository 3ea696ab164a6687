"""Sandboxes on one Linux machine without a container engine: namespaces, overlays, control groups, seccomp."""
