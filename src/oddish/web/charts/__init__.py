"""Charts as SVG, drawn in Python: the same input gives the same text, and a stylesheet gives it its colours.

Each chart is a ``<figure>`` that stretches to the width it is given, with a title and a description for those who do
not see it, and its data as a table beside it. Series differ by colour, dash and marker. Nothing is styled inline.
"""
