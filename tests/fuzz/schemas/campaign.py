"""Runs many seeds on several pairs of workers and summarises the findings."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from .check import DEFAULT_OPTIONS, Finding, options_of
from .expected import known
from .minimise import kind_of, minimise
from .program import Program
from .script import script
from .workers import Died, Report, Worker


@dataclass
class Fault:
    """A difference caused by ingot, or the death of the process."""

    seed: int
    mode: str
    program: Program
    signature: str
    kind: str
    """The property that minimisation preserves."""
    detail: str
    options: dict[str, Any]
    shared: bool = False
    """The control differs from eager in the same way, and neither raises."""

    def header(self) -> str:
        where = f"seed {self.seed}, {self.mode}, {self.options}"
        return f"{where}: {self.signature}\n{self.detail[:3000]}"


@dataclass
class Summary:
    programs: int = 0
    runs: Counter[str] = field(default_factory=Counter)
    tried: int = 0
    accepted: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    ops: set[str] = field(default_factory=set)
    upstream: Counter[str] = field(default_factory=Counter)
    expected: Counter[str] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)
    shared: list[Fault] = field(default_factory=list)
    """Silent differences of PyTorch's own tracing, which ingot inherits."""
    broken: list[str] = field(default_factory=list)
    """Errors of the fuzzer itself."""

    def text(self) -> str:
        names = {op.split(".")[0] for op in self.ops}
        share = 100 * (1 - self.accepted / max(self.tried, 1))
        modes = ", ".join(f"{name} {count}" for name, count in sorted(self.runs.items()))
        lines = [
            f"{self.programs} programs; runs: {modes}",
            f"{len(names)} ops, {len(self.ops)} overloads; {share:.0f} % of {self.tried} "
            "statements drawn were rejected",
            f"programs dropped: {dict(self.dropped)}",
        ]
        for title, counts in (("upstream", self.upstream), ("expected", self.expected)):
            lines.append(f"{title}: {sum(counts.values())}")
            lines += [f"  {count} × {text}" for text, count in counts.most_common(12)]
        classes = Counter(fault.signature for fault in self.faults)
        lines += [f"  silent: seed {each.seed}, {each.signature}" for each in self.shared]
        lines.append(f"differences: {len(self.faults)} in {len(classes)} classes")
        lines += [f"  {count} × {text}" for text, count in classes.most_common()]
        return "\n".join([*lines, *(f"fuzzer failed: {text[-800:]}" for text in self.broken)])


class Campaign:
    def __init__(
        self,
        options: Mapping[str, Any] = DEFAULT_OPTIONS,
        modes: int = 2,
        folder: Path | None = None,
        trials: int = 60,
    ) -> None:
        self.options = dict(options)
        self.modes = modes
        self.folder = folder
        """Folder for reproducers; None writes none."""
        self.trials = trials
        """Trials of the minimiser for each class."""
        self.summary = Summary()
        self.lock = Lock()
        self.seen: set[str] = set()

    def run(self, seeds: Iterator[int], workers: int = 1, until: float = float("inf")) -> Summary:
        """Run until the seeds or the time are exhausted."""
        guarded = iter(seeds)
        if workers == 1:
            self._work(guarded, until)
            return self.summary
        threads = [Thread(target=self._work, args=(guarded, until)) for _ in range(workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return self.summary

    def _work(self, seeds: Iterator[int], until: float) -> None:
        drawer, runner = Worker(), Worker()
        try:
            while time.monotonic() < until:
                with self.lock:
                    seed = next(seeds, None)
                if seed is None:
                    return
                for fault in self._one(seed, drawer, runner):
                    self._write(fault, runner)
        finally:
            drawer.close()
            runner.close()

    def _one(self, seed: int, drawer: Worker, runner: Worker) -> list[Fault]:
        try:
            report = drawer.run("draw", seed)
        except Died as death:
            self._count_dropped("eager dies: " + str(death).split(": ")[-1].split("(")[0])
            return []
        except RuntimeError as error:
            self.summary.broken.append(f"seed {seed}: {error}")
            return []
        if report.dropped:
            self._count_dropped(report.dropped)
            return []
        try:
            report = runner.run("run", report, self.options, self.modes)
        except Died as death:
            return self._died(report, death)
        except RuntimeError as error:
            self.summary.broken.append(f"seed {seed}: {error}")
            return []
        return self._count(report)

    def _count_dropped(self, reason: str) -> None:
        with self.lock:
            self.summary.dropped[reason] += 1

    def _died(self, report: Report, death: Died) -> list[Fault]:
        how, _, doing = str(death).partition(": ")
        if doing.startswith("eager"):
            self._count_dropped("eager dies")
            return []
        assert report.program is not None
        mode = doing.removeprefix("mode ")
        signature = f"dies ({how}): {', '.join(sorted(report.ops))}"
        options = options_of(report.seed, self.options)
        fault = Fault(report.seed, mode, report.program, signature, "dies", str(death), options)
        with self.lock:
            self.summary.programs += 1
            self.summary.faults.append(fault)
        return [fault]

    def _count(self, report: Report) -> list[Fault]:
        with self.lock:
            summary = self.summary
            summary.tried += report.tried
            summary.accepted += report.accepted
            summary.reasons.update(report.reasons)
            if report.dropped:
                summary.dropped[report.dropped] += 1
                return []
            summary.programs += 1
            summary.ops |= report.ops
            summary.runs.update(report.modes)
            faults = [fault for each in report.findings if (fault := self._fault(each))]
            summary.faults += [fault for fault in faults if not fault.shared]
            summary.shared += [fault for fault in faults if fault.shared]
            return faults

    def _fault(self, finding: Finding) -> Fault | None:
        if finding.upstream:
            self.summary.upstream[
                finding.signature.split(": ")[0] + ": " + finding.control[:80]
            ] += 1
            if finding.kind.startswith("raises"):
                return None
        entry = known(finding)
        if entry is not None:
            self.summary.expected[entry.reason] += 1
            return None
        return Fault(
            finding.seed, finding.mode, finding.program, finding.signature, kind_of(finding),
            describe(finding), finding.options, finding.upstream,
        )  # fmt: skip

    def _write(self, fault: Fault, runner: Worker) -> None:
        """Write a minimised reproducer for the first finding of each class."""
        if self.folder is None:
            return
        with self.lock:
            if fault.signature in self.seen:
                return
            self.seen.add(fault.signature)
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{fault.seed}-{fault.mode}.py"
        path.write_text(script(fault.program, fault.mode, fault.options, fault.header()))
        print(f"{path}: {fault.signature}", flush=True)
        if not self.trials:
            return
        small, finding, death = minimise(
            fault.program, fault.mode, fault.kind, runner, fault.options, self.trials, fault.shared
        )
        fault.detail = describe(finding) if finding is not None else death
        path.write_text(script(small, fault.mode, fault.options, fault.header()))


def describe(finding: Finding) -> str:
    lines = [f"call {finding.call}; the control: {finding.control[:400]}"]
    for each in finding.differences:
        text = (
            each.text if each.kind != "raises" else f"{each.text[:600]}\n...\n{each.text[-1500:]}"
        )
        lines.append(f"{each.label} at {each.where}: {text}")
    return "\n".join(lines)
