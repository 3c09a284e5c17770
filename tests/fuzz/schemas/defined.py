"""Detects results that eager itself leaves undefined, by evidence: the statement run in another way
gives another result, or a value is out of range for the integer type of a cast.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from .outcome import share_storage
from .program import Raw, Ref, Statement, references_of

CASTS = ("copy", "copy_", "fill", "fill_", "_to_copy", "to", "type_as", "masked_fill",
         "masked_fill_", "full_like", "full", "new_full", "scalar_tensor", "index_fill",
         "index_fill_", "fill_diagonal_", "__setitem__", "index_put", "index_put_")  # fmt: skip


def undefined(statement: Statement, values: dict[str, Any]) -> str | None:
    """The reason why the statement's result is undefined, or None if it is defined."""
    written = [name for name in written_names(statement) if isinstance(values.get(name), Tensor)]
    for index, name in enumerate(written):
        if overlaps_itself(values[name]):
            return "writes to memory that overlaps itself"
        if any(share_storage(values[name], values[other]) for other in written[:index]):
            return "writes twice to the same memory"
    if written and _depends_on_order(statement, values, written):
        return "reads what it writes, and the order decides"
    return None


def written_arguments(statement: Statement) -> tuple[set[int], set[str]]:
    """Positions and keywords of the arguments that a statement writes to, from its op's schema."""
    if statement.target == "[]=":
        return {0}, set()
    name, _, overload = statement.op.partition(".")
    packet = getattr(torch.ops.aten, name, None)
    if packet is None or not overload:
        return set(), set()
    arguments = getattr(packet, overload)._schema.arguments
    positions = {
        place for place, argument in enumerate(arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
    }  # fmt: skip
    if "batch_norm" in name or "instance_norm" in name:
        positions |= {3, 4}  # running statistics, which the schema does not mark as written
    return positions, {arguments[place].name for place in positions if place < len(arguments)}


def written_names(statement: Statement) -> list[str]:
    """Names of the values that a statement writes to, once per argument."""
    positions, keywords = written_arguments(statement)
    found = [each for place, each in enumerate(statement.args) if place in positions]
    found += [value for key, value in statement.kwargs if key in keywords]
    return list(references_of(tuple(found)))


def overlaps_itself(tensor: Tensor) -> bool:
    if tensor.numel() < 2:
        return False
    places = torch.zeros(tensor.shape, dtype=torch.int64)
    for dim, (size, stride) in enumerate(zip(tensor.shape, tensor.stride())):
        steps = stride * torch.arange(size)
        places += steps.reshape([-1 if dim == each else 1 for each in range(tensor.dim())])
    return bool(places.unique().numel() < tensor.numel())


def _depends_on_order(statement: Statement, values: dict[str, Any], written: list[str]) -> bool:
    """Whether copying the operands that alias a written one changes the result."""
    storages = {values[name].untyped_storage().data_ptr() for name in written}
    shared = [
        name for name in statement.references()
        if isinstance(values.get(name), Tensor)
        and values[name].untyped_storage().data_ptr() in storages
    ]  # fmt: skip
    if len(shared) < 2:
        return False
    together = _run(statement, _copies(values, shared))
    apart = _run(_reading_copies(statement, shared), _with_copies(values, shared))
    if apart is None or together is None:
        return False  # eager raises
    return not all(same(apart[name], together[name]) for name in written)


COPY = "_copy"


def _reading_copies(statement: Statement, shared: list[str]) -> Statement:
    """The call with a separate copy for every argument that is only read."""
    positions, keywords = written_arguments(statement)

    def change(argument: Any) -> Any:
        if isinstance(argument, Ref) and argument.name in shared:
            return Ref(argument.name + COPY)
        if isinstance(argument, tuple):
            return type(argument)(change(each) for each in argument)
        return argument

    args = tuple(
        each if place in positions else change(each) for place, each in enumerate(statement.args)
    )
    kwargs = tuple(
        (key, value if key in keywords else change(value)) for key, value in statement.kwargs
    )
    return replace(statement, args=args, kwargs=kwargs)


def _with_copies(values: dict[str, Any], shared: list[str]) -> dict[str, Any]:
    copies = {name + COPY: values[name].detach().clone() for name in shared}
    return {**_copies(values, shared), **copies}


def _copies(values: dict[str, Any], shared: list[str]) -> dict[str, Any]:
    """Copies of the operands, which alias each other as the originals do."""
    memory: dict[int, torch.UntypedStorage] = {}
    scope = dict(values)
    for name in dict.fromkeys(shared):
        tensor = values[name].detach()
        storage = tensor.untyped_storage()
        copied = memory.setdefault(storage.data_ptr(), storage.clone())
        scope[name] = torch.empty(0, dtype=tensor.dtype).set_(
            copied, tensor.storage_offset(), tensor.size(), tensor.stride()
        )
    return scope


def _run(statement: Statement, scope: dict[str, Any]) -> dict[str, Any] | None:
    state = torch.get_rng_state()
    try:
        with torch.no_grad():
            exec(statement._call(), {**scope, "torch": torch})
    except Exception:
        return None
    finally:
        torch.set_rng_state(state)
    return scope


def same(left: Tensor, right: Tensor) -> bool:
    """Bitwise equality, with NaN equal to NaN."""
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    left, right = left.detach().resolve_conj(), right.detach().resolve_conj()
    if left.is_complex():
        left, right = (
            torch.view_as_real(left.resolve_neg()),
            torch.view_as_real(right.resolve_neg()),
        )
    return bool(
        torch.equal(left, right) or torch.equal(left.nan_to_num(0.123), right.nan_to_num(0.123))
    )


def leaves_range(statement: Statement, values: dict[str, Any], result: Any) -> bool:
    """A float cast to an integer type that cannot hold it: undefined in C++ and in PyTorch."""
    if statement.op.split(".")[0] not in CASTS and "dtype" not in dict(statement.kwargs):
        return False
    target = result if isinstance(result, Tensor) else None
    if statement.target == "[]=" or statement.op.split(".")[0].endswith("_"):
        target = values.get(next(iter(statement.references()), ""))
    if not isinstance(target, Tensor) or target.is_floating_point() or target.is_complex() or (
        target.dtype == torch.bool
    ):  # fmt: skip
        return False
    info = torch.iinfo(target.dtype)
    for name in statement.references():
        value = values.get(name)
        if isinstance(value, Tensor) and value.is_complex():
            value = value.real
        if isinstance(value, Tensor) and value.is_floating_point():
            wide = value.detach().double()
            if bool((~wide.isfinite() | (wide < info.min) | (wide >= info.max)).any()):
                return True
    numbers = [each for each in _literals((statement.args, tuple(v for _, v in statement.kwargs)))]
    return any(each != each or not info.min <= each <= info.max for each in numbers)


def _literals(argument: Any) -> list[float]:
    if isinstance(argument, tuple | list):
        return [each for item in argument for each in _literals(item)]
    if isinstance(argument, Ref | Raw | bool):
        return []
    return [float(argument)] if isinstance(argument, float) else []
