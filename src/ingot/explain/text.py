"""The report as text for a terminal: what was made of the program in one paragraph, the time to compile and to run, then a
table each for kernels, library calls, operations left to PyTorch (with the reason) and host steps. Lines keep to the
width; long source lines and paths are cut, never wrapped.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from ingot.errors import Place
from ingot.explain.report import CallRow, KernelRow, Report

MOST_PLACES = 3
MOST_ROWS = 40
KINDS = {
    "library": "Library calls",
    "fallback": "Left to PyTorch",
    "host": "Host steps",
}


def report_to_text(report: Report, width: int = 100) -> str:
    sections = [
        _summary(report),
        _compile(report),
        _run(report),
        _kernels(report, width),
        *(_calls(report, kind, title, width) for kind, title in KINDS.items()),
        _graph_breaks(report, width),
        list(report.notes),
    ]
    return "\n\n".join("\n".join(_cut(line, width) for line in lines) for lines in sections if lines)


def _summary(report: Report) -> list[str]:
    counts = [
        _number(report.graphs, "graph"),
        _number(len(report.graph_breaks), "graph break"),
        f"{_number(report.regions, 'region')} in {_number(report.kernels, 'kernel')}",
        _number(report.library_calls, "library call"),
        f"{_number(report.fallbacks, 'op')} left to PyTorch",
        _number(report.host_steps, "host step"),
    ]
    return [report.name, "  " + " · ".join(counts)]


def _compile(report: Report) -> list[str]:
    times = report.compile_ms
    steps = ", ".join(f"{name} {_ms(ms)}" for name, ms in times.steps.items())
    return [
        f"Compile: {_ms(times.total)} ms",
        f"  Dynamo {_ms(times.dynamo)} · AOTAutograd {_ms(times.autograd)} · ingot {_ms(times.ingot)}"
        + (f" ({steps})" if steps else ""),
    ]


def _run(report: Report) -> list[str]:
    """Who takes how much of a call."""
    shares = {"kernels": sum(row.ms for row in report.kernel_rows)}
    names = {"library": "library calls", "fallback": "left to PyTorch", "host": "host", "view": "views"}
    for kind, name in names.items():
        ms = sum(row.ms for row in report.call_rows if row.kind == kind)
        if ms:
            shares[name] = ms
    shares["guards, memory and the rest"] = max(0.0, report.run_ms - sum(shares.values()))
    parts = [f"{name} {_ms(ms)} ({_percent(ms, report.run_ms)} %)" for name, ms in shares.items()]
    return [f"A run: {_ms(report.run_ms)} ms", "  " + " · ".join(parts)]


def _kernels(report: Report, width: int) -> list[str]:
    if not report.kernel_rows:
        return []
    lines = ["Kernels", "      ms    %       MB   GB/s"]
    for row in report.kernel_rows:
        lines.extend(_kernel(row, report.run_ms, width))
    return lines


def _kernel(row: KernelRow, run_ms: float, width: int) -> Iterator[str]:
    size = "–" if row.bytes is None else f"{row.bytes / 1e6:.2f}"
    speed = "–" if row.gb_per_s is None else f"{row.gb_per_s:.1f}"
    head = f"{row.ms:8.3f} {_percent(row.ms, run_ms):>4} {size:>8} {speed:>6}  "
    indent = " " * len(head)
    times = f"{row.regions} regions, each " if row.regions > 1 else ""
    yield from _wrapped(", ".join(row.ops), head, indent, width)
    yield f"{indent}{times}{_number(row.nodes, 'node')} over {row.domain}"
    yield from (indent + line for line in _origin(row.modules, row.places))


def _origin(modules: Sequence[str], places: Sequence[Place]) -> Iterator[str]:
    if modules:
        yield f"in {_some(modules)}"
    yield from (_place(place) for place in places[:MOST_PLACES])
    if len(places) > MOST_PLACES:
        yield f"… and {_number(len(places) - MOST_PLACES, 'more line')}"


def _calls(report: Report, kind: str, title: str, width: int) -> list[str]:
    rows = [row for row in report.call_rows if row.kind == kind]
    if not rows:
        return []
    lines = [title, "      ms    %  calls"]
    for row in rows[:MOST_ROWS]:
        lines.extend(_call(row, report.run_ms, with_reason=kind != "library", width=width))
    if len(rows) > MOST_ROWS:
        rest = rows[MOST_ROWS:]
        lines.append(f"{sum(row.ms for row in rest):8.3f} … in {_number(len(rest), 'more row')}")
    return lines


def _call(row: CallRow, run_ms: float, *, with_reason: bool, width: int) -> Iterator[str]:
    head = f"{row.ms:8.3f} {_percent(row.ms, run_ms):>4} {row.count:>6}  "
    indent = " " * len(head)
    where = f" in {_some(row.modules)}" if row.modules else ""
    yield f"{head}{row.op}{where}"
    if with_reason:
        yield f"{indent}because: {row.reason}"
    if row.place is not None:
        yield indent + _place(row.place)


def _graph_breaks(report: Report, width: int) -> list[str]:
    if not report.graph_breaks:
        return []
    lines = ["Graph breaks"]
    for reason in report.graph_breaks:
        head, *rest = [line.strip() for line in reason.splitlines() if line.strip()]
        detail = next((r for r in rest if r.startswith("Explanation: ")), "")
        lines.append(f"  {head}")
        lines.extend(_wrapped(detail.removeprefix("Explanation: "), "    ", "    ", width) if detail else ())
    return lines


# -- words -------------------------------------------------------------------------------------------------------------


def _place(place: Place) -> str:
    return f"{_short_path(place.file)}:{place.line}  {place.code}"


def _short_path(file: str) -> str:
    """Relative where it lies under the working directory; the last two parts elsewhere."""
    relative = os.path.relpath(file)
    if not relative.startswith(".."):
        return relative if len(relative) <= 40 else os.path.join(*relative.split(os.sep)[-2:])
    return os.path.join(*file.split(os.sep)[-2:])


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:MOST_PLACES])
    return shown + (f" and {len(names) - MOST_PLACES} more" if len(names) > MOST_PLACES else "")


def _wrapped(text: str, head: str, indent: str, width: int) -> Iterable[str]:
    import textwrap

    return textwrap.wrap(text, width, initial_indent=head, subsequent_indent=indent) or [head.rstrip()]


def _cut(line: str, width: int) -> str:
    line = line.rstrip()
    return line if len(line) <= width else line[: width - 1] + "…"


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")


def _ms(ms: float) -> str:
    return f"{ms:.0f}" if ms >= 100 else f"{ms:.1f}" if ms >= 10 else f"{ms:.2f}"


def _percent(ms: float, whole: float) -> str:
    return f"{100 * ms / whole:.0f}" if whole else "–"
