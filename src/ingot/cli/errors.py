"""What a command prints when it fails, and its exit code:

0  the command did what it was asked to
1  the model raises, ingot refuses it, or a check found a difference
2  the command line is wrong: an unknown option, model, input
3  a bug in ingot
130  interrupted

An error of the user's program is shown as its own message and line. The frames between are those of
PyTorch and ingot; `ingot --traceback COMMAND` shows them.
"""

from __future__ import annotations

import logging
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

import click

from ingot.errors import IngotError, IngotWarning, Place

if TYPE_CHECKING:
    from ingot.cli.models import Workload

FAILED, BUG, INTERRUPTED = 1, 3, 130
_TRACERS = ("torch._subclasses.fake_tensor", "torch.export._trace", "torch._dynamo.convert_frame")
"""PyTorch's loggers that print errors which are raised as well."""
_LIBRARY = "the error is raised inside of PyTorch or a library, which your program calls"


class Failure(click.ClickException):
    """The message is complete; it ends the command."""

    exit_code = FAILED

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"Error: {self.message}", err=True)


class Bug(Failure):
    exit_code = BUG


class UserError(Failure):
    """An exception of the user's program."""

    def __init__(self, error: BaseException, what: str):
        """`what`: what was done, such as "calling model.py:net with x: float32[8]"."""
        place = place_of(error)
        lines = [f"{type(error).__name__}: {_indented(str(error))}".rstrip(": ")]
        lines.append(f"  at {place}" if place is not None else f"  {_LIBRARY}")
        super().__init__("\n".join([*lines, f"  {what}"]))


def place_of(error: BaseException) -> Place | None:
    """The innermost line of the user's program."""
    from ingot.capture.trouble import error_place

    if isinstance(error, SyntaxError) and error.filename is not None:
        return Place(error.filename, error.lineno or 0, (error.text or "").strip())
    return error_place(error) if isinstance(error, Exception) else None


def _indented(text: str) -> str:
    return "\n  ".join(text.strip().splitlines())


@contextmanager
def users_code(what: str) -> Iterator[None]:
    """Runs code of the user's: whatever it raises is its own error."""
    try:
        yield
    except (click.ClickException, click.exceptions.Exit, click.Abort, IngotError):
        raise
    except SystemExit as error:
        raise Failure(
            f"the program exits ({error.code}) while it is imported\n"
            '  hint: put its main part under if __name__ == "__main__":'
        ) from error
    except Exception as error:
        raise UserError(error, what) from error


@contextmanager
def running(workload: Workload) -> Iterator[None]:
    """Compiles or runs the workload. If that fails and the model fails in eager as well, the error
    is the model's."""
    try:
        with quiet_logs():
            yield
    except click.ClickException:
        raise
    except Exception:
        with users_code(f"calling {workload.called()}"):
            workload.call_eager()
        raise


@contextmanager
def presented(with_traceback: bool) -> Iterator[None]:
    """Turns whatever a command raises into a message and an exit code."""
    try:
        with shown_warnings():
            yield
    except (click.exceptions.Exit, click.Abort):
        raise
    except click.ClickException as error:
        if with_traceback and not isinstance(error, click.UsageError):
            _print_traceback(error.__cause__ or error)
        raise
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    except BrokenPipeError:
        raise
    except Exception as error:
        if with_traceback:
            _print_traceback(error)
        raise failure_of(error) from error


def failure_of(error: Exception) -> click.ClickException:
    if isinstance(error, IngotError):
        return Failure(str(error))
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return Failure(f"{where}{error.strerror or error}")
    return Bug(
        f"{type(error).__name__}: {_indented(str(error))}\n"
        "  this is a bug in ingot\n"
        "  hint: ingot --traceback COMMAND … shows where it was raised"
    )


@contextmanager
def quiet_logs() -> Iterator[None]:
    """PyTorch logs the tracebacks of its tracers, whose errors are raised as well."""

    def is_worse(record: logging.LogRecord) -> bool:
        return record.levelno > logging.ERROR

    loggers = list(map(logging.getLogger, _TRACERS))
    for logger in loggers:
        logger.addFilter(is_worse)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(is_worse)


def _print_traceback(error: BaseException) -> None:
    click.echo("".join(traceback.format_exception(error)), err=True)


@contextmanager
def shown_warnings() -> Iterator[None]:
    """Warnings of ingot without the line of ingot that warns."""
    before: Callable[..., Any] = warnings.showwarning

    def show(message: Any, category: type[Warning], *rest: Any, **named: Any) -> None:
        if issubclass(category, IngotWarning):
            click.echo(f"Warning: {_indented(str(message))}", err=True)
        else:
            before(message, category, *rest, **named)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield
