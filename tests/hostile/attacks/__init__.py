"""Attacks written by hand. Each turns a valid file into an invalid one and states what the error
must name: a member and a path inside it.
"""

from __future__ import annotations

from . import archives, code, documents, graphs, tensors
from .registry import ATTACKS, Attack, canary_of

__all__ = ["ATTACKS", "Attack", "archives", "canary_of", "code", "documents", "graphs", "tensors"]
