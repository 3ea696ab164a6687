"""Copies of trials and tasks on this machine, laid out as Harbor does.

``<folder>/trials`` is a Harbor job, ``<folder>/trials/<trial id>`` a Harbor trial, ``<folder>/tasks/<task id>/files`` a
task. Everything that a server says is taken as hostile: nothing is written outside of the folder or through a link.
"""
