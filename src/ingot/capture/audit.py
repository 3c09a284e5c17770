"""The audit of composite ops: `python -m ingot.capture.audit`. Every op that PyTorch registers as
CompositeImplicitAutograd runs over PyTorch's own OpInfo samples, and its effect on memory is
compared with its schema. The result is program/schema_violations.json: each op that violates its
schema, with the kinds of violation and the sample that exposed each. Nothing in the table is
written by hand; with the same PyTorch the audit writes the same table.

Inner ops are checked as well, for writes only: a composite op must not decompose into one that
writes to an argument its schema does not mark.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch._C import Argument
from torch._dispatch.python import enable_python_dispatcher
from torch._ops import OpOverload
from torch._subclasses.schema_check_mode import SchemaCheckMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

SchemaInfo = torch._C._SchemaInfo
SchemaArgument = torch._C._SchemaArgument
SchemaKind = torch._C._SchemaArgType
TABLE = Path(__file__).parent.parent / "program" / "schema_violations.json"
DTYPES = (torch.float32, torch.complex64, torch.int64)
MOST_SAMPLES = 24
"""Per op and dtype: a few ops have thousands that differ in values only."""


@dataclass
class Findings:
    """The results so far."""

    kinds: dict[str, dict[str, str]] = field(default_factory=dict)
    """The first sample that shows each violation, by op and kind."""
    seen: dict[str, str] = field(default_factory=dict)
    """The first sample of each composite op that ran."""
    sample: str = ""
    """The sample that is running."""

    def add(self, op: OpOverload, kind: str) -> None:
        self.kinds.setdefault(op_name(op), {}).setdefault(kind, self.sample)

    def as_table(self) -> dict[str, Any]:
        composites = {op_name(op) for op in composite_ops()}
        return {
            "torch": torch.__version__.split("+")[0],
            "violations": {
                name: {"kinds": sorted(kinds), "samples": dict(sorted(kinds.items()))}
                for name, kinds in sorted(self.kinds.items())
            },
            "honest": {
                name: sample
                for name, sample in sorted(self.seen.items())
                if name in composites and name not in self.kinds
            },
            "without samples": sorted(composites - self.seen.keys()),
        }


def op_name(op: OpOverload) -> str:
    space, name = op._schema.name.split("::")
    return f"{space}.{name}.{op._schema.overload_name or 'default'}"


def composite_ops() -> list[OpOverload]:
    """Every ATen op that autograd decomposes."""
    found = []
    for name in torch._C._dispatch_get_all_op_names():
        space, _, rest = name.partition("::")
        if space != "aten":
            continue
        packet, _, overload = rest.partition(".")
        op = getattr(getattr(torch.ops.aten, packet, None), overload or "default", None)
        if isinstance(op, OpOverload) and op._can_decompose():
            found.append(op)
    return found


def check(findings: Findings, op: OpOverload, args: Any, kwargs: Any, composite: bool) -> Any:
    """Run the op and compare its effects with its schema."""
    given = _arguments(op, args, kwargs)
    before = [(a, t, _content(t), _storage(t)) for a, t in given]
    out = op(*args, **kwargs)
    if composite:
        findings.seen.setdefault(op_name(op), findings.sample)
    for argument, tensor, content, _ in before:
        if not _may_write(argument) and not _is_lazy(tensor) and not _same(tensor, content):
            findings.add(op, "write")
    if composite:
        for kind in _alias_violations(op, before, out):
            findings.add(op, kind)
    return out


def _arguments(op: OpOverload, args: Any, kwargs: Any) -> list[tuple[Argument, Tensor]]:
    """The tensors among the arguments, each with its argument in the schema."""
    declared = op._schema.arguments
    pairs = [*zip(declared, args), *((a, kwargs[a.name]) for a in declared if a.name in kwargs)]
    return [
        (argument, leaf)
        for argument, value in pairs
        for leaf in pytree.tree_leaves(value)
        if isinstance(leaf, Tensor) and leaf.layout is torch.strided
    ]


def _is_lazy(tensor: Tensor) -> bool:
    """Whether the values differ from the memory by a lazy conjugation or negation."""
    return tensor.is_conj() or tensor.is_neg()


def _may_write(argument: Argument) -> bool:
    return argument.alias_info is not None and argument.alias_info.is_write


def _content(tensor: Tensor) -> Tensor:
    return tensor.detach().clone()


def _same(tensor: Tensor, before: Tensor) -> bool:
    if tensor.shape != before.shape or tensor.dtype != before.dtype:
        return False
    equal = (tensor == before) | ((tensor != tensor) & (before != before))
    return bool(equal.all())


def _storage(tensor: Tensor) -> int | None:
    try:
        pointer = tensor.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):
        return None
    return pointer or None


def _alias_violations(op: OpOverload, before: Sequence[Any], out: Any) -> Iterator[str]:
    results = out if len(op._schema.returns) > 1 else (out,)
    names = [argument.name for argument in op._schema.arguments]
    for i, value in enumerate(results):
        promised = {name for j, name in enumerate(names) if _promises(op, i, j)}
        for leaf in pytree.tree_leaves(value):
            if isinstance(leaf, Tensor) and leaf.layout is torch.strided:
                yield from _result_violations(leaf, promised, before)


@cache
def _promises(op: OpOverload, result: int, argument: int) -> bool:
    """By the schema, the result or an item of it may share memory with the argument."""
    info = SchemaInfo(op._schema)
    pair = SchemaArgument(SchemaKind.output, result), SchemaArgument(SchemaKind.input, argument)
    return bool(info.may_contain_alias(*pair))


def _result_violations(leaf: Tensor, promised: set[str], before: Sequence[Any]) -> Iterator[str]:
    storage = _storage(leaf)
    if storage is None:
        return
    given = {argument.name for argument, _, _, known in before if known is not None}
    shared = {argument.name for argument, _, _, known in before if known == storage}
    if shared and not shared & promised:
        yield "alias"
    if promised & given and not shared:
        yield "fresh"


class _Outer(SchemaCheckMode):
    """Intercepts ops as the user's program calls them."""

    def __init__(self, findings: Findings) -> None:
        # Of the modes that can run before autograd's, SchemaCheckMode is the one that needs no
        # other; only its position is used.
        TorchDispatchMode.__init__(self, torch._C.DispatchKey.PreDispatch)
        self.findings = findings

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        with torch._C._DisablePythonDispatcher():
            if not isinstance(func, OpOverload) or not func._can_decompose():
                return func(*args, **kwargs)
            return check(self.findings, func, args, kwargs, composite=True)


