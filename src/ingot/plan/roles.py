"""Who does what in a plan. Comes in: the steps and their kernels; goes out: which of them run
natively, which products are our own, which branches and loops run without the host, and which
values are tensors because the host touches them or makes room for them.
"""

from __future__ import annotations

import operator

import torch
from torch import fx

from ingot.codegen.kernels import Kernels
from ingot.execute.fallback import region_inputs
from ingot.fallback.boundary import blaming
from ingot.fuse.fused import CallStep, Fused, KernelStep, Step
from ingot.fuse.views import base_of, is_view
from ingot.plan.attentions import Attention, attentions_of
from ingot.plan.batches import Batch, batches_of
from ingot.plan.chains import Chain, chains_of
from ingot.plan.control import fits
from ingot.plan.convolutions import Convolution, convolutions_of
from ingot.plan.derived import is_derived
from ingot.plan.places import backed, native_view
from ingot.plan.placings import Placing, placings_of
from ingot.plan.products import Product, products_of
from ingot.plan.recurrences import Recurrence, recurrences_of
from ingot.plan.winograd import faster
from ingot.program.graph import output_node
from ingot.program.higher_order import Control, control_of
from ingot.program.shapes import shape_of, strides_of
from ingot.program.spec import is_symbolic_arithmetic
from ingot.program.symbols import symbols_before

aten = torch.ops.aten
SIZE_QUESTIONS = {aten.sym_size.int, aten.sym_numel.default, aten.sym_stride.int}
Heavy = Product | Batch | Convolution | Chain | Attention | Recurrence | Placing
"""What a call becomes that native code of our own does."""


class Roles:
    def __init__(self, fused: Fused, kernels: Kernels):
        self.inputs = [n for n in fused.program.graph.nodes if n.op == "placeholder"]
        self._kernels = kernels
        self._known = _input_symbols(self.inputs)
        self.products: dict[Step, list[Heavy]] = {}
        """None: what it makes is made inside of another."""
        self._find_products(fused)
        self.hosted: set[fx.Node] = set()
        """Values that are tensors of their own."""
        self.controls: dict[Step, Control] = {}
        """Branches and loops whose every step is native."""
        self.idle: set[Step] = set()
        """Arithmetic on sizes that only native steps ask for: they work it out themselves."""
        self._find_controls(fused)
        self._find_hosted(fused)

    def _find_products(self, fused: Fused) -> None:
        lasting = fused.program.frozen_inputs()
        lasting |= {node for node in fused.program.graph.nodes if is_derived(node)}
        found: dict[fx.Node, CallStep] = {}
        for step in fused.steps:
            if isinstance(step, CallStep) and step.native:
                with blaming(step=step):
                    self._find_products_of(step, lasting)
                found[step.node] = step
        # The first stage of a chain reads its image later than it would alone.
        if not any(spec.kind == "mutation" for spec in fused.program.signature.outputs):
            self._find_chains(found)

    def _find_products_of(self, step: CallStep, lasting: set[fx.Node]) -> None:
        products: list[Heavy] = [*products_of(step.node, lasting)]
        products += map(faster, convolutions_of(step.node, lasting))
        products += attentions_of(step.node)
        products += recurrences_of(step.node, lasting)
        products += placings_of(step.node)
        products = products or [*batches_of(step.node)]
        if products:
            self.products[step] = products

    def _find_chains(self, found: dict[fx.Node, CallStep]) -> None:
        """Convolutions that run with the last of their chain."""
        alone = [
            products[0]
            for step in found.values()
            if len(products := self.products.get(step, [])) == 1
        ]
        for chain in chains_of([p for p in alone if isinstance(p, Convolution)]):
            for stage in chain.stages:
                self.products[found[stage.node]] = []
            self.products[found[chain.node]] = [chain]

    def _find_controls(self, fused: Fused) -> None:
        for step in fused.steps:
            if not isinstance(step, CallStep) or not step.bodies:
                continue
            control = control_of(step.node)
            assert control is not None
            for body in step.bodies:
                self._find_products(body)
                self._find_controls(body)
            in_sight = symbols_before(step.node)
            if not step.native:
                continue
            if fits(step, control, in_sight) and all(map(self._is_native, step.bodies)):
                self.controls[step] = control
                for body in step.bodies:
                    self.idle.update(filter(_counts, body.steps))
        self._find_idle(fused)

    def _is_native(self, body: Fused) -> bool:
        return not any(self.is_host(step) for step in body.steps if not _counts(step))

    def _find_idle(self, fused: Fused) -> None:
        nodes = {step.node for step in self.controls if isinstance(step, CallStep)}
        for step in reversed(fused.steps):
            if isinstance(step, CallStep) and is_count(step.node) and nodes >= {*step.node.users}:
                self.idle.add(step)
                nodes.add(step.node)

    def is_host(self, step: Step) -> bool:
        """Does the host run it?"""
        if step in self.products or step in self.controls or step in self.idle:
            return False
        if isinstance(step, KernelStep):
            return step.region not in self._kernels.by_region
        if self.is_result(step.node):
            return False
        return step.node in self.hosted or not native_view(step.node)

    def is_result(self, node: fx.Node) -> bool:
        """Is it what a native branch or loop gives?"""
        return node.target is operator.getitem and any(
            step.node is node.args[0] for step in self.controls if isinstance(step, CallStep)
        )

    def _find_hosted(self, fused: Fused) -> None:
        for node in fused.program.graph.nodes:
            if node.op in ("placeholder", "get_attr") or is_derived(node):
                self.hosted.add(node)
            elif node.op == "output":
                self._host(*node.all_input_nodes)
        for step in reversed(fused.steps):
            for node in _made(step):
                if step not in self.controls and not self._fits_arena(node):
                    self._host(node)
            if step in self.controls:
                assert isinstance(step, CallStep)
                self._host_inside(step)
            if not self.is_host(step):
                continue
            self._host(*_made(step))
            if isinstance(step, CallStep):
                self._host(*step.node.all_input_nodes)
            else:
                self._host(*region_inputs(step.region))

    def _host_inside(self, control: CallStep) -> None:
        """Constants of bodies, what is made of weights, and values that do not fit the arena: the
        host makes room for them before it starts."""
        for body in control.bodies:
            graph = body.program.graph
            self.hosted.update(n for n in graph.nodes if n.op == "get_attr" or is_derived(n))
            for step in body.steps:
                if step in self.controls:
                    assert isinstance(step, CallStep)
                    self._host_inside(step)
                elif isinstance(step, KernelStep) or not is_view(step.node):
                    self.hosted.update(n for n in _made(step) if not self._fits_arena(n))
            ends = [n for n in graph.nodes if n.op == "placeholder"]
            ends += output_node(graph).all_input_nodes
            self.hosted.update(n for n in ends if _is_tensor(n) and not self._fits_arena(n))

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


def is_count(node: fx.Node) -> bool:
    """Is it arithmetic on sizes?"""
    asks_or_counts = node.target in SIZE_QUESTIONS or is_symbolic_arithmetic(node.target)
    return asks_or_counts and isinstance(
        node.meta.get("val"), torch.SymInt | torch.SymFloat | torch.SymBool
    )


def _counts(step: Step) -> bool:
    return isinstance(step, CallStep) and is_count(step.node)


def _is_tensor(node: fx.Node) -> bool:
    return isinstance(node.meta.get("val"), torch.Tensor)


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
