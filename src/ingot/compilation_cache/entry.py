"""A compiled program as bytes: the plan's text, the modules and functions of its kernels, and small
constants. Modules are entries of their own (code_store.py). Weights and the tensors of the graph
are those of the process that loads it. A plan is verified before it is used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

import ingot.kernels.registry  # noqa: F401  (registers the attributes that plans name)
from ingot.codegen.jit import code_store
from ingot.codegen.jit.native import Native, compiled_function, find
from ingot.compilation_cache.graph_text import GraphText, Unencodable
from ingot.machine import this_machine
from ingot.options import Options
from ingot.plan.ir import Plan
from ingot.plan.names import (
    called,
    constants_of,
    has_objects,
    kernels_of,
    misfit,
    target_named,
    tensors_in,
)
from ingot.plan.parser import parse
from ingot.plan.resources import KernelEntry, Resources
from ingot.plan.values import place_text
from ingot.plan.verify import verify
from ingot.program.operators import CallError
from ingot.program.source import trace_place
from ingot.stages import Compiled

MOST_CONSTANTS = 1 << 20
"""Bytes of the constants that are stored with a program."""
_PLACE = re.compile(r'\bat "(?:[^"\\]|\\.)*":\d+(?: "(?:[^"\\]|\\.)*")?')
_INDEX = re.compile(r'\bat "#(\d+)":0')


class StaleEntry(Exception):
    """The entry does not fit this process, or is damaged."""


def encode_program(compiled: Compiled, graph: GraphText) -> bytes:
    """Raises Unencodable."""
    plan, resources = compiled.plan, compiled.resources
    if plan is None or resources is None:
        raise Unencodable("PyTorch runs the whole graph")
    if resources.objects or has_objects(plan):
        kinds = sorted({type(value).__name__ for value in resources.objects.values()})
        raise Unencodable(f"the plan refers to objects of this process: {', '.join(kinds)}")
    for name in called(plan):
        _check_target(name, resources)
    rows, memory = _constants(plan, resources, graph)
    head = {
        "plan": _without_places(plan.as_text(), graph),
        "kernels": {name: _kernel(entry) for name, entry in resources.kernels.items()},
        "constants": rows,
    }
    text = json.dumps(head).encode()
    return len(text).to_bytes(8, "little") + text + memory


def decode_program(data: bytes, graph: GraphText, options: Options) -> tuple[Plan, Resources]:
    """Raises StaleEntry, or errors of parsers and of the verifier."""
    size = int.from_bytes(data[:8], "little")
    head = json.loads(data[8 : 8 + size])
    plan = parse(_with_places(head["plan"], graph))
    verify(plan)
    if has_objects(plan):
        raise StaleEntry("it refers to objects of another process")
    resources = Resources(options.weight_guard, this_machine())
    rows = head["kernels"]
    for name in {kernel.name: None for kernel in kernels_of(plan)} | rows:
        resources.kernels[name] = _found(*rows[name])
    resources.targets |= {name: target_named(name) for name in called(plan)}
    resources.constants |= _tensors(head["constants"], data[8 + size :], graph)
    for buffer in constants_of(plan):
        if wrong := misfit(buffer, resources.constants[buffer.name]):
            raise StaleEntry(wrong)
    return plan, resources


def _check_target(name: str, resources: Resources) -> None:
    try:
        found = target_named(name)
    except CallError as error:
        raise Unencodable(str(error)) from None
    if found is not resources.target(name):
        raise Unencodable(f"the plan calls {name}, which has no name of its own")


# -- kernels ---------------------------------------------------------------------------------------


def _kernel(entry: KernelEntry) -> list[str | None]:
    """Its module, its function, and the function of one thread's share."""
    found = compiled_function(entry.address)
    share = compiled_function(entry.share) if entry.share else None
    if found is None:
        raise Unencodable("a kernel that ingot did not compile")
    _keep_module(found[0])
    return [found[0].key, found[1], None if share is None else share[1]]


def _keep_module(native: Native) -> None:
    """The module may be linked here and no longer be in the cache."""
    code_store.keep(native.key, native.module.entry())
    for each in native.calls:
        _keep_module(each)


def _found(key: str, function: str, share: str | None) -> KernelEntry:
    native = find([key])
    if native is None:
        raise StaleEntry(f"the module {key} is no longer there")
    return KernelEntry(
        native.addresses[function], 0 if share is None else native.addresses[share], native
    )


# -- places ----------------------------------------------------------------------------------------


def _without_places(text: str, graph: GraphText) -> str:
    """Lines of the user's as indices of the graph's traces."""
    indices: dict[str, int] = {}

    def index(match: re.Match[str]) -> str:
        if not indices:
            for number, trace in enumerate(graph.traces):
                place = trace_place(trace)
                if place is not None:
                    indices.setdefault(place_text(place), number)
        if match[0] not in indices:
            raise Unencodable("a line of the plan is none of the graph's")
        return f'at "#{indices[match[0]]}":0'

    return _PLACE.sub(index, text)


def _with_places(text: str, graph: GraphText) -> str:
    def place(match: re.Match[str]) -> str:
        found = trace_place(graph.traces[int(match[1])])
        if found is None:
            raise StaleEntry("a line of the plan is none of the graph's")
        return place_text(found)

    return _INDEX.sub(place, text)


# -- constants -------------------------------------------------------------------------------------


def _constants(plan: Plan, resources: Resources, graph: GraphText) -> tuple[dict[str, Any], bytes]:
    """A row for each constant: the path of a tensor in the graph, or one that is stored."""
    paths = {id(tensor): path for path, tensor in graph.constants.items()}
    rows: dict[str, Any] = {}
    memory = b""
    try:
        tensors = tensors_in(plan, resources)
    except ValueError as error:
        raise Unencodable(str(error)) from None
    for name, tensor in tensors.items():
        if id(tensor) in paths:
            rows[name] = paths[id(tensor)]
            continue
        content = _content(name, tensor)
        dtype = str(tensor.dtype).removeprefix("torch.")
        rows[name] = [dtype, list(tensor.shape), list(tensor.stride()), len(memory), len(content)]
        memory += content
        if len(memory) > MOST_CONSTANTS:
            raise Unencodable(f"folded constants of more than {MOST_CONSTANTS >> 20} MB")
    return rows, memory


def _content(name: str, tensor: Tensor) -> bytes:
    if tensor.layout is not torch.strided or tensor.is_conj() or tensor.is_neg():
        raise Unencodable(f"the constant {name} is no plain tensor")
    if not tensor.numel():
        return b""
    if tensor.untyped_storage().nbytes() > MOST_CONSTANTS:
        raise Unencodable(f"a constant of more than {MOST_CONSTANTS >> 20} MB: {name}")
    count = 1 + sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True))
    flat = tensor.detach().as_strided((count,), (1,))
    return bytes(flat.view(torch.uint8).numpy().data)


def _tensors(
    rows: Mapping[str, str | Sequence[Any]], memory: bytes, graph: GraphText
) -> dict[str, Tensor]:
    return {
        name: graph.constants[row] if isinstance(row, str) else _tensor(memory, *row)
        for name, row in rows.items()
    }


def _tensor(
    memory: bytes, name: str, shape: list[int], strides: list[int], at: int, size: int
) -> Tensor:
    dtype = getattr(torch, name)
    if not isinstance(dtype, torch.dtype):
        raise StaleEntry(f"{name} is no dtype")
    if not size:
        return torch.empty_strided(shape, strides, dtype=dtype)
    flat = torch.frombuffer(bytearray(memory[at : at + size]), dtype=torch.uint8)
    return flat.clone().view(dtype).as_strided(shape, strides)
