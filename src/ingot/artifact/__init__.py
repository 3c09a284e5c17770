"""A Program as a file, and back. Nothing read from a file is evaluated, imported or unpickled."""
