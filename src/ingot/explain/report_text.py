"""The report as text for a terminal: a summary, the time to compile and to run, then a table each
for kernels, library calls, operations left to PyTorch, eager steps (these three with the reason),
and choices by size. Lines keep to the width; long source lines and paths are cut, never wrapped.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from ingot.errors import Place
from ingot.explain.report import CallRow, KernelRow, Report

MOST_PLACES = 3
MOST_ROWS = 40
INDENT = " " * 14
KINDS = {
    "native": "Native kernels",
    "library": "Library calls",
    "fallback": "Left to PyTorch",
    "host": "Eager steps",
}
SHARES = {
    "native": "native kernels",
    "library": "library calls",
    "fallback": "left to PyTorch",
    "host": "eager steps",
    "view": "views",
}


def report_to_text(report: Report, width: int = 100) -> str:
    sections = [
        _summary(report, width),
        _compile(report, width),
        _run(report, width),
        _kernels(report, width),
        *(_calls(report, kind, title, width) for kind, title in KINDS.items()),
        _choices(report, width),
        _reasons("Failures of the compiler", report.failures, width),
        _reasons("Graph breaks", report.graph_breaks, width),
        _reasons("Functions that Dynamo left to Python", report.uncaptured, width),
        [line for note in report.notes for line in _wrapped(note, width, "Note: ", "  ")],
    ]
    return "\n\n".join(
        "\n".join(_cut(line, width) for line in lines) for lines in sections if lines
    )


def _summary(report: Report, width: int) -> list[str]:
    counts = [
        number_of(report.graphs, "graph"),
        *([number_of(len(report.graph_breaks), "graph break")] if report.graph_breaks else []),
        *(
            [f"{number_of(len(report.uncaptured), 'function')} left to Python"]
            if report.uncaptured
            else []
        ),
        f"{number_of(report.regions, 'region')} in {number_of(report.kernels, 'kernel')}",
        *([number_of(report.native_calls, "native kernel")] if report.native_calls else []),
        number_of(report.library_calls, "library call"),
        f"{number_of(report.fallbacks, 'op')} left to PyTorch",
        *([number_of(report.eager_steps, "eager step")] if report.eager_steps else []),
    ]
    return [report.name, *_listed(counts, width)]


def _compile(report: Report, width: int) -> list[str]:
    times = report.compile_ms
    own = ", ".join(f"{name} {milliseconds(ms)}" for name, ms in times.steps.items())
    parts = [
        f"Dynamo {milliseconds(times.dynamo)}",
        f"AOTAutograd {milliseconds(times.autograd)}",
        f"ingot {milliseconds(times.ingot)}" + (f" ({own})" if own else ""),
    ]
    return [f"Compile: {milliseconds(times.total)} ms", *_listed(parts, width)]


def _run(report: Report, width: int) -> list[str]:
    """The share of each kind of step in the time of a call."""
    shares = {"kernels": sum(row.ms for row in report.kernel_rows)}
    for kind, name in SHARES.items():
        shares[name] = sum(row.ms for row in report.call_rows if row.kind == kind)
    shares["outside of the steps"] = max(0.0, report.run_ms - sum(shares.values()))
    parts = [
        f"{name} {milliseconds(ms)} ({_percent(ms, report.run_ms)} %)"
        for name, ms in shares.items()
        if ms
    ]
    eager = "" if report.eager_ms is None else f", eager {milliseconds(report.eager_ms)} ms"
    return [f"A run: {milliseconds(report.run_ms)} ms{eager}", *_listed(parts, width)]


def _kernels(report: Report, width: int) -> list[str]:
    if not report.kernel_rows:
        return []
    lines = ["Kernels", "      ms    %     bytes   GB/s"]
    for row in report.kernel_rows:
        lines.extend(_kernel(row, report.run_ms, width))
    return lines


def _kernel(row: KernelRow, run_ms: float, width: int) -> Iterator[str]:
    size = "–" if row.bytes is None else bytes_text(row.bytes)
    speed = "–" if row.gb_per_s is None else f"{row.gb_per_s:.1f}"
    head = f"{_time(row.ms)} {_percent(row.ms, run_ms):>4} {size:>9} {speed:>6}  "
    each = f"{row.regions} regions, each " if row.regions > 1 else ""
    work = f"{each}{number_of(row.nodes, 'op')} over {row.domain}"
    yield from _wrapped(f"{', '.join(row.ops)} · {work}", width, head, " " * len(head))
    yield from _origin(row.modules, row.places)


def _origin(modules: Sequence[str], places: Sequence[Place]) -> Iterator[str]:
    if modules:
        yield f"{INDENT}in {first_few(modules)}"
    yield from (f"{INDENT}{place_text(place)}" for place in places[:MOST_PLACES])
    if len(places) > MOST_PLACES:
        yield f"{INDENT}… and {number_of(len(places) - MOST_PLACES, 'more line')}"


def _calls(report: Report, kind: str, title: str, width: int) -> list[str]:
    rows = [row for row in report.call_rows if row.kind == kind]
    if not rows:
        return []
    lines = [title, "      ms    %  calls"]
    for row in rows[:MOST_ROWS]:
        lines.extend(_call(row, report.run_ms, width))
    if len(rows) > MOST_ROWS:
        rest = rows[MOST_ROWS:]
        ms = sum(row.ms for row in rest)
        count = sum(row.count for row in rest)
        lines.append(
            f"{_call_head(ms, report.run_ms, count)}… in {number_of(len(rest), 'more line')}"
        )
    return lines


def _call(row: CallRow, run_ms: float, width: int) -> Iterator[str]:
    where = f" in {first_few(row.modules)}" if row.modules else ""
    yield f"{_call_head(row.ms, run_ms, row.count)}{row.op}{where}"
    if row.reason:
        yield from _wrapped(f"because: {row.reason}", width, INDENT, f"{INDENT}  ")
    if row.place is not None:
        yield f"{INDENT}{place_text(row.place)}"


def _call_head(ms: float, run_ms: float, count: int) -> str:
    return f"{_time(ms)} {_percent(ms, run_ms):>4} {count:>6}  "


def _choices(report: Report, width: int) -> list[str]:
    lines = ["Choices by size"] if report.choices else []
    for row in report.choices:
        among = f" among {', '.join(row.candidates)}" if row.candidates else ""
        lines.append(f"  {row.name}{among}")
        if row.setting:
            lines.append(f"    for {row.setting}")
        for text in row.served:
            lines.extend(_wrapped(text, width, "    ", "      "))
        lines.extend(f"      at {time}" for time in row.times)
    return lines


def _reasons(title: str, reasons: Sequence[str], width: int) -> list[str]:
    """Reasons in Dynamo's format, each with its explanation and its first hint."""
    if not reasons:
        return []
    lines = [title]
    for reason in reasons:
        headline, *rest = [line.strip() for line in reason.splitlines() if line.strip()]
        why = [line.removeprefix("Explanation: ") for line in rest if "Explanation: " in line]
        hints = [line for line in rest if line.startswith("Hint: ")]
        lines.append(f"  {headline}")
        for text in (*why, *hints[:1]):
            lines.extend(_wrapped(text, width, INDENT, INDENT))
    return lines


