"""The kernel families, in the order in which they may claim a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import fx

from ingot.kernels.attention.family import AttentionFamily
from ingot.kernels.batched_matmul.family import BatchedMatmul
from ingot.kernels.convolution.family import ConvolutionFamily
from ingot.kernels.family import Claim, Family, Reason
from ingot.kernels.index_copy.family import IndexCopyFamily
from ingot.kernels.matmul.family import MatmulFamily
from ingot.kernels.recurrent.family import Lstm
from ingot.kernels.topk_softmax.family import TopkSoftmax
from ingot.passes.base import Pass
from ingot.program.program import Program

FAMILIES: tuple[Family[Any], ...] = (
    MatmulFamily(), ConvolutionFamily(), AttentionFamily(), Lstm(), IndexCopyFamily(),
    BatchedMatmul(), TopkSoftmax(),
)  # fmt: skip

Match = tuple[Family[Any], Sequence[Claim]]


def family_passes(program: Program) -> list[Pass]:
    """The passes that the families add for a core program."""
    return [each for family in FAMILIES for each in family.passes(program)]


def claimed(node: fx.Node, frozen: set[fx.Node]) -> tuple[Match | None, dict[str, str]]:
    """The first family that runs a call, with its claims, and the reasons of the families that
    refused it, by name."""
    reasons: dict[str, str] = {}
    for family in FAMILIES:
        if node.target not in family.targets:
            continue
        found = family.match(node, frozen)
        if isinstance(found, Reason):
            reasons[family.name] = found.text
        elif found:
            return (family, found), reasons
    return None, reasons
