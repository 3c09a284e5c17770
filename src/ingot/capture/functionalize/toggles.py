"""Calls that change the autograd or autocast state, as the tracer left them in the graph, and the
change that each makes in States.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._higher_order_ops.wrap import wrap_with_autocast
from torch.fx import Node

from ingot.capture.functionalize.states import States, autocast_state, frame_for
from ingot.program.mode_regions import inference_mode

Toggle = Callable[[States, Node, Any], Any]


def _set_grad(states: States, node: Node, args: Any) -> None:
    mark = node.meta.get("inference_mode")
    if mark is None:
        states.set_grad(args[0])
    elif mark[0] == "enter":
        states.enter(mark[1], frame_for(inference_mode, (mark[2],)))
    else:
        states.leave(mark[1])


def _enter_autocast(states: States, node: Node, args: Any) -> Node:
    states.enter(node, frame_for(wrap_with_autocast, autocast_state(*args)))
    return node


def _exit_autocast(states: States, node: Node, args: Any) -> None:
    states.leave(args[0])


toggles: dict[Any, Toggle] = {
    torch._C._set_grad_enabled: _set_grad,
    torch.amp.autocast_mode._enter_autocast: _enter_autocast,
    torch.amp.autocast_mode._exit_autocast: _exit_autocast,
}
