"""The group: help, version, completion, progress."""

from __future__ import annotations

import io
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from ingot.cli import main, progress
from ingot.cli.completion import SHELLS

from .call import ingot


def commands() -> list[tuple[str, ...]]:
    found = []
    for name, command in main.commands.items():
        found.append((name,))
        if isinstance(command, click.Group):
            found += [(name, each) for each in command.commands]
    return found


@pytest.mark.parametrize("path", commands(), ids=" ".join)
def test_every_command_has_help(path: tuple[str, ...]) -> None:
    text = ingot(*path, "--help").output
    assert text.startswith(f"Usage: ingot {' '.join(path)}") or "Usage: main" in text
    command: click.Command = main
    for name in path:
        assert isinstance(command, click.Group)
        command = command.commands[name]
    assert command.help and command.help[0].isupper()
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help and parameter.help.endswith("."), parameter.name


def test_help_says_what_a_model_is_and_the_exit_codes() -> None:
    text = ingot("--help").output
    for part in ("path.py:name", "hf:architecture", "file.ingot", "Exit codes: 0 done; 1 "):
        assert part in text
    assert ingot("-h").output == text


def test_help_and_errors_of_words_import_no_torch() -> None:
    code = (
        "import sys\nfrom ingot.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "assert 'torch' not in sys.modules\n"
    )
    for words in (["--help"], ["bench", "--help"], ["rnu"], ["completion", "zsh"]):
        done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


# -- completion ------------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_scripts(shell: str) -> None:
    text = ingot("completion", shell).output
    assert "_INGOT_COMPLETE" in text and f"{shell}_complete" in text


def test_an_unknown_shell() -> None:
    assert "bash" in ingot("completion", "tcsh", code=2).output


def completed(incomplete: str, *words: str) -> list[str]:
    shell = ShellComplete(main, {}, "ingot", "_INGOT_COMPLETE")
    return [item.value for item in shell.get_completions(list(words), incomplete)]


def test_completions(folder: Path) -> None:
    assert completed("comp") == ["compile", "completion"]
    assert completed("--ver", "run") == []
    assert completed("--che", "run") == ["--check"]
    assert completed("users_net.py:ma", "run") == [
        "users_net.py:make_model", "users_net.py:make_sized",
    ]  # fmt: skip
    assert "users_net.py:Net" in completed("users_net.py:", "explain")
    assert completed("no_such.py:", "run") == []
    assert completed("st", "export", "users_net.py:Net", "--to") == ["stablehlo"]
    assert completed("ing", "bench", "users_net.py:Net", "--only") == ["ingot", "ingot ahead"]


def test_architectures_are_completed() -> None:
    pytest.importorskip("transformers")
    assert "hf:bert" in completed("hf:ber", "run")


# -- progress --------------------------------------------------------------------------------------


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("is_terminal", [True, False])
def test_progress_is_for_terminals(monkeypatch: pytest.MonkeyPatch, is_terminal: bool) -> None:
    screen = Screen() if is_terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "AFTER_S", 0.0)
    monkeypatch.setenv("TERM", "xterm-256color")
    with progress.progress("loading") as step:
        time.sleep(0.3)
        step("compiling", done=1, total=2)
        time.sleep(0.3)
    assert ("loading" in screen.getvalue()) is is_terminal
    assert ("compiling" in screen.getvalue()) is is_terminal


def test_progress_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    with progress.progress("loading") as step:
        step("compiling")
    assert screen.getvalue() == "", "two seconds have not passed"
