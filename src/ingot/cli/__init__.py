"""The command line, `ingot`."""

from ingot.cli.group import main

__all__ = ["main"]
