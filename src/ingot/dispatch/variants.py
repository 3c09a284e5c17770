"""Tables from sizes to built-in variants. A variant fixed by hand takes precedence, then what is
known of this machine, on disk or in memory. Unknown choices are measured in a share of this
process's compile time; if no time is left, the built-in table serves.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from ingot.cache.environment import is_single_threaded
from ingot.dispatch.builtin_variants import CHOICES, FORMER_CHOICES, THREADS, Form, always, tensors
from ingot.dispatch.declare import Dispatch
from ingot.dispatch.folders import has_tuning_files
from ingot.dispatch.ranges import Range, RangeTable, Row
from ingot.dispatch.records import ask_for_folder, ask_for_record, known_record
from ingot.dispatch.tuning_record import TuningRecord
from ingot.errors import OptionError, did_you_mean
from ingot.forks import fork_safe_lock
from ingot.options import Options

MOST_SECONDS = 3.0
"""Per choice."""
LEAST_SECONDS = 1.0
"""Minimum to start measuring: compiling the candidates of one choice takes about this long."""
SURE = 0.8
"""Minimum confidence at which a measurement overrides the built-in table."""
BUSY = 0.75
"""Load per core above which nothing is measured, unless `tune` is inf."""
BY_HAND = "fixed by hand"
Arguments = Callable[[], Mapping[str, Any]]


class _Thread(threading.local):
    since: float | None = None
    """Start of this thread's compilation, moved forward by the time measured in it."""


class Account:
    """Seconds spent compiling and measuring in this process. Measurements made while a program is
    compiled do not count as compiling."""

    def __init__(self) -> None:
        self.measuring = 0.0
        self._compiling = 0.0
        self._lock = fork_safe_lock()
        self._thread = _Thread()

    def left(self, share: float) -> float:
        """Seconds left for measuring, if it may take this share of compiling."""
        if math.isinf(share):
            return MOST_SECONDS
        since = self._thread.since
        running = 0.0 if since is None else time.perf_counter() - since
        return min(MOST_SECONDS, share * (self._compiling + running) - self.measuring)

    @contextmanager
    def compile(self) -> Iterator[None]:
        thread = self._thread
        if thread.since is not None:
            yield
            return
        thread.since = time.perf_counter()
        try:
            yield
        finally:
            with self._lock:
                self._compiling += time.perf_counter() - thread.since
            thread.since = None

    @contextmanager
    def measure(self) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            seconds = time.perf_counter() - start
            with self._lock:
                self.measuring += seconds
            if self._thread.since is not None:
                self._thread.since += seconds


account = Account()


@dataclass(frozen=True)
class Chosen:
    """A choice that was made, for the report."""

    name: str
    setting: str
    """The arguments without the size that decides."""
    variants: tuple[str, ...]
    table: RangeTable
    seconds: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    """By size and variant, if measured."""

    def times(self) -> tuple[str, ...]:
        """A line for each measured size."""
        return tuple(
            f"{size}: " + ", ".join(f"{variant} {s * 1e6:.1f} µs" for variant, s in times.items())
            for size, times in self.seconds.items()
        )


class Variants:
    """The built-in variants of one compilation."""

    def __init__(self, options: Options):
        self.options = options
        self.fixed = fixed_variants(options.variants)
        self.made: dict[tuple[str, str], Chosen] = {}
        """By choice and setting."""
        self._tables: dict[Any, RangeTable] = {}
        """Cached answers: the layers of a model make the same requests."""

    @property
    def packs(self) -> bool:
        """May weights of matmuls be packed? Fusion with a matmul requires it."""
        return self.fixed.get("matmul") != "library"

    def table(
        self,
        name: str,
        forms: Mapping[str, Form],
        built_in: RangeTable,
        needed: Range | None = None,
    ) -> RangeTable:
        """The variant for each size of arguments of these forms. `needed`: the possible sizes."""
        asked = (name, tuple(forms.items()), built_in, needed)
        if asked not in self._tables:
            self._tables[asked] = self._looked_up(name, forms, built_in, needed)
        return self._tables[asked]

    def _looked_up(
        self, name: str, forms: Mapping[str, Form], built_in: RangeTable, needed: Range | None
    ) -> RangeTable:
        choice = CHOICES[name]
        if name in self.fixed:
            return self._noted(name, "", always(self.fixed[name], BY_HAND), None)
        operation = choice.operation
        shared = choice.variants == THREADS
        record = self.record(operation, lambda: tensors(**forms), needed, shared)
        if record is None:
            return self._noted(name, "", covered(RangeTable(()), built_in), None)
        known = [
            row
            for row in record.table.rows
            if row.serves in choice.variants and row.confidence >= SURE
        ]
        table = covered(RangeTable(tuple(known)), built_in)
        return self._noted(name, record.setting, table, record)

    def record(
        self,
        operation: Dispatch,
        arguments: Arguments,
        needed: Range | None = None,
        shared: bool = False,
    ) -> TuningRecord | None:
        """The record of an op, measured now if there is time for it. `shared`: the choice is
        whether threads share the work; one thread has none."""
        from ingot.dispatch.tune import record_for

        if not self.options.tune:
            ask_for_folder()
            if not has_tuning_files(self.options.tuning):
                return None
        if shared and is_single_threaded():
            return None
        bound = arguments()
        ask_for_record(operation, bound, self.options)
        seconds = account.left(self.options.tune)
        if seconds < LEAST_SECONDS or _busy(self.options.tune):
            return known_record(operation, bound, self.options)
        quiet = replace(self.options, tune=0.0)
        wanted = None if needed is None else [needed]
        with account.measure():
            return record_for(operation, bound, needed=wanted, budget=seconds, options=quiet)

    def _noted(
        self, name: str, setting: str, table: RangeTable, record: TuningRecord | None
    ) -> RangeTable:
        samples = {} if record is None else {s.sizes[0]: s.seconds for s in record.samples}
        chosen = Chosen(name, setting, CHOICES[name].variants, table, samples)
        self.made[name, setting] = chosen
        return table


def _busy(share: float) -> bool:
    return not math.isinf(share) and os.getloadavg()[0] > BUSY * (os.cpu_count() or 1)


def covered(known: RangeTable, built_in: RangeTable) -> RangeTable:
    """The known rows, completed by the built-in ones."""
    rows = list(known.rows)
    starts = sorted({r.box[0].low for r in (*known.rows, *built_in.rows)}
                    | {r.box[0].high + 1 for r in rows if r.box[0].high is not None})  # fmt: skip
    found = []
    for k, low in enumerate(starts):
        row = known.row([low]) or built_in.row([low])
        assert row is not None, "a built-in table covers every size"
        high = starts[k + 1] - 1 if k + 1 < len(starts) else None
        found.append(Row((Range(low, high),), row.serves, row.confidence, row.why))
    return RangeTable(tuple(found)).merged()


def fixed_variants(text: str) -> dict[str, str]:
    """Parse the option `variants`, such as "matmul=library, reduction=split"."""
    found = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, variant = part.partition("=")
        name = FORMER_CHOICES.get(name, name)
        if name not in CHOICES:
            raise OptionError(f"variants={text!r}", hints=[did_you_mean(name, CHOICES)])
        known = CHOICES[name].variants
        if variant not in known:
            why = f"unknown variant for {name}: {variant!r}; choose {_alternatives(known)}"
            raise OptionError(f"variants={text!r}", hints=[why])
        found[name] = variant
    return found


def _alternatives(names: Sequence[str]) -> str:
    quoted = [repr(name) for name in names]
    return " or ".join(quoted) if len(quoted) < 3 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"
