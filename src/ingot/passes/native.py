"""Pass pipelines for each kind of program, in order. Passes that find nothing to do in a program
are omitted.
"""

from __future__ import annotations

import torch

import ingot.passes.normalize_calls  # noqa: F401
from ingot.ops.dtypes import HALVES
from ingot.passes.attention import Attention
from ingot.passes.base import Pass
from ingot.passes.borders import Borders
from ingot.passes.checks import CHECKS, Checks
from ingot.passes.cleanup import Cleanup
from ingot.passes.convolve import Convolve
from ingot.passes.counters import Counters
from ingot.passes.decompose import late_table
from ingot.passes.expand import Expand
from ingot.passes.fold import Fold
from ingot.passes.fold_norms import FoldNorms
from ingot.passes.layout import Layout
from ingot.passes.normalize import Normalize
from ingot.passes.pool import Pool
from ingot.passes.prepare_control_flow import PrepareControlFlow
from ingot.passes.recur import LAYER, Recur
from ingot.passes.simplify import Simplify
from ingot.passes.spread import Spread
from ingot.passes.widen import Widen
from ingot.program.higher_order import control_of
from ingot.program.program import Program


def core_passes() -> list[Pass]:
    """From aten to core level."""
    return [Normalize(), Fold(), Simplify(), Cleanup()]


def native_passes(program: Program) -> list[Pass]:
    """All passes that native code needs, from aten level."""
    first = [*late_passes(program), *recurrent_passes(program), *control_passes(program)]
    passes = [*first, *check_passes(program), *core_passes()]
    return [*passes, Spread(), *half_passes(program), Attention(), *image_passes(program)]


def half_passes(program: Program) -> list[Pass]:
    """For half-precision matmuls."""
    values = (node.meta.get("val") for node in program.graph.nodes)
    half = any(isinstance(v, torch.Tensor) and v.dtype in HALVES for v in values)
    return [Widen()] if half else []


def late_passes(program: Program) -> list[Pass]:
    """For ops that AOTAutograd was told to keep whole."""
    table = late_table()
    return [Expand(table)] if any(n.target in table for n in program.graph.nodes) else []


def recurrent_passes(program: Program) -> list[Pass]:
    return [Recur()] if any(node.target is LAYER for node in program.graph.nodes) else []


def check_passes(program: Program) -> list[Pass]:
    """For data-dependent sizes and converted tensors."""
    return [Checks()] if any(node.target in CHECKS for node in program.graph.nodes) else []


def control_passes(program: Program) -> list[Pass]:
    """For branches and loops."""
    controlled = any(control_of(node) is not None for node in program.graph.nodes)
    return [Counters(), PrepareControlFlow()] if controlled else []


def image_passes(program: Program) -> list[Pass]:
    """For convolutions with weights that persist across calls and can be packed."""
    convolution = torch.ops.aten.convolution.default
    if not any(node.target is convolution for node in program.graph.nodes):
        return []
    if not any(spec.kind in ("parameter", "buffer") for spec in program.signature.inputs):
        return []
    return [FoldNorms(), Layout(), Convolve(), Pool(), Borders(), Cleanup()]
