"""Error codes of kernels."""

ZERO_DIVISION = 1
OUT_OF_RANGE = 2
"""Eager raises an IndexError."""
OUT_OF_BOUNDS = 3
"""Eager raises a RuntimeError."""
