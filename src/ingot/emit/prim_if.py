"""Imports `torch.cond`, which torch-mlir's importer does not support, as a `torch.prim.If` whose
branches call the functions of the branch graphs.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node
from torch_mlir import ir


def import_cond(importer: Any, loc: ir.Location, node: Node) -> None:
    predicate, *branches, operands = node.args
    values = [importer._import_argument(loc, operand) for operand in operands]  # type: ignore[union-attr]
    results = [importer._cc.value_info_to_type(v) for v in node.meta["val"]]
    with loc:
        choice = ir.Operation.create(
            "torch.prim.If",
            results=results,
            operands=[as_bool(importer, loc, predicate)],
            regions=2,
        )
        for region, branch in zip(choice.regions, branches):
            with ir.InsertionPoint(ir.Block.create_at_start(region, [])):
                name = _function_name(importer, node, branch)
                call = ir.Operation.create(
                    "func.call",
                    attributes={"callee": ir.FlatSymbolRefAttr.get(name)},
                    results=results,
                    operands=values,
                )
                ir.Operation.create("torch.prim.If.yield", operands=list(call.results))
    importer._multi_result_nodes.add(node)
    for i, value in enumerate(choice.results):
        importer.bind_node_value(node, value, i)


def as_bool(importer: Any, loc: ir.Location, predicate: Any) -> ir.Value:
    value = importer._import_argument(loc, predicate)
    if not isinstance(predicate, Node) or not isinstance(predicate.meta["val"], torch.Tensor):
        return value
    return ir.Operation.create(
        "torch.aten.Bool.Tensor", results=[importer._cc.torch_bool_type], operands=[value], loc=loc
    ).result


def _function_name(importer: Any, node: Node, branch: Any) -> str:
    module = node.graph.owning_module.get_submodule(str(branch.target))  # type: ignore[union-attr]
    return str(importer.fx_importer._graph_module_to_func_name[id(module)])
