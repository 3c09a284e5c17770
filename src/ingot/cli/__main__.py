"""`python -m ingot.cli`."""

from ingot.cli.group import main

main(prog_name="ingot")
