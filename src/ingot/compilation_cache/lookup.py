"""Finding a compiled program, or compiling and keeping it. The cache never fails a compilation:
what cannot be read is removed and compiled anew, what cannot be written is compiled in every
process. Not kept: programs of which a part fell back to PyTorch, since each process has to warn,
and what has no text.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from typing import Any

from torch.utils._python_dispatch import _disable_current_modes

from ingot import observe
from ingot.cache.environment import answer, asking
from ingot.cache.programs import (
    MOST_BYTES,
    ProgramKey,
    is_questions,
    program_entry,
    questions_entry,
    read_program,
    read_questions,
)
from ingot.codegen.jit import code_store
from ingot.collection import without_collection
from ingot.compilation_cache.entry import decode_program, encode_program
from ingot.compilation_cache.graph_text import GraphText, Unencodable
from ingot.compilation_cache.key import Subject, program_key
from ingot.fallback.boundary import Boundary
from ingot.options import Options
from ingot.plan.ir import Plan
from ingot.plan.resources import Resources
from ingot.runtime.glue import emit
from ingot.stages import Compiled, Derivation

log = logging.getLogger("ingot.cache")


def cached(subject: Subject, boundary: Boundary, compile: Callable[[], Compiled]) -> Compiled:
    """The program from the cache, or else compiled and kept there."""
    options = boundary.options
    if not code_store.takes_programs() or _is_watched(options):
        return compile()
    try:
        with _disable_current_modes():
            request = _Request(subject, options)
    except Unencodable as why:
        code_store.not_kept(str(why))
        return compile()
    except Exception:
        log.info("no key for a program", exc_info=True)
        return compile()
    found = request.found(compile)
    if found is not None:
        return found
    with code_store.building(request.key.key()):
        found = request.found(compile)  # built by another process meanwhile
        if found is not None:
            return found
        remedies = boundary.remedies
        with asking() as asked:
            compiled = compile()
        if boundary.remedies != remedies:
            code_store.not_kept("a part of it fell back to PyTorch")
        else:
            request.keep(compiled, list(asked))
    return compiled


def _is_watched(options: Options) -> bool:
    """Must every stage run, because somebody looks at it?"""
    return bool(
        observe.is_heard() or options.dump or options.profile or options.checks or options.target
    )


class _Request:
    def __init__(self, subject: Subject, options: Options):
        self.options = options
        self.graph = GraphText(subject.module)
        self.key = program_key(subject, self.graph, options)
        self.questions: list[str] = []
        """Those that other compilations of this key asked."""
        self._known = self._assumed()

    def _assumed(self) -> Any:
        """What the tracer assumes of sizes. Compiling may add to it; a program from the cache would
        not."""
        env = self.graph.env
        if env is None:
            return None
        ranges = [env.var_to_range.get(symbol) for symbol in self.graph.symbols]
        return len(env.guards), len(env.replacements), env.num_deferred_runtime_asserts, ranges

    @without_collection
    def found(self, compile: Callable[[], Compiled]) -> Compiled | None:
        key = self.key
        try:
            entry = code_store.entry(key.key())
            if entry is not None and is_questions(entry):
                self.questions = read_questions(entry)
                key = self._answered(self.questions)
                entry = code_store.entry(key.key())
            if entry is None:
                return None
            with _disable_current_modes():
                plan, resources = decode_program(read_program(entry), self.graph, self.options)
                return _recalled(plan, resources, self.options, compile)
        except Exception as error:  # errors of any type: the entry is not trusted to be whole
            log.info("an entry of the cache is removed: %s: %s", type(error).__name__, error)
            code_store.discard(key.key())
            return None

    def _answered(self, questions: list[str]) -> ProgramKey:
        found = [answer(question, self.options.tuning) for question in questions]
        return self.key.answered(questions, found)

    def keep(self, compiled: Compiled, questions: list[str]) -> None:
        try:
            if self._assumed() != self._known:
                raise Unencodable("compiling it added assumptions about sizes")
            program = encode_program(compiled, self.graph)
            if max(len(program), len(self.key.graph)) > MOST_BYTES // 2:  # as JSON, with escapes
                raise Unencodable("the program is too large")
            key = self._placed(list(dict.fromkeys([*self.questions, *questions])))
            code_store.keep(key.key(), program_entry(key, program))
            code_store.missed(key.key())
        except Unencodable as why:
            code_store.not_kept(str(why))
        except Exception:
            log.info("a program is not kept", exc_info=True)

    def _placed(self, questions: list[str]) -> ProgramKey:
        """The key with the answers. What is asked may depend on earlier answers, so questions add
        up."""
        if not questions:
            return self.key
        if questions != self.questions:
            code_store.discard(self.key.key())
            code_store.keep(self.key.key(), questions_entry(questions))
        return self._answered(questions)


def _recalled(
    plan: Plan, resources: Resources, options: Options, compile: Callable[[], Compiled]
) -> Compiled:
    runner = emit(plan, resources, options)

    @cache
    def derive() -> Derivation:
        return compile().derive()

    return Compiled(
        runner.run, derive, runner.source, plan, resources, runner.prepared, runner.segments
    )
