"""Traces of attempts: what an attempt was made of, as spans for OpenTelemetry, built from what is recorded of it.

Only ``oddish.tracing.export`` knows OpenTelemetry, and nothing imports that before the first trace is sent.
"""
