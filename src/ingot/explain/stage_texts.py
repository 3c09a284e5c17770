"""The printed stages of a graph, with marks that say which lines belong to which step."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from ingot.explain.records import Text
from ingot.plan.ir import Branch, Eager, EagerControlFlow, Launch, Loop, Plan, walk
from ingot.plan.liveness import uses
from ingot.plan.text import plan_lines
from ingot.stages import Compiled

Mark = tuple[int, int, int]

_NODE_LINE = re.compile(r"  (%[^\s:]+): ")
_PROFILED = re.compile(r"\s*seconds(\d+)\[(\d+)\] \+= clock\(\) - start")
_CLOCK = "start = clock()"


def program_text(graph: Compiled, step_of: Mapping[str, int]) -> Text:
    """`step_of`: the step of each node, by its name in the text."""
    text = graph.fused.program.as_text()
    marks = []
    for number, line in enumerate(text.splitlines()):
        if line.startswith("subgraph "):
            break  # its values have names of their own
        match = _NODE_LINE.match(line)
        step = step_of.get(match[1], -1) if match else -1
        if step >= 0:
            marks.append((number, number, step))
    return Text(text, tuple(marks))


def regions_text(graph: Compiled) -> Text:
    parts, marks, line = [], [], 0
    for step, each in enumerate(graph.fused.steps):
        part = each.as_text()
        count = part.count("\n") + 1
        marks.append((line, line + count - 1, step))
        parts.append(part)
        line += count
    return Text("\n".join(parts), tuple(marks))


def plan_text(graph: Compiled) -> Text:
    plan = graph.plan
    if plan is None:
        return Text("", ())
    lines = list(plan_lines(plan, lenient=True))
    subjects = [line.subject for line in lines]
    ends = _ends([line.depth for line in lines], [line.text for line in lines])
    marks: list[Mark] = []
    steps = position_steps(plan, graph.version)
    made = writers(plan, steps)
    for number, subject in enumerate(subjects):
        if isinstance(subject, int):
            marks += [(number, ends[number], step) for step in steps[subject]]
        elif isinstance(subject, str) and subject[:1] == "%" and subject[1:] in made:
            marks.append((number, number, made[subject[1:]]))
    text = "\n".join(f"{'  ' * line.depth}{line.text}".rstrip() for line in lines)
    return Text(text, tuple(marks))


def _ends(depths: list[int], texts: list[str]) -> list[int]:
    """For each line the last line of its block: the line itself if it opens none."""
    ends = list(range(len(depths)))
    opened: list[int] = []
    for number, (depth, text) in enumerate(zip(depths, texts, strict=True)):
        if text.startswith("}") and opened and depths[opened[-1]] == depth:
            ends[opened.pop()] = number
        if text.endswith("{"):
            opened.append(number)
    return ends


def position_steps(plan: Plan, version: int) -> list[list[int]]:
    """The steps of each op of a plan, in the order of `walk`."""
    found = []
    for op in walk(plan.ops):
        steps: Iterable[tuple[int, int]] = ()
        if isinstance(op, Launch):
            steps = (op.step, *op.covers)
        elif isinstance(op, Eager | EagerControlFlow | Branch | Loop):
            steps = (op.step,)
        found.append([number for of, number in steps if of == version and number >= 0])
    return found


def writers(plan: Plan, steps: Sequence[Sequence[int]]) -> dict[str, int]:
    """The step that first writes each buffer. `steps`: as from `position_steps`."""
    found: dict[str, int] = {}
    for own, op in zip(steps, walk(plan.ops), strict=True):
        for name, access in uses(op) if own else ():
            if access in ("w", "rw"):
                found.setdefault(name, own[0])
    return found


def python_text(graph: Compiled) -> Text:
    """With `profile`, each step stands between two readings of the clock; these lines are left
    out."""
    lines: list[str] = []
    marks: list[Mark] = []
    start = 0
    for line in graph.source.splitlines():
        match = _PROFILED.fullmatch(line)
        if line.strip() == _CLOCK:
            start = len(lines)
        elif match is None:
            lines.append(line)
        elif int(match[1]) == graph.version and len(lines) > start:
            marks.append((start, len(lines) - 1, int(match[2])))
    return Text("\n".join(lines), tuple(marks))
