"""Results of a model: compared with eager's, described, written to a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from ingot.cli.errors import Failure
from ingot.cli.inputs import described
from ingot.emit.difference import TOLERANCES, Difference, compare

if TYPE_CHECKING:
    from ingot.cli.models import Workload

FILES = (".pt", ".npy", ".safetensors")


def named_leaves(results: Any) -> dict[str, Any]:
    """Every tensor and number of the results, by its path."""
    leaves, _ = pytree.tree_flatten_with_path(results)
    return {pytree.keystr(path).strip(".") or "result": leaf for path, leaf in leaves}


def compared(results: Any, expected: Any) -> list[Difference]:
    got, want = named_leaves(results), named_leaves(expected)
    if got.keys() != want.keys():
        why = f"the results are {', '.join(got)}; eager's are {', '.join(want)}"
        return [Difference("results", float("inf"), 0.0, why)]
    coarsest = max((_tolerance(value) for value in want.values()), default=0.0)
    return [
        compare(name, got[name], value, coarsest)
        for name, value in want.items()
        if isinstance(value, Tensor | int | float | complex)
    ]


def _tolerance(value: Any) -> float:
    return TOLERANCES.get(value.dtype, 0.0) if isinstance(value, Tensor) else 0.0


def call_both(exe: Callable[..., Any], workload: Workload) -> tuple[Any, Any]:
    """The results of the compiled program and of eager, each called with the inputs, buffers and
    random state as they are now."""
    from ingot.explain.listen import left_as_found

    def result(call: Callable[[], Any]) -> Any:
        with left_as_found(workload.eager or workload.model, (), {}):
            return pytree.tree_map_only(Tensor, lambda t: t.detach().clone(), call())

    args, kwargs = workload.copied()
    return result(lambda: exe(*args, **kwargs)), result(workload.call_eager)


def check(differences: Sequence[Difference]) -> str:
    """One line if all are equal within rounding; otherwise the command fails."""
    wrong = [each.as_text() for each in differences if each.why]
    if wrong:
        raise Failure("\n  ".join(["the results differ from eager's", *wrong]))
    furthest = max((d.largest / (d.scale or 1.0) for d in differences), default=0.0)
    return f"equal to eager's: largest difference {furthest:.1g} of the largest value"


def lines_of(results: Any) -> list[str]:
    return [f"{name}: {summary(value)}" for name, value in named_leaves(results).items()]


def summary(value: Any) -> str:
    """Dtype, shape, and the values or what they are like."""
    if not isinstance(value, Tensor):
        return repr(value)
    if value.numel() <= 8:
        return f"{described(value)} {value.tolist()}"
    if not value.dtype.is_floating_point:
        return described(value)
    wide = value.detach().double()
    low, mean, high = wide.min().item(), wide.mean().item(), wide.max().item()
    return f"{described(value)} from {low:.4g} to {high:.4g}, mean {mean:.4g}"


def as_data(results: Any) -> list[dict[str, Any]]:
    return [
        {"name": name, "dtype": str(v.dtype).removeprefix("torch."), "shape": list(v.shape)}
        if isinstance(v, Tensor) else {"name": name, "value": v}
        for name, v in named_leaves(results).items()
    ]  # fmt: skip


def check_file(path: str) -> None:
    if Path(path).suffix not in FILES:
        raise click.BadParameter(f"{path!r}: results are written as {', '.join(FILES)}")


def write(results: Any, path: str) -> None:
    tensors = {n: v.detach() for n, v in named_leaves(results).items() if isinstance(v, Tensor)}
    suffix = Path(path).suffix
    if suffix == ".pt":
        torch.save(next(iter(tensors.values())) if len(tensors) == 1 else tensors, path)
    elif suffix == ".safetensors":
        from safetensors.torch import save_file

        save_file({name: tensor.contiguous().clone() for name, tensor in tensors.items()}, path)
    else:
        import numpy

        if len(tensors) != 1:
            raise Failure(f"{path}: a .npy holds one tensor, and there are {len(tensors)}")
        numpy.save(path, next(iter(tensors.values())).numpy())
