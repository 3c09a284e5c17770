"""Runs several steps on one team of threads: waking it for each of them costs more than small steps
take. `parallel_region` is a step that runs a table of functions, each of which does the share of
the calling thread. No thread starts a step before all have finished the previous one. If one thread
is enough or the only one allowed, the table runs on the caller's.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ingot.codegen.mlir.builder import Builder
from ingot.codegen.mlir.openmp import barrier, most_threads, start_threads
from ingot.codegen.support.native_control_flow import BASES, PAIR, StepWriter
from ingot.ops.values import Ptr, Val


def fill_frame(b: Builder, step: Ptr, frame: Ptr) -> tuple[Ptr, Ptr]:
    """Fills the frame of a step of a table: (the step's function, the next step)."""
    function = b.as_pointer(b.load_word(step))
    count, words = b.load_word(b.word_at(step, 1)), b.word_at(step, 2)
    b.invoke("fill", [frame, words, count, BASES])
    return function, b.row_at(words, count, PAIR)


def parallel_region_functions(frame_words: int) -> dict[str, str]:
    """Function texts by name; they call @fill."""
    return {"share": _share(frame_words), "parallel_region": _team()}


def _team() -> str:
    w = StepWriter()
    b = w.b
    data = b.slot(torch.int64, count=2)
    b.store_register(data, w.pointer(0))
    b.store_register(b.word_at(data, 1), BASES)
    threads = b.minimum(w.word(1), most_threads(b))
    b.either(
        b.cmp("gt", threads, w.one),
        lambda: start_threads(b, "share", data, threads),
        lambda: b.invoke("share", [data]),
    )
    return w.text("parallel_region", w.zero)


def _share(frame_words: int) -> str:
    """The function of each thread: all steps, with a barrier after each but the last."""
    b, data = Builder(1), Ptr("%data")
    frame, zero = b.slot(torch.int64, count=frame_words), b.const(0, torch.int64)
    table = b.load_pointer(data)
    b.define(BASES, b.word_at(data, 1))

    def is_step(at: Ptr) -> Val:
        return b.cmp("ne", b.load_word(at), zero)

    def step(state: Sequence[Ptr]) -> list[Ptr]:
        function, following = fill_frame(b, state[0], frame)
        b.invoke(function, [frame])
        with b.when(is_step(following)):
            barrier(b)
        return [following]

    b.repeat_while([table], lambda state: is_step(state[0]), step)
    return b.function("share", [data])
