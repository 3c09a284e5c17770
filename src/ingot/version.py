"""The version of ingot. The build, the command line and files take it from here."""

__version__ = "0.1.0"
