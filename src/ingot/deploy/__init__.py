"""Compiled programs for C: a static library, a header and the weights."""
