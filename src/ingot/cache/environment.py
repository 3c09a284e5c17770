"""What a compilation looks up outside of its input: the number of threads, tuning records. These
are no part of the key of what it made. The cache keeps the questions instead, asks them again, and
takes an entry only if the answers are those that it was made with. Most compilations ask nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

Answer = Callable[[Sequence[str], str], str]
"""Gets the rest of the question, and the folder of tuning files as the options have it."""
_THREADS, _ALONE = "threads", "one thread"
_asked: ContextVar[dict[str, None] | None] = ContextVar("ingot_asked", default=None)
_answers: dict[str, Answer] = {}


def answers(kind: str) -> Callable[[Answer], Answer]:
    """Registers the function that answers questions of one kind."""

    def register(function: Answer) -> Answer:
        assert kind not in _answers, kind
        _answers[kind] = function
        return function

    return register


def ask(kind: str, *rest: str) -> None:
    """Record that the current compilation depends on the answer."""
    asked = _asked.get()
    if asked is not None:
        asked["\n".join((kind, *rest))] = None


@contextmanager
def asking() -> Iterator[dict[str, None]]:
    """The questions that are asked inside, in their order."""
    found: dict[str, None] = {}
    token = _asked.set(found)
    try:
        yield found
    finally:
        _asked.reset(token)


def answer(question: str, tuning: str) -> str:
    """The answer now. Raises KeyError for a question of an unknown kind."""
    kind, *rest = question.split("\n")
    return _answers[kind](rest, tuning)


def thread_count() -> int:
    """torch.get_num_threads(), for decisions of the compiler."""
    ask(_THREADS)
    return _threads()


def is_single_threaded() -> bool:
    ask(_ALONE)
    return _threads() == 1


def _threads() -> int:
    import torch  # `ingot cache` runs without it

    return torch.get_num_threads()


@answers(_THREADS)
def _thread_count(rest: Sequence[str], tuning: str) -> str:
    return str(_threads())


@answers(_ALONE)
def _is_single(rest: Sequence[str], tuning: str) -> str:
    return str(_threads() == 1)
