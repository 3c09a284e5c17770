"""The command line, `ingot`."""

from ingot.cli.commands import main

__all__ = ["main"]
