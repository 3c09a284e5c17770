"""Passes from Plan to Plan."""
