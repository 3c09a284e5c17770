"""Who does what in a plan. Comes in: the steps and their kernels; goes out: which of them run
natively, which products are our own, and which values are tensors because the host touches them.
"""

from __future__ import annotations

import torch
from torch import fx

from ingot.codegen.kernels import Kernels
from ingot.execute.fallback import region_inputs
from ingot.fuse.shapes import shape_of, strides_of
from ingot.fuse.views import base_of, is_view
from ingot.plan.attentions import Attention, attentions_of
from ingot.plan.convolutions import Convolution, convolutions_of
from ingot.plan.derived import is_derived
from ingot.plan.places import backed, native_view
from ingot.plan.products import Product, products_of
from ingot.plan.winograd import faster
from ingot.stages import CallStep, Fused, KernelStep, Step

Heavy = Product | Convolution | Attention
"""What a call becomes that native code of our own does."""


class Roles:
    def __init__(self, fused: Fused, kernels: Kernels):
        self.inputs = [n for n in fused.program.graph.nodes if n.op == "placeholder"]
        self._kernels = kernels
        self._known = _input_symbols(self.inputs)
        lasting = _lasting(fused, self.inputs)
        self.products: dict[Step, list[Heavy]] = {}
        for step in fused.steps:
            if isinstance(step, CallStep):
                products: list[Heavy] = [*products_of(step.node, lasting)]
                products += map(faster, convolutions_of(step.node, lasting))
                products += attentions_of(step.node)
                if products:
                    self.products[step] = products
        self.hosted: set[fx.Node] = set()
        """Values that are tensors of their own."""
        self._find_hosted(fused)

    def is_host(self, step: Step) -> bool:
        """Does the host run it?"""
        if step in self.products:
            return False
        if isinstance(step, KernelStep):
            return step.region not in self._kernels.by_region
        return step.node in self.hosted or not native_view(step.node)

    def _find_hosted(self, fused: Fused) -> None:
        for node in fused.program.graph.nodes:
            if node.op in ("placeholder", "get_attr") or is_derived(node):
                self.hosted.add(node)
            elif node.op == "output":
                self._host(*node.all_input_nodes)
        for step in reversed(fused.steps):
            for node in _made(step):
                if not self._fits_arena(node):
                    self._host(node)
            if not self.is_host(step):
                continue
            self._host(*_made(step))
            if isinstance(step, CallStep):
                self._host(*step.node.all_input_nodes)
            else:
                self._host(*region_inputs(step.region))

    def _host(self, *nodes: fx.Node) -> None:
        for node in nodes:
            self.hosted.add(node)
            if is_view(node) and not is_derived(node):
                self._host(base_of(node))

    def _fits_arena(self, node: fx.Node) -> bool:
        """Is its size known before the first step?"""
        value = node.meta.get("val")
        if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
            return False
        return backed((*shape_of(node), *strides_of(node)), self._known)


def _made(step: Step) -> list[fx.Node]:
    return [step.node] if isinstance(step, CallStep) else list(step.region.stored)


def _lasting(fused: Fused, inputs: list[fx.Node]) -> set[fx.Node]:
    """Inputs that are the module's own tensors and are not written here, and constants."""
    signature = fused.program.signature
    written = {spec.target for spec in signature.outputs if spec.target is not None}
    stay = {
        node
        for i, (node, spec) in enumerate(zip(inputs, signature.inputs, strict=True))
        if spec.kind in ("parameter", "buffer", "constant") and i not in written
    }
    return stay | {n for n in fused.program.graph.nodes if n.op == "get_attr" or is_derived(n)}


def _input_symbols(inputs: list[fx.Node]) -> set[str]:
    """Names of the symbols that are an input or a size of one."""
    known: set[str] = set()
    for node in inputs:
        value = node.meta.get("val")
        numbers = value.shape if isinstance(value, torch.Tensor) else (value,)
        for number in numbers:
            if isinstance(number, torch.SymInt) and number.node.expr.is_Symbol:
                known.add(number.node.expr.name)
    return known
