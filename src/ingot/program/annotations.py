"""Keys in node meta under which passes record decisions for later stages."""

from __future__ import annotations

FROZEN = "ingot_frozen"
"""The value is computed from weights alone: once, and again when one of them changes."""
STORED = "ingot_stored"
"""The value exists for its layout: fusion must not recompute it at its uses."""
