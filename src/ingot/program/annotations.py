"""Names under which passes leave decisions in the meta of a node for the stages that follow."""

from __future__ import annotations

FROZEN = "ingot_frozen"
"""The value is computed from weights alone: once, and again when one of them changes."""
STORED = "ingot_stored"
"""The value exists for its layout: fusion must not compute it again where it is read."""
