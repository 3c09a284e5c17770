"""Write a failure of the compiler to disk: a folder with one script that repeats it, the options,
the versions and the traceback.

    python FOLDER/reproduce.py

The script holds the graph as Python text and the metadata of its inputs (shapes, dtypes, strides).
No value of the user's is written, except small constants of the graph.
"""

from __future__ import annotations

import importlib.metadata
import json
import platform
import re
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import fx

from ingot.options import Options
from ingot.program.graph import placeholders

SCRIPT = "reproduce.py"
MOST_ELEMENTS = 256
"""Of a constant written as text; larger ones are described by their metadata only."""
_CLASS = re.compile(r"^class (.+?)\(torch\.nn\.Module\):", re.MULTILINE)


@dataclass(frozen=True)
class CapturedGraph:
    """The graph to be compiled."""

    module: fx.GraphModule
    level: str
    """The level of a Program, or "dynamo" for the graph that Dynamo captured."""
    static: tuple[int, ...] = ()
    """Inputs that are the module's own tensors."""
    grad: bool = False
    """Was grad enabled?"""


def write_reproducer(
    source: CapturedGraph, options: Options, stage: str, error: BaseException
) -> Path:
    """Returns the script."""
    folder = Path(tempfile.mkdtemp(prefix="ingot-reproducer-"))
    trace = "".join(traceback.format_exception(error))
    about = {
        "stage": stage,
        "error": f"{type(error).__name__}: {error}",
        "level": source.level,
        "options": asdict(options),
        "versions": _versions(),
    }
    (folder / "about.json").write_text(json.dumps(about, indent=1, default=str))
    (folder / "traceback.txt").write_text(trace)
    for name, text in error.__dict__.get("ingot_files", {}).items():
        (folder / name).write_text(text)
    script = folder / SCRIPT
    script.write_text(_script(source, options, stage, error))
    return script


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for name in ("ingot", "torch", "torch-mlir"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def _script(source: CapturedGraph, options: Options, stage: str, error: BaseException) -> str:
    text = source.module.print_readable(print_output=False)
    text = _CLASS.sub("class Graph(torch.nn.Module):", text, count=1)
    inputs = [_input(node) for node in placeholders(source.module.graph)]
    constants = [f'    "{name}": {value},' for name, value in _constants(source.module)]
    head = f"{type(error).__name__} in {stage}"
    return "\n".join([
        f'"""Repeats a failure of ingot: {head}. See traceback.txt beside this file."""',
        "",
        "import torch",
        "from torch import device, inf, nan",
        "",
        "from ingot.replay import number, replay, tensor",
        "",
        text.rstrip(),
        "",
        "INPUTS = [", *(f"    {each}," for each in inputs), "]",
        "CONSTANTS = {", *constants, "}",
        f"OPTIONS = {_literal(asdict(options))}",
        "",
        'if __name__ == "__main__":',
        f"    replay(Graph, INPUTS, CONSTANTS, OPTIONS, level={source.level!r}, "
        f"static={source.static!r}, grad={source.grad!r})",
        "",
    ])  # fmt: skip


def _literal(options: dict[str, Any]) -> str:
    return re.sub(r"\binf\b", 'float("inf")', repr(options))


def _input(node: fx.Node) -> str:
    """A call that makes a value like it, with the traced value of each dynamic size."""
    value = node.meta.get("val", node.meta.get("example_value"))
    if isinstance(value, torch.SymInt | int):
        return f"number({_hint(value)})"
    if not isinstance(value, torch.Tensor):
        return repr(value)
    if value.layout is not torch.strided:
        return f"tensor({_numbers(value.shape)}, None, {value.dtype})"
    dynamic = [k for k, size in enumerate(value.shape) if isinstance(size, torch.SymInt)]
    more = f", dynamic={dynamic}" if dynamic else ""
    more += ", requires_grad=True" if value.requires_grad else ""
    return f"tensor({_numbers(value.shape)}, {_numbers(value.stride())}, {value.dtype}{more})"


def _numbers(numbers: Any) -> list[int]:
    return [_hint(number) for number in numbers]


def _hint(number: Any) -> int:
    if isinstance(number, torch.SymInt):
        return int(number.node.hint) if number.node.has_hint() else 2
    return int(number)


def _constants(gm: fx.GraphModule) -> Iterator[tuple[str, str]]:
    for name, value in [*gm.named_buffers(), *gm.named_parameters()]:
        yield name, _constant(value.detach())
    for node in gm.graph.nodes:
        if node.op == "get_attr" and "." not in str(node.target):
            value = getattr(gm, str(node.target))
            held = dict(gm.named_buffers()) | dict(gm.named_parameters())
            if isinstance(value, torch.Tensor) and node.target not in held:
                yield str(node.target), _constant(value.detach())


def _constant(value: torch.Tensor) -> str:
    plain = type(value) is torch.Tensor and value.layout is torch.strided
    if plain and value.numel() <= MOST_ELEMENTS and not value.dtype.is_complex:
        return f"torch.tensor({value.tolist()}, dtype={value.dtype})"
    strides = list(value.stride()) if value.layout is torch.strided else None
    return f"tensor({list(value.shape)}, {strides}, {value.dtype})"