# -- formatting ----------------------------------------------------------------------------------


def place_text(place: Place) -> str:
    return f"{_short_path(place.file)}:{place.line}  {place.code}"


def _short_path(file: str) -> str:
    """Relative to the working directory; the last two parts if the file is outside of it."""
    relative = os.path.relpath(file)
    if not relative.startswith(".."):
        return relative if len(relative) <= 40 else os.path.join(*relative.split(os.sep)[-2:])
    return os.path.join(*file.split(os.sep)[-2:])


def first_few(names: Sequence[str]) -> str:
    shown = ", ".join(names[:MOST_PLACES])
    return shown + (f" and {len(names) - MOST_PLACES} more" if len(names) > MOST_PLACES else "")


def _wrapped(text: str, width: int, head: str, indent: str) -> list[str]:
    return textwrap.wrap(text, width, initial_indent=head, subsequent_indent=indent)


def _listed(parts: Iterable[str], width: int) -> list[str]:
    """Parts joined by dots; lines break between parts if possible."""
    lines = [""]
    for part in parts:
        longer = f"{lines[-1]} · {part}" if lines[-1] else f"  {part}"
        if lines[-1] and len(longer) > width:
            lines.append(f"  {part}")
        else:
            lines[-1] = longer
    return lines


def _cut(line: str, width: int) -> str:
    line = line.rstrip()
    return line if len(line) <= width else line[: width - 1] + "…"


def number_of(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")


def _time(ms: float) -> str:
    """A cell of a table; a step that did not run, such as a backward, has time 0."""
    return f"{ms:8.3f}" if ms else "not run".rjust(8)


def milliseconds(ms: float) -> str:
    return f"{ms:.0f}" if ms >= 100 else f"{ms:.1f}" if ms >= 10 else f"{ms:.2f}"


def bytes_text(size: int) -> str:
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= scale:
            return f"{size / scale:.3g} {unit}"
    return f"{size} B"


def _percent(ms: float, whole: float) -> str:
    return f"{100 * ms / whole:.0f}" if ms and whole else "–"
