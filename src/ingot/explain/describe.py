"""Makes the document of the visual report from compiled graphs and what `explain` recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from ingot.capture.recompiles import Recompile
from ingot.explain.graphs import describe_graph
from ingot.explain.kernel_listings import KernelListings
from ingot.explain.records import Document, Host, Summary
from ingot.explain.report import ChoiceRow
from ingot.explain.sources import Sources
from ingot.machine import cpu_model, this_machine
from ingot.stages import Compiled
from ingot.version import __version__


@dataclass(frozen=True)
class Description:
    """A document whose kernels are listed when it is needed: that takes a disassembler."""

    without_kernels: Document
    listings: KernelListings

    def document(self) -> Document:
        return replace(self.without_kernels, kernels=self.listings.kernels())


def describe(
    name: str,
    graphs: Sequence[Compiled],
    times: Sequence[Sequence[float]],
    summary: Summary,
    recompiles: Sequence[Recompile],
    choices: Sequence[ChoiceRow],
) -> Description:
    """Nothing of it refers to the graphs, so that they can be released."""
    sources, listings = Sources(), KernelListings()
    described = tuple(
        describe_graph(_graph_name(graphs, k), graph, ms, sources, listings.numbers(graph))
        for k, (graph, ms) in enumerate(zip(graphs, times))
    )
    document = Document(
        name=name,
        summary=summary,
        host=_host(),
        roofline=None,
        sources=sources.sources(),
        stacks=sources.stacks(),
        graphs=described,
        kernels=(),
        recompiles=tuple(recompiles),
        choices=tuple(choices),
    )
    return Description(document, listings)


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
