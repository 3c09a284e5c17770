"""Golden tests of the text forms of programs."""
