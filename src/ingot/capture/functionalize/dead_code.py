"""Dead code elimination in functional programs with regions: removes unused values, unused outputs
and inputs of regions, and empty regions. Nothing with an effect beside its value is removed.
"""

from __future__ import annotations

import operator

from torch.fx import GraphModule, Node

from ingot.program.graph import output_node, output_values, placeholders
from ingot.program.mode_regions import is_region, region_parts
from ingot.program.spec import is_pure


def trim(module: GraphModule) -> None:
    for node in reversed(list(module.graph.nodes)):
        if is_region(node):
            _trim_region(module, node)
        elif not node.users and (is_pure(node) or node.target is operator.getitem):
            module.graph.erase_node(node)
    module.recompile()


def _trim_region(module: GraphModule, node: Node) -> None:
    state, reference, inputs = region_parts(node)
    body = module.get_submodule(str(reference.target))
    assert isinstance(body, GraphModule)
    _drop_outputs(node, body)
    trim(body)
    kept = [place.users != {} for place in placeholders(body.graph)]
    for place in placeholders(body.graph):
        if not place.users:
            body.graph.erase_node(place)
    body.recompile()
    node.args = (*state, reference, *(given for given, keep in zip(inputs, kept) if keep))
    if not node.users and not any(n.op == "call_function" for n in body.graph.nodes):
        module.graph.erase_node(node)  # its reference to the body is erased in turn
        module.delete_submodule(str(reference.target))


def _drop_outputs(node: Node, body: GraphModule) -> None:
    """Keep the outputs that an item is taken of, each once."""
    values = output_values(body.graph)
    wanted: list[int] = sorted({int(user.args[1]) for user in node.users})  # type: ignore[arg-type]
    for user in list(node.users):
        user.args = (node, wanted.index(int(user.args[1])))  # type: ignore[arg-type]
    output_node(body.graph).args = (tuple(values[i] for i in wanted),)
    node.meta["val"] = tuple(node.meta["val"][i] for i in wanted)
