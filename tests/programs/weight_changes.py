"""Forty ways to change the weights of a model, whether or not PyTorch counts the write."""

from __future__ import annotations

import copy
import ctypes
import io
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import parametrizations, parametrize, prune, vector_to_parameters

Module = TypeVar("Module", bound=nn.Module)


class Net(nn.Module):
    """Weights that are packed (convolution, linear), folded (batch norm), tied, and read directly
    (scale). They are square, so that a transposed weight still fits."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.conv = nn.Conv2d(4, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.first = nn.Linear(128, 128)
        self.second = nn.Linear(128, 128, bias=False)
        self.tied = nn.Linear(128, 128, bias=False)
        self.tied.weight = self.second.weight
        self.scale = nn.Parameter(torch.randn(128, 128))
        self.register_buffer("shift", torch.randn(128))

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.norm(self.conv(x))).mean((2, 3)).repeat(1, 16)
        x = torch.tanh(self.first(x) @ self.scale) + self.shift
        return self.tied(torch.tanh(self.second(x)))


def example(seed: int = 1) -> Tensor:
    return torch.randn(5, 4, 6, 6, generator=torch.Generator().manual_seed(seed))


def other(module: Module) -> Module:
    """The same architecture with other values."""
    made = copy.deepcopy(module)
    with torch.no_grad():
        for tensor in (*made.parameters(), *made.buffers()):
            if tensor.is_floating_point():
                tensor.add_(torch.rand_like(tensor) * 0.3)
    return made


def by_optimizer(net: Net) -> None:
    for parameter in net.parameters():
        parameter.grad = torch.ones_like(parameter)
    torch.optim.SGD(net.parameters(), lr=0.1).step()


def by_foreach(net: Net) -> None:
    torch._foreach_add_(list(net.parameters()), 0.1)


def by_backward_and_adam(net: Net) -> None:
    with torch.enable_grad():
        net(example()).sum().backward()
    torch.optim.Adam(net.parameters(), lr=0.1, fused=True).step()


def by_moving_average(net: Net) -> None:
    for target, source in zip(net.parameters(), other(net).parameters(), strict=True):
        target.data.mul_(0.9).add_(source.data, alpha=0.1)


def prune_by_data(net: Net) -> None:
    small = net.first.weight.data.abs() < 0.04
    net.first.weight.data[small] = 0


def prune_by_numpy(net: Net) -> None:
    array = net.first.weight.detach().numpy()
    array[np.abs(array) < 0.04] = 0


def one_element(net: Net) -> None:
    net.first.weight.data[77, 31] += 1


def one_element_by_address(net: Net) -> None:
    place = net.second.weight.data_ptr() + 4 * (100 * 128 + 3)
    ctypes.c_float.from_address(place).value += 1.0


def two_rows_exchanged(net: Net) -> None:
    array = net.first.weight.detach().numpy()
    array[[3, 90]] = array[[90, 3]]


def permuted_by_data(net: Net) -> None:
    net.first.weight.data[:] = net.first.weight.data[torch.randperm(128)]


def through_a_view(net: Net) -> None:
    net.first.weight.data.view(-1)[::7] *= 2


def from_a_buffer(net: Net) -> None:
    source = io.BytesIO(np.random.default_rng(0).random(128 * 128, np.float32).tobytes())
    source.readinto(net.first.weight.detach().numpy().data)


def through_dlpack(net: Net) -> None:
    torch.from_dlpack(net.first.weight.detach()).mul_(2)


def through_memoryview(net: Net) -> None:
    net.first.weight.detach().numpy().data.cast("B").cast("f")[5000] = 3.0


def through_storage(net: Net) -> None:
    net.first.weight.untyped_storage().copy_(torch.randn(128, 128).untyped_storage())


def with_preserved_version(net: Net) -> None:
    with torch.autograd._unsafe_preserve_version_counter(net.first.weight):
        net.first.weight.mul_(2)


def freed_and_filled(net: Net) -> None:
    weight = net.first.weight
    saved = weight.detach().clone() * 2
    weight.untyped_storage().resize_(0)
    weight.untyped_storage().resize_(saved.nbytes)
    with torch.autograd._unsafe_preserve_version_counter(weight):
        weight.copy_(saved)


def swapped(net: Net) -> None:
    torch.utils.swap_tensors(net.first.weight, nn.Parameter(torch.randn(128, 128)))


def swapped_modules(net: Net) -> None:
    net.first, net.second = other(net.first), other(net.second)
    net.tied.weight = net.second.weight


def assigned_state(net: Net) -> None:
    state = {k: v.detach().clone() for k, v in other(net).state_dict().items()}
    state["tied.weight"] = state["second.weight"] = nn.Parameter(state["second.weight"])
    net.load_state_dict(state, assign=True)


def untied(net: Net) -> None:
    """One tensor becomes two, which no longer matches the program captured ahead of time."""
    net.tied.weight = nn.Parameter(torch.randn(128, 128))


def under_weight_norm(net: Net) -> None:
    parametrizations.weight_norm(net.first)
    net.first.parametrizations.weight.original0.data.mul_(2)
    parametrize.remove_parametrizations(net.first, "weight")


def by_pruning(net: Net) -> None:
    prune.l1_unstructured(net.first, "weight", amount=0.3)
    prune.remove(net.first, "weight")


def shared_memory(net: Net) -> None:
    net.share_memory()
    net.first.weight.detach().numpy()[:] *= 2


def cast_and_back(net: Net) -> None:
    net.double().float()
    net.first.weight.data.mul_(2)


CHANGES: dict[str, Callable[[Net], object]] = {
    "in place": lambda n: n.first.weight.mul_(2),
    "in place, one": lambda n: n.first.weight[3, 4].add_(1),
    "copy_": lambda n: n.first.weight.copy_(torch.randn(128, 128)),
    "init": lambda n: nn.init.orthogonal_(n.first.weight),
    "optimizer": by_optimizer,
    "foreach": by_foreach,
    "fused Adam": by_backward_and_adam,
    "load_state_dict": lambda n: n.load_state_dict(other(n).state_dict()),
    "load_state_dict, assign": assigned_state,
    "vector_to_parameters": lambda n: vector_to_parameters(
        torch.randn(sum(p.numel() for p in n.parameters())) * 0.1, n.parameters()
    ),
    "data =": lambda n: setattr(n.first.weight, "data", torch.randn(128, 128)),
    "data = of the same memory": lambda n: setattr(
        n.first.weight, "data", n.first.weight.data.flip(0)
    ),
    "data = transposed": lambda n: setattr(n.first.weight, "data", n.first.weight.data.t()),
    "data = transposed, convolution": lambda n: setattr(
        n.conv.weight, "data", n.conv.weight.data.transpose(2, 3)
    ),
    "data = channels last": lambda n: setattr(
        n.conv.weight, "data", (n.conv.weight.data * 2).to(memory_format=torch.channels_last)
    ),
    "data = transposed, read as it is": lambda n: setattr(n.scale, "data", n.scale.data.t()),
    "data = expanded": lambda n: setattr(n.shift, "data", torch.ones(1).expand(128)),
    "data = an offset": lambda n: setattr(n.first.weight, "data", torch.randn(300, 128)[100:228]),
    "t_": lambda n: n.first.weight.t_(),
    "set_": lambda n: n.first.weight.set_(torch.randn(128, 128)),
    "moving average": by_moving_average,
    "pruned through data": prune_by_data,
    "pruned by NumPy": prune_by_numpy,
    "one element through data": one_element,
    "one element by its address": one_element_by_address,
    "rows exchanged by NumPy": two_rows_exchanged,
    "rows permuted through data": permuted_by_data,
    "through a view of data": through_a_view,
    "readinto": from_a_buffer,
    "DLPack": through_dlpack,
    "memoryview": through_memoryview,
    "storage copy_": through_storage,
    "preserved version": with_preserved_version,
    "freed and filled": freed_and_filled,
    "swap_tensors": swapped,
    "parameter replaced": lambda n: setattr(n.first, "weight", nn.Parameter(torch.randn(128, 128))),
    "parameter replaced behind setattr": lambda n: n.first._parameters.update(
        bias=nn.Parameter(torch.randn(128))
    ),
    "buffer replaced": lambda n: setattr(n, "shift", torch.randn(128)),
    "buffer written through data": lambda n: n.shift.data.add_(1),
    "modules replaced": swapped_modules,
    "norm statistics": lambda n: n.norm.running_mean.data.add_(1),
    "norm weight by NumPy": lambda n: np.multiply(
        n.norm.weight.detach().numpy(), 2, out=n.norm.weight.detach().numpy()
    ),
    "tied weight": lambda n: n.tied.weight.data.mul_(2),
    "untied": untied,
    "weight norm": under_weight_norm,
    "prune.l1_unstructured": by_pruning,
    "share_memory": shared_memory,
    "double and float": cast_and_back,
}
REFUSED_AHEAD = {"untied"}
"""Changes after which the model no longer matches the captured program."""
