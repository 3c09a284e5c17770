"""`ingot`: the group of all commands. A command imports what it needs when it runs: help and
completion start at once.
"""

from __future__ import annotations

from typing import Any

import click

from ingot.cli.bench import bench
from ingot.cli.cache import cache
from ingot.cli.compile import compile_
from ingot.cli.completion import completion
from ingot.cli.doctor import doctor
from ingot.cli.errors import presented
from ingot.cli.explain import explain
from ingot.cli.export import export
from ingot.cli.run import run
from ingot.cli.tune import tune
from ingot.cli.zoo import zoo
from ingot.errors import did_you_mean
from ingot.version import __version__


class Group(click.Group):
    """Shows every failure as a message; suggests names for an unknown command."""

    def invoke(self, context: click.Context) -> Any:
        with presented(bool(context.params.get("with_traceback"))):
            return super().invoke(context)

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        known = self.list_commands(context)
        if self.get_command(context, name) is None and not name.startswith("-"):
            context.fail(f"no command {name!r}: {did_you_mean(name, known)}")
        return super().resolve_command(context, args)

    def list_commands(self, context: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ingot")
@click.option("--traceback", "with_traceback", is_flag=True, help="Show where an error was raised.")
def main(with_traceback: bool) -> None:
    """A compiler for PyTorch programs.

    \b
    A MODEL is one of
      path.py:name         a module, a class, a function, or a function that makes
      package.module:name    one, with or without its inputs; name(...) calls it
      hf:architecture      a transformers model type, class or folder
      file.ingot           what `ingot compile` wrote

    \b
    Exit codes: 0 done; 1 the model fails, is refused, or a check finds a
    difference; 2 a wrong command line; 3 a bug in ingot; 130 interrupted.
    """


for command in (compile_, run, explain, bench, export, tune, zoo, cache, doctor, completion):
    main.add_command(command)
