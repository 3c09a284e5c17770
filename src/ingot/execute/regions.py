"""Kernels as steps of the native program. Comes in: a region that has a kernel; goes out: a step in
the writer's open segment. What holds: a region that follows a product runs with it, on each part of
the result as soon as it is there; it may take the product's place in memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from torch import fx

from ingot.codegen.kernels import Kernel, Kernels
from ingot.dispatch.threads import kernel_work
from ingot.execute.choices import write_choice
from ingot.execute.heavy import packed_products
from ingot.fuse.region import Region
from ingot.fuse.views import base_of, is_view
from ingot.plan.choices import length_of, reduction_table
from ingot.plan.followers import Follower
from ingot.plan.products import Product
from ingot.plan.segment import ZERO, NativeStep, Word
from ingot.plan.teams import shared

if TYPE_CHECKING:
    from ingot.execute.runner import RunnerWriter


def native_followers(
    kernels: Kernels, followers: Mapping[Region, Follower]
) -> dict[Region, Follower]:
    """Those whose kernel a product can call."""
    found = kernels.by_region
    return {r: f for r, f in followers.items() if r in found and found[r].is_follower}


def write_region(writer: RunnerWriter, region: Region, number: int) -> None:
    kernel = writer.kernels.by_region[region]
    if region in writer.followers:
        product = with_follower(writer, writer.followers[region], number)
        writer.segment.steps.append(packed_products(writer, [product], number))
        return
    _make(writer, region, number)
    if kernel.whole is None:
        writer.segment.steps.append(_step(writer, kernel, number))
    else:
        _split_or_whole(writer, kernel, kernel.whole, number)


def native_nodes(region: Region) -> dict[fx.Node, None]:
    """The ops that a region's code stands for, and the views that it reads through."""
    found = dict.fromkeys([*region.members, *(node for node, _ in region.inlined)])
    reads = [n for node in list(found) for n in node.all_input_nodes]
    while reads:
        node = reads.pop()
        if node not in found and is_view(node):
            found[node] = None
            reads.append(base_of(node))
    return found


def _make(writer: RunnerWriter, region: Region, number: int) -> None:
    for node in region.stored:
        writer.make(node, number)


def share_memory(writer: RunnerWriter, follower: Follower) -> None:
    """The product's result goes where the follower's will be."""
    if follower.over is not None:
        writer.places.put(follower.product.node, writer.places.of(follower.over))


def with_follower(
    writer: RunnerWriter, follower: Follower, number: int
) -> tuple[Product, list[Word]]:
    """A product, and what follows it: the function and its words. There is memory for both."""
    _make(writer, follower.region, number)
    share_memory(writer, follower)
    if follower.over is None:
        writer.make(follower.product.node, number)
    kernel = writer.kernels.by_region[follower.region]
    return follower.product, [Word(ZERO, kernel.address), *_words(writer, kernel, number)]


def _split_or_whole(writer: RunnerWriter, split: Kernel, whole: Kernel, number: int) -> None:
    makers = {
        "split": lambda: _step(writer, split, number),
        "whole": lambda: _step(writer, whole, number),
    }
    table = reduction_table(writer.ways, split.region, writer.symbol_ranges)
    write_choice(writer, table, length_of(split.region), makers)


def _step(writer: RunnerWriter, kernel: Kernel, number: int) -> NativeStep:
    share = shared(kernel.share, kernel.work, kernel_work(writer.ways))
    words = tuple(_words(writer, kernel, number))
    return NativeStep(kernel.address, words, kernel.region, share=share)


def _words(writer: RunnerWriter, kernel: Kernel, number: int) -> list[Word]:
    words = [writer.address(b, number) for b in kernel.buffers]
    return [*words, *(Word(ZERO, s) for s in kernel.symbols)]
