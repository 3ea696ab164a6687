"""What an operator asks of the queue: how full it is, who works on it, and what is stuck. Nothing here changes it.

Worker ids and counts of a key are those of all organisations, which share the workers and the limits. What names a
trial, or tells of one, is the caller's organisation's alone.
"""
