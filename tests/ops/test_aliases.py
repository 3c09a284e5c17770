"""Ops that return their input or a view of it, whatever their schemas declare: a write through the
result reaches the input, and results alias inputs exactly as in eager.

The list is generated: every op of PyTorch's OpInfo table whose result aliases an argument in eager.
Each is compiled as `y = op(x); y.add_(1); return y`.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing._internal.opinfo.core import OpInfo, SampleInput
from torch.utils import _pytree as pytree

import ingot
from ingot.program.overlap import overlaps_itself

from .cases import OPS, op_name

LOOKED_AT = 40
IN_PLACE = {"cauchy", "exponential", "geometric", "log_normal", "normal.in_place", "uniform"}
"""They write random numbers to their input, and are covered by the tests of random ops."""
NAMES = """
broadcast_to broadcast_tensors cartesian_prod chunk unsafe_chunk contiguous sum_to_size positive
conj conj_physical resolve_conj resolve_neg view_as_complex expand expand_as diagonal
meshgrid.variadic_tensors meshgrid.list_of_tensors as_strided as_strided.partial_views narrow
permute real split split.list_args unsafe_split split_with_sizes select slice tensor_split
hsplit vsplit dsplit ravel reshape reshape_as view view_as atleast_1d atleast_2d atleast_3d
flatten unflatten __getitem__ float unbind unfold movedim squeeze squeeze.multiple unsqueeze
transpose T H mT mH t nn.functional.dropout nn.functional.dropout2d nn.functional.dropout3d
nn.functional.alpha_dropout nn.functional.feature_alpha_dropout.with_train
nn.functional.feature_alpha_dropout.without_train linalg.diagonal masked.prod
"""
ALIASING = NAMES.split()
QUICK = (
    "positive", "unsafe_chunk", "unbind", "conj_physical", "sum_to_size", "reshape_as",
    "atleast_1d", "nn.functional.dropout", "split", "cartesian_prod",
)  # fmt: skip
EXTRA: dict[str, Callable[[Tensor], Any]] = {
    "alias": lambda x: torch.ops.aten.alias(x),
    "lift_fresh": lambda x: torch.ops.aten.lift_fresh(x),
    "lift_fresh of a value": lambda x: [torch.ops.aten.lift_fresh(x * 1), x],
    "lift": lambda x: torch.ops.aten.lift(x),
    "lift_fresh_copy": lambda x: [torch.ops.aten.lift_fresh_copy(x), x],
    "a constant of the program": lambda x: [torch.tensor([1.0, 2.0, 3.0, 4.0]), x],
    "detach": lambda x: x.detach(),
    "data": lambda x: x.data,
    "to": lambda x: x.to(torch.float32),
    "to with a device": lambda x: x.to("cpu"),
    "type_as": lambda x: x.type_as(torch.zeros(1)),
    "cpu": lambda x: x.cpu(),
    "Identity": torch.nn.Identity(),
    "pad of nothing": lambda x: torch.nn.functional.pad(x, (0, 0)),
    "requires_grad_": lambda x: x.requires_grad_(False),
    "view of a dtype": lambda x: x.view(torch.int32),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "view_as": lambda x: x.view_as(x),
    "contiguous of a view": lambda x: x.t().t().contiguous(),
    "squeeze of a part": lambda x: x[1:2].squeeze(0),
    "chunk of a chunk": lambda x: x.chunk(2)[1].chunk(2, dim=1)[0],
    "positive of a view": lambda x: torch.positive(x[1:]),
    "positive, kept": lambda x: [torch.positive(x), x * 2],
    "real of a view": lambda x: torch.real(x.t()),
    "expand to the same": lambda x: x.expand(-1, -1),
    "index of nothing": lambda x: x[...],
    "as_tensor": lambda x: torch.as_tensor(x),
    "from a list": lambda x: [x, x.t()][1],
    "the input and a view": lambda x: [x[0], x],
}

Written = Callable[..., Any]


def tensors_of(tree: Any) -> list[Tensor]:
    return [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, Tensor)]


def shared(results: Sequence[Tensor], inputs: Sequence[Tensor]) -> list[tuple[int, int]]:
    """Pairs (result, input) that share a storage."""
    return [
        (r, i)
        for (r, result), (i, given) in itertools.product(enumerate(results), enumerate(inputs))
        if result.untyped_storage().data_ptr() == given.untyped_storage().data_ptr()
    ]


def aliasing_samples(op: OpInfo) -> Iterator[SampleInput]:
    for sample in itertools.islice(op.sample_inputs("cpu", torch.float32), LOOKED_AT):
        inputs = tensors_of((sample.input, sample.args, sample.kwargs))
        results = tensors_of(op.op(sample.input, *sample.args, **sample.kwargs))
        plain = inputs and all(t.numel() and t.is_floating_point() for t in inputs)
        if plain and shared(results, inputs):
            yield sample


def written(op: Callable[..., Any], sample: SampleInput) -> tuple[Written, list[Tensor]]:
    """A function of the sample's tensors that writes through the result of `op`."""
    leaves, spec = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
    places = [k for k, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]

    def function(*tensors: Tensor) -> Any:
        given = list(leaves)
        for place, tensor in zip(places, tensors, strict=True):
            given[place] = tensor
        first, args, kwargs = pytree.tree_unflatten(given, spec)
        result = op(first, *args, **kwargs)
        tensors_of(result)[0].add_(1)
        return result

    return function, [leaves[place] for place in places]


