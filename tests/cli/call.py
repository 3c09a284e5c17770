"""A command in this process."""

from __future__ import annotations

from click.testing import CliRunner, Result

from ingot.cli import main


def ingot(*words: object, code: int = 0, typed: str | None = None) -> Result:
    """The command ends with this exit code and without a traceback."""
    result = CliRunner().invoke(main, list(map(str, words)), input=typed)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def flat(result: Result) -> str:
    """What it printed, without line breaks and borders."""
    return " ".join(result.output.replace("│", "").split())


def refused(*words: object) -> str:
    """What is printed about a wrong command line."""
    return flat(ingot(*words, code=2))


def failed(*words: object) -> str:
    """What is printed about a command that fails."""
    return ingot(*words, code=1).output
