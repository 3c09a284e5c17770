"""Convolutions: direct, depthwise, by Winograd's transform, and chains of them depth-first."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import fx

from ingot.codegen.loops.gemm import WORK_PER_THREAD
from ingot.kernels.convolution.claim import Convolution, convolutions_of, why_not_converted
from ingot.kernels.convolution.depth_first import Chain, chains_of
from ingot.kernels.convolution.emit import convolution_functions
from ingot.kernels.convolution.emit_depth_first import chain_functions
from ingot.kernels.convolution.emit_winograd import winograd_functions
from ingot.kernels.convolution.winograd import Winograd, faster
from ingot.kernels.family import Family, Reason, useful_threads
from ingot.plan.draft import PlanDraft
from ingot.plan.ir import Argument, Launch, Op, Parameter, Pointer
from ingot.program import native_ops

aten = torch.ops.aten
Named = dict[str, tuple[Argument, str]]
"""Arguments by name, with their access."""


class ConvolutionFamily(Family[Convolution | Chain]):
    name = "convolution"
    targets = (native_ops.convolution, aten.convolution.default)

    def match(self, node: fx.Node, frozen: set[fx.Node]) -> Sequence[Convolution] | Reason:
        if node.target is aten.convolution.default:
            return why_not_converted(node, frozen)
        found = convolutions_of(node, frozen)
        return found if isinstance(found, Reason) else [faster(each) for each in found]

    def launch(self, claim: Convolution | Chain, draft: PlanDraft) -> list[Op]:
        return [_chain(claim, draft) if isinstance(claim, Chain) else _alone(claim, draft)]

    def merge(self, claims: Sequence[Convolution | Chain]) -> Sequence[Chain]:
        return chains_of([claim for claim in claims if isinstance(claim, Convolution)])

    early = (
        torch.conv1d, torch.conv2d, torch.conv3d, aten.conv1d.default, aten.conv2d.default,
        aten.conv3d.default, aten.convolution.default,
    )  # fmt: skip

    def precompile(self, node: fx.Node, dtype: torch.dtype) -> None:
        from ingot.kernels.convolution import emit as convolution
        from ingot.kernels.convolution import emit_winograd as winograd

        convolution.begin(dtype)
        value = node.args[1] if len(node.args) > 1 else node.kwargs.get("weight")
        meta = value.meta if isinstance(value, fx.Node) else {}
        weight = meta.get("example_value", meta.get("val"))
        if isinstance(weight, torch.Tensor) and tuple(weight.shape[2:]) == (3, 3):
            winograd.begin(dtype)


def _alone(claim: Convolution, draft: PlanDraft) -> Launch:
    itemsize = claim.dtype.itemsize
    image, result, _ = (start * itemsize for start in claim.starts)
    named: Named = {
        "image": (draft.pointer(claim.image, image), "r"),
        "c": (draft.pointer(claim.node, result), "w"),
        **_weights(claim, draft),
    }
    scratch = claim.code.scratch()
    if scratch:
        named["scratch"] = draft.scratch(scratch), "rw"
    threads = useful_threads(claim.geometry.work, WORK_PER_THREAD)
    winograd = isinstance(claim.code, Winograd)
    functions = (winograd_functions if winograd else convolution_functions)(claim.dtype)
    kernel = _kernel(draft, "winograd" if winograd else "convolution", functions, named)
    computes = draft.computes([claim.node], [claim.node])
    arguments = [argument for argument, _ in named.values()]
    return draft.launch(kernel, arguments, computes, threads=threads, attributes=claim.code)


def _chain(claim: Chain, draft: PlanDraft) -> Launch:
    first, last = claim.stages[0], claim.stages[-1]
    itemsize = last.dtype.itemsize
    named: Named = {
        "room": (draft.scratch(claim.code.scratch()), "rw"),
        "image 0": (draft.pointer(first.image, first.starts[0] * itemsize), "r"),
        f"c {len(claim.stages) - 1}": (draft.pointer(last.node, last.starts[1] * itemsize), "w"),
    }
    for place, stage in enumerate(claim.stages):
        for name, each in _weights(stage, draft).items():
            named[f"{name} {place}"] = each
    threads = useful_threads(claim.code.work, WORK_PER_THREAD)
    kernel = _kernel(draft, "depth_first", chain_functions(last.dtype), named)
    computes = draft.computes([claim.node], [stage.node for stage in claim.stages])
    arguments = [argument for argument, _ in named.values()]
    return draft.launch(kernel, arguments, computes, threads=threads, attributes=claim.code)


def _weights(claim: Convolution, draft: PlanDraft) -> Named:
    """All arguments but the image and the result."""
    itemsize = claim.dtype.itemsize
    packed = draft.packed(claim.panels, *claim.filters())
    starts = claim.panels.starts(claim.geometry.terms)
    named: Named = {
        name: (Pointer(packed.buffer, start * itemsize), "r") for name, start in starts.items()
    }
    named["addend"] = 0, "r"
    if claim.addend is not None:
        named["addend"] = draft.pointer(claim.addend, claim.starts[2] * itemsize), "r"
    return named


def _kernel(draft: PlanDraft, family: str, functions: tuple[int, int], named: Named) -> str:
    parameters = [
        Parameter(name, access, None, optional=name.startswith("addend"))
        for name, (_, access) in named.items()
    ]
    return draft.kernel(family, functions[0], parameters, functions[1])
