"""Trials that were run elsewhere: their archives are read here, judged by what they recorded, and never queued."""
