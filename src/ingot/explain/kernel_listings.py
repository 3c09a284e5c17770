"""The kernels of the visual report with their MLIR and assembly. The listings are made when they
are asked for; until then the machine code is kept alive, but no graph and no weight.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping

from ingot.codegen.jit.listing import DISASSEMBLERS, Listing, disassembler
from ingot.explain.records import Kernel
from ingot.observe import listings_of
from ingot.plan.ir import Plan
from ingot.plan.resources import Resources
from ingot.stages import Compiled

MOST_LISTING = 400_000
"""Characters of one listing."""
MOST_LISTINGS = 24_000_000
"""Characters of all listings of a document."""
LEFT_OUT = "the listings of this report are too long; the option dump writes all of them"
FUNCTION = "function"
"""The family of what kernels call."""

Key = tuple[str, str]
"""The name and the digest of a kernel; plans may give one name to different kernels."""


class KernelListings:
    def __init__(self) -> None:
        self._families: dict[Key, str] = {}
        """In the order of their numbers."""
        self._plans: list[tuple[Plan, Resources]] = []

    def numbers(self, graph: Compiled) -> Mapping[str, int]:
        """The number of each kernel of a graph, by its name in the plan."""
        if graph.plan is None or graph.resources is None:
            return {}
        code = Resources(machine=graph.resources.machine, kernels=dict(graph.resources.kernels))
        self._plans.append((graph.plan, code))
        for kernel in graph.plan.kernels:
            self._families.setdefault((kernel.name, kernel.digest), kernel.family)
        order = {key: number for number, key in enumerate(self._families)}
        return {k.name: order[k.name, k.digest] for k in graph.plan.kernels}

    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels by number, then the functions that they call."""
        listings: dict[Key, Listing] = {}
        for plan, code in self._plans:
            digests = {kernel.name: kernel.digest for kernel in plan.kernels}
            for name, made in listings_of(plan, code).items():
                listings.setdefault((name, digests.get(name, "")), made)
        families = self._families | {key: FUNCTION for key in listings if key not in self._families}
        functions = {name: number for number, (name, digest) in enumerate(families) if not digest}
        program, left = disassembler(), MOST_LISTINGS
        found = []
        for key, family in families.items():
            listing = listings.get(key)
            texts = _listed(listing, program) if left > 0 else ("", "", LEFT_OUT)
            left -= sum(map(len, texts))
            called = [symbol for symbol, _ in listing.calls()] if listing is not None else []
            calls = dict.fromkeys(functions[each] for each in called if each in functions)
            found.append(Kernel(key[0], family, *texts, tuple(calls)))
        return tuple(found)


def _listed(listing: Listing | None, program: str | None) -> tuple[str, str, str]:
    """MLIR, assembly, and why one is missing."""
    if listing is None:
        return "", "", "not compiled by ingot: a function of a library"
    mlir = _cut(listing.mlir())
    if program is None:
        return mlir, "", f"{' and '.join(DISASSEMBLERS)} are not on PATH"
    try:
        return mlir, _cut(listing.assembly(program)), ""
    except (OSError, subprocess.CalledProcessError) as error:
        return mlir, "", f"{program} failed: {error}"


def _cut(text: str) -> str:
    return text if len(text) <= MOST_LISTING else f"{text[:MOST_LISTING]}\n… cut here"
