"""Attacks made by hand. Each takes a good file and gives a bad one, and knows what the error has to
name: a member, and a path inside of it.
"""

from __future__ import annotations

from . import archives, code, documents, graphs, tensors
from .registry import ATTACKS, Attack, canary_of

__all__ = ["ATTACKS", "Attack", "archives", "canary_of", "code", "documents", "graphs", "tensors"]
