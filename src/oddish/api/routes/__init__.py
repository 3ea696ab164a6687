"""Routers by resource."""
