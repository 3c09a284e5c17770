"""Notify `explain` and the tests of compiled programs, and write the text of each stage and of each
kernel for the options `dump` and `dump_assembly`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path

from ingot.codegen.jit.listing import DISASSEMBLERS, Listing, disassembler, listing_of
from ingot.codegen.jit.native import compiled_function
from ingot.kernels.native_call import Code
from ingot.listeners import Listeners
from ingot.machine import targeting
from ingot.options import Options
from ingot.plan.ir import EagerControlFlow, Launch, Plan, walk
from ingot.plan.resources import Resources
from ingot.stages import Compiled

_programs: Listeners[Compiled] = Listeners()
listening, is_heard = _programs.listening, _programs.is_heard


def compiled(result: Compiled, options: Options) -> None:
    _programs.tell(result)
    if options.dump:
        _dump(result, options)


def _dump(result: Compiled, options: Options) -> None:
    """Write the text of each stage to a file of its own."""
    folder = Path(options.dump)
    folder.mkdir(parents=True, exist_ok=True)
    number = len(list(folder.glob("*.program.txt")))
    texts = {
        "program.txt": result.fused.program.as_text(),
        "fused.txt": result.fused.as_text(),
        "runner.py": result.source,
    }
    if result.plan is not None:
        texts["plan.txt"] = result.plan.as_text()
        texts["plan_journal.txt"] = result.plan_journal.as_text()
    listings: dict[str, Listing] = {}
    if result.plan is not None and result.resources is not None:
        listings = listings_of(result.plan, result.resources)
    texts |= {f"{name}.mlir": listing.mlir() for name, listing in listings.items()}
    for name, text in texts.items():
        (folder / f"{number:03d}.{name}").write_text(text + "\n")
    if options.dump_assembly:
        _dump_assembly(listings, folder, number)


def listings_of(plan: Plan, resources: Resources) -> dict[str, Listing]:
    """The kernels of the plan under their names, and the functions of other modules that they call
    under their symbols."""
    found: dict[str, Listing] = {}
    waiting = [(name, entry.address) for name, entry in resources.kernels.items()]
    with targeting(resources.machine):
        waiting += _tiles(plan)
    while waiting:
        name, address = waiting.pop(0)
        listing = None if name in found else listing_of(address)
        if listing is not None:
            found[name] = listing
            waiting += listing.calls()
    return found


def _tiles(plan: Plan) -> Iterator[tuple[str, int]]:
    """The symbols and addresses of functions that launches pass to kernels, if sizes are known."""
    for op in walk(plan.ops):
        if isinstance(op, EagerControlFlow):
            for body in op.bodies:
                yield from _tiles(body)
        if not isinstance(op, Launch) or op.attributes is None:
            continue
        sizes = [size for size in op.attributes.sizes() if isinstance(size, int)]
        if len(sizes) < len(op.attributes.sizes()):
            continue
        words = {word for call in op.attributes.launches(sizes) for word in call.words}
        for word in words:
            compiled = compiled_function(word.address) if isinstance(word, Code) else None
            if compiled is not None:
                yield compiled[0].symbol(compiled[1]), word.address


def _dump_assembly(listings: Mapping[str, Listing], folder: Path, number: int) -> None:
    """Without a disassembler, the objects, which one elsewhere reads."""
    program = disassembler()
    if program is None:
        warnings.warn(
            f"dump_assembly: {' and '.join(DISASSEMBLERS)} are not on PATH; the kernels' objects "
            "are written instead. Install binutils or LLVM for assembly.",
            stacklevel=2,
        )
    for name, listing in listings.items():
        path = folder / f"{number:03d}.{name}"
        if program is None:
            path.with_name(f"{path.name}.o").write_bytes(listing.native.module.object)
        else:
            path.with_name(f"{path.name}.s").write_text(listing.assembly(program) + "\n")
