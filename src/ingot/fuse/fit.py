"""Whether a node's elements fall on a region's domain: the node's variables in terms of the
domain's, or None. A node uses every domain variable, or all but the reduced ones; all reductions
and scans of a region run over the same variables.
"""

from __future__ import annotations

from torch import fx

from ingot.fuse import index as ix
from ingot.fuse.index import Index, Var
from ingot.fuse.region import Region, Template, covers
from ingot.fuse.solve import solve
from ingot.program.shapes import same_size

FEW_ROWS = 32
LONG_ROW = 16384


def placed(region: Region, template: Template) -> dict[Var, Index] | None:
    """The node's variables in terms of the region's: through a member that it reads, else through
    an equal shape."""
    for read, point in template.reads:
        if read in region.members:
            values = solve(template.vars, point, region.members[read], region.domain)
            if values is not None:
                return values
    if any(read in region.members for read, _ in template.reads):
        return None
    return _same_shape(region, template)


def _same_shape(region: Region, template: Template) -> dict[Var, Index] | None:
    """Beside the region: the same domain and at least one read in common."""
    sizes = [v.size for v in region.domain]
    if not same_size(ix.product(sizes), template.numel()):
        return None
    point = ix.reshaped([ix.of(v) for v in region.domain], sizes, template.shape)
    if point is None:
        return None
    values = dict(zip(template.vars, point, strict=True))
    for read, at in template.reads:
        moved = tuple(i.substitute(values) for i in at)
        if (read, moved) in region.reads and any(i.terms for i in moved):
            return values
    return None


def fitted(
    region: Region,
    template: Template,
    values: dict[Var, Index],
    templates: dict[fx.Node, Template],
) -> dict[Var, Index] | None:
    """The values with which the node may join, or None. A reduction may split variables."""
    if template.reduction is not None:
        return _reduction_fits(region, template, values)
    fits = _pointwise_fits(region, template, values, templates)
    return values if fits and _scan_fits(region, template, values) else None


def _pointwise_fits(
    region: Region, template: Template, values: dict[Var, Index], templates: dict[fx.Node, Template]
) -> bool:
    point = [values[v] for v in template.vars]
    used = {v for i in point for v in i.variables()}
    whole = set(region.domain)
    if used != whole and not (region.reduced and used == whole - region.reduced):
        return False
    if not covers(point, template.numel()):
        return False
    split = used == whole and region.needs_split and region.reduced
    return not (split and _follows_reduction(region, template, templates))


def _follows_reduction(
    region: Region, template: Template, templates: dict[fx.Node, Template]
) -> bool:
    return any(_after_reduction(region, read, templates) for read, _ in template.reads)


def _after_reduction(region: Region, node: fx.Node, templates: dict[fx.Node, Template]) -> bool:
    if node in region.spaces:
        return True
    template = templates.get(node)
    if node not in region.members or template is None:
        return False
    return any(_after_reduction(region, read, templates) for read, _ in template.reads)


def _reduction_fits(
    region: Region, template: Template, values: dict[Var, Index]
) -> dict[Var, Index] | None:
    """The node's variables once every domain variable is either kept or reduced; None if that is
    impossible."""
    assert template.reduction is not None
    dims = set(template.reduction.dims)
    for _ in range(4):
        kept: set[Var] = set()
        gone: set[Var] = set()
        for d, var in enumerate(template.vars):
            (gone if d in dims else kept).update(values[var].variables())
        if kept | gone != set(region.domain):
            return None
        if not kept & gone:
            break
        mixed = next(iter(sorted(kept & gone, key=lambda v: v.name)))
        by = next((b for i in values.values() if (b := _divisor(i, mixed)) is not None), None)
        if by is None or region.reduced:
            return None
        before = region.domain[:]
        region.split_variable(mixed, by)
        k = next(k for k, v in enumerate(region.domain) if v not in before)
        high, low = region.domain[k], region.domain[k + 1]
        values = {
            v: i.substitute({mixed: ix.of(high) * by + ix.of(low)}) for v, i in values.items()
        }
    else:
        return None
    if region.reduced and region.reduced != gone:
        return None
    if not gone:
        return None if region.members else values
    return values


def _divisor(index: Index, var: Var) -> int | None:
    """The radix at which `index` decomposes `var`."""
    for atom in index.terms:
        if isinstance(atom, ix.Div | ix.Mod):
            if (
                atom.index.as_var() is var
                and isinstance(atom.by, int)
                and ix.exact_quotient(var.size, atom.by)
            ):
                return atom.by
            found = _divisor(atom.index, var)
            if found is not None:
                return found
    return None


def _scan_fits(region: Region, template: Template, values: dict[Var, Index]) -> bool:
    """A scan runs along one loop, which must be the reduced one if the region has any."""
    if template.scan is None or template.shape[template.scan.dim] == 1:
        return True
    var = values[template.vars[template.scan.dim]].as_var()
    return var is not None and not region.needs_split and region.reduced in (set(), {var})


def few_long_rows(region: Region) -> bool:
    rows = ix.product([v.size for v in region.outer()])
    length = ix.product([v.size for v in region.inner()])
    return (
        isinstance(rows, int)
        and rows < FEW_ROWS
        and (not isinstance(length, int) or length >= LONG_ROW)
    )
