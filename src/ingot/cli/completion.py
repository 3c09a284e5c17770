"""`ingot completion`: the script with which a shell completes commands, options and models."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script for a shell.

    \b
      bash   eval "$(ingot completion bash)"          in ~/.bashrc
      zsh    eval "$(ingot completion zsh)"           in ~/.zshrc
      fish   ingot completion fish | source           in ~/.config/fish/config.fish
    """
    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(context.find_root().command, {}, "ingot", "_INGOT_COMPLETE").source())