class _Inner(TorchDispatchMode):
    """Intercepts the ops that kernels are written for."""

    def __init__(self, findings: Findings) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.findings = findings

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return check(self.findings, func, args, kwargs or {}, composite=False)


def samples(info: Any) -> Iterator[tuple[str, Any, tuple[Any, ...], dict[str, Any]]]:
    """(name, callable, arguments) of the op and its in-place form over its samples."""
    supported = info.supported_dtypes("cpu")
    dtypes = [d for d in DTYPES if d in supported] or sorted(supported, key=str)[:1]
    for dtype in dtypes:
        forms = [(info.full_name, info.op), (f"{info.full_name} in place", info.inplace_variant)]
        forms += [(alias.name, alias.op) for alias in info.aliases]
        for name, function in forms:
            if function is None:
                continue
            for i, sample in enumerate(info.sample_inputs("cpu", dtype, requires_grad=False)):
                if i == MOST_SAMPLES:
                    break
                label = f"{name}, {str(dtype).removeprefix('torch.')}, sample {i}"
                yield label, function, (sample.input, *sample.args), sample.kwargs
                for word, other in _other_layouts(sample, dtype is dtypes[0], i == 0):
                    yield f"{label} {word}", function, (other.input, *other.args), other.kwargs


def _other_layouts(sample: Any, first_dtype: bool, first: bool) -> Iterator[tuple[str, Any]]:
    """The sample in layouts that make an op copy instead of return a view."""
    if not _is_strided(sample):
        return
    if first_dtype:
        yield "strided", sample.noncontiguous()
        yield "by columns", sample.transform(_by_columns)
    if first:
        yield "conjugated", sample.transform(_conjugated)


def _by_columns(value: Any) -> Any:
    """The first dim innermost in memory, so that no view can flatten the tensor."""
    if not isinstance(value, Tensor) or value.dim() < 2 or _has_overlap(value):
        return value
    order = tuple(reversed(range(value.dim())))
    return value.detach().permute(order).contiguous().permute(order)


def _conjugated(value: Any) -> Any:
    """With the conjugate bit set; a real tensor with the negative bit."""
    if not isinstance(value, Tensor):
        return value
    if value.is_complex():
        return value.detach().conj()
    return torch._neg_view(value.detach()) if value.is_floating_point() else value


def _has_overlap(tensor: Tensor) -> bool:
    return torch._debug_has_internal_overlap(tensor) != 0


def _is_strided(sample: Any) -> bool:
    tensors = pytree.tree_leaves((sample.input, sample.args, sample.kwargs))
    return all(t.layout is torch.strided for t in tensors if isinstance(t, Tensor))


def run_samples(findings: Findings, infos: Iterable[Any]) -> None:
    for info in infos:
        for label, function, args, kwargs in samples(info):
            findings.sample = label
            modes: tuple[AbstractContextManager[Any], ...] = (_Outer(findings), _Inner(findings))
            for mode in modes:
                torch.manual_seed(0)
                given = pytree.tree_map_only(Tensor, _copy, args)
                try:
                    with torch.no_grad(), enable_python_dispatcher(), mode:
                        function(*given, **kwargs)
                except Exception:
                    # The sample does not fit this form of the op and shows nothing.
                    continue


def _copy(tensor: Tensor) -> Tensor:
    if tensor.layout is not torch.strided:
        return tensor.clone()
    copy = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype)
    return tensor if _is_lazy(tensor) or _has_overlap(tensor) else copy.copy_(tensor)


def audit(infos: Iterable[Any] | None = None) -> Findings:
    findings = Findings()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if infos is None:
            from torch.testing._internal.common_methods_invocations import op_db

            infos = op_db
        run_samples(findings, infos)
    return findings


def table_text(findings: Findings) -> str:
    return json.dumps(findings.as_table(), indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    start = time.perf_counter()
    findings = audit()
    TABLE.write_text(table_text(findings))
    table = findings.as_table()
    for name, entry in table["violations"].items():
        for kind, sample in entry["samples"].items():
            print(f"{name}: {kind} ({sample})")
    counts = f"{len(table['violations'])} violate their schema, {len(table['honest'])} do not"
    rest = f"{len(table['without samples'])} have no sample"
    print(f"{counts}, {rest}; {time.perf_counter() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
