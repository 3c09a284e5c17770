"""Makes the document of the visual report from compiled graphs and what `explain` recorded."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence

import torch

from ingot.capture.recompiles import Recompile
from ingot.codegen.jit.listing import DISASSEMBLERS, Listing, disassembler
from ingot.explain.graphs import describe_graph
from ingot.explain.records import Document, Host, Kernel, Summary
from ingot.explain.report import ChoiceRow
from ingot.explain.sources import Sources
from ingot.machine import cpu_model, this_machine
from ingot.observe import listings_of
from ingot.stages import Compiled
from ingot.version import __version__

MOST_LISTING = 400_000
"""Characters of one listing."""
MOST_LISTINGS = 24_000_000
"""Characters of all listings of a document."""
LEFT_OUT = "the listings of this report are too long; the option dump writes all of them"


def describe(
    name: str,
    graphs: Sequence[Compiled],
    times: Sequence[Sequence[float]],
    summary: Summary,
    recompiles: Sequence[Recompile],
    choices: Sequence[ChoiceRow],
) -> Document:
    sources, kernels = Sources(), _Kernels()
    described = tuple(
        describe_graph(_graph_name(graphs, k), graph, ms, sources, kernels.of(graph))
        for k, (graph, ms) in enumerate(zip(graphs, times))
    )
    return Document(
        name=name,
        summary=summary,
        host=_host(),
        roofline=None,
        sources=sources.sources(),
        stacks=sources.stacks(),
        graphs=described,
        kernels=kernels.records(),
        recompiles=tuple(recompiles),
        choices=tuple(choices),
    )


def _graph_name(graphs: Sequence[Compiled], k: int) -> str:
    """Versions of one program share its plan."""
    firsts = [g for g in range(k + 1) if graphs[g].version == 0]
    name = f"graph {max(0, len(firsts) - 1)}"
    alone = graphs[k].version == 0 and (k + 1 == len(graphs) or graphs[k + 1].version == 0)
    return name if alone else f"{name}, version {graphs[k].version}"


def _host() -> Host:
    machine = this_machine()
    return Host(
        cpu=cpu_model(),
        threads=torch.get_num_threads(),
        vector_bits=machine.vector_bits,
        cache_bytes=machine.l3_bytes,
        ingot=__version__,
        torch=str(torch.__version__),
    )


class _Kernels:
    """The kernels of all graphs, each once."""

    def __init__(self) -> None:
        self._index: dict[tuple[str, str], int] = {}
        self._families: list[str] = []
        self._listings: list[Listing | None] = []

    def of(self, graph: Compiled) -> Mapping[str, int]:
        """The index of each kernel of a graph and of the functions that they call, by name."""
        if graph.plan is None or graph.resources is None:
            return {}
        listings = listings_of(graph.plan, graph.resources)
        declared = {kernel.name: kernel for kernel in graph.plan.kernels}
        found = {}
        for name in dict.fromkeys((*declared, *listings)):
            kernel = declared.get(name)
            family, digest = (kernel.family, kernel.digest) if kernel else ("function", "")
            found[name] = self._add(name, family, digest, listings.get(name))
        return found

    def _add(self, name: str, family: str, digest: str, listing: Listing | None) -> int:
        index = self._index.setdefault((name, digest), len(self._index))
        if index == len(self._listings):
            self._families.append(family)
            self._listings.append(listing)
        return index

    def records(self) -> tuple[Kernel, ...]:
        return tuple(self._records())

    def _records(self) -> Iterator[Kernel]:
        program, left = disassembler(), MOST_LISTINGS
        by_name = {name: index for (name, _), index in self._index.items()}
        for (name, _), index in self._index.items():
            listing = self._listings[index]
            mlir, assembly, note = _listed(listing, program) if left > 0 else ("", "", LEFT_OUT)
            left -= len(mlir) + len(assembly)
            called = [symbol for symbol, _ in listing.calls()] if listing is not None else []
            calls = tuple(dict.fromkeys(by_name[each] for each in called if each in by_name))
            yield Kernel(name, self._families[index], mlir, assembly, note, calls)


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
