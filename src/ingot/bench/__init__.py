"""Measurements of a model side by side: contenders, each in a process of its own, timed in turns.
Used by `ingot bench` and by the scripts in `bench/`, which also measure earlier commits of ingot:
therefore no module here imports another part of ingot before it measures it.
"""