def check(function: Written, tensors: Sequence[Tensor], compiled: Written) -> None:
    ours, theirs = ([t.detach().clone() for t in tensors] for _ in range(2))
    got = tensors_of(compiled(*ours))
    wanted = tensors_of(function(*theirs))
    torch.testing.assert_close(got, wanted, equal_nan=True)
    torch.testing.assert_close(ours, theirs, equal_nan=True)
    assert shared(got, ours) == shared(wanted, theirs)
    assert [steps(t) for t in got] == [steps(t) for t in wanted]


def steps(tensor: Tensor) -> list[int]:
    """The observable strides."""
    return [stride for size, stride in zip(tensor.shape, tensor.stride()) if size > 1]


def eager_takes(function: Written, tensors: Sequence[Tensor]) -> bool:
    """Whether eager defines the write: it does not if elements of the result overlap."""
    try:
        result = function(*(t.detach().clone() for t in tensors))
    except RuntimeError:  # a write to an expanded tensor, or one whose results are several views
        return False
    return not overlaps_itself(tensors_of(result)[0])


def compile_ahead(function: Written, tensors: Sequence[Tensor]) -> Written:
    return ingot.compile(function, tuple(t.detach().clone() for t in tensors))


def compile_just_in_time(function: Written, tensors: Sequence[Tensor]) -> Written:
    torch._dynamo.reset()
    return torch.compile(function, backend="ingot", dynamic=False)


ENTRIES = {"ahead": compile_ahead, "torch.compile": compile_just_in_time}


@pytest.mark.slow
def test_the_table_is_complete() -> None:
    """Every op that aliases its arguments is in the table."""
    found = set()
    for name, op in OPS.items():
        if torch.float32 not in op.dtypes or name in IN_PLACE or "#" in name:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if next(aliasing_samples(op), None) is not None:
                    found.add(op_name(op))
        except Exception:  # samples that require another library
            continue
    assert found - {"histogramdd"} <= set(ALIASING), found  # it returns the bins that it is given


def _check_op(name: str, entry: str, count: int) -> None:
    op = OPS[name]
    tried = 0
    for sample in aliasing_samples(op):
        function, tensors = written(op.op, sample)
        if not eager_takes(function, tensors):
            continue
        with torch.no_grad():
            check(function, tensors, ENTRIES[entry](function, tensors))
        tried += 1
        if tried == count:
            return


@pytest.mark.parametrize("name", QUICK)
def test_a_write_through_the_result_reaches_the_input(name: str) -> None:
    _check_op(name, "ahead", 1)


@pytest.mark.slow
@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("name", ALIASING)
def test_a_write_through_any_result_reaches_the_input(name: str, entry: str) -> None:
    _check_op(name, entry, 4)


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("name", EXTRA)
def test_a_write_through_a_kindred_form_reaches_the_input(name: str, entry: str) -> None:
    function, tensors = written(EXTRA[name], SampleInput(torch.randn(4, 4)))
    with torch.no_grad():
        check(function, tensors, ENTRIES[entry](function, tensors))
