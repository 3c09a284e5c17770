"""Writes to inputs, to views of them, to parameters and buffers, under no_grad; and results that
alias inputs or each other."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from .check import check

IN_PLACE: dict[str, Callable[[Tensor], object]] = {
    "add_": lambda x: x.add_(1),
    "mul_": lambda x: x.mul_(x),
    "relu_": lambda x: torch.relu_(x),
    "zero_": lambda x: x.zero_(),
    "fill_": lambda x: x.fill_(3),
    "copy_": lambda x: x.copy_(torch.arange(12.0).view(3, 4)),
    "clamp_": lambda x: x.clamp_(-0.5, 0.5),
    "masked_fill_": lambda x: x.masked_fill_(x > 0, 9),
    "index_add_": lambda x: x.index_add_(0, torch.tensor([0, 2]), torch.ones(2, 4)),
    "index_put_": lambda x: x.index_put_((torch.tensor([0, 2]),), torch.ones(4)),
    "index_fill_": lambda x: x.index_fill_(1, torch.tensor([0, 3]), -1),
    "scatter_": lambda x: x.scatter_(1, torch.tensor([[0], [1], [2]]), 5.0),
    "scatter_add_": lambda x: x.scatter_add_(1, torch.tensor([[0, 0], [1, 1], [2, 3]]), x.clone()),
    "cumsum_": lambda x: x.cumsum_(1),
    "tril_": lambda x: x.tril_(),
    "addmm_": lambda x: x.addmm_(torch.ones(3, 2), torch.ones(2, 4)),
    "setitem": lambda x: x.__setitem__((slice(None), 1), 7.0),
    "setitem step": lambda x: x.__setitem__((slice(0, 3, 2), slice(1, None)), x[:2, :3] * 2),
    "setitem mask": lambda x: x.__setitem__(x > 0, 0.0),
    "transpose_": lambda x: x.transpose_(0, 1),
    "unsqueeze_": lambda x: x.unsqueeze_(0),
    "swap rows": lambda x: x.copy_(x.flip(0)),
    "diagonal": lambda x: x.diagonal().fill_(1),
    "real chain": lambda x: x.view(-1)[2:9].view(7).add_(1).mul_(2),
    "sigmoid twice": lambda x: x.sigmoid_().sigmoid_(),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(name: str) -> None:
    if name in ("transpose_", "unsqueeze_"):
        check(lambda x: IN_PLACE[name](x.clone()), torch.randn(3, 4))
        return
    check(lambda x: (IN_PLACE[name](x), x * 2)[1], torch.randn(3, 4))


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_on_an_intermediate(name: str) -> None:
    def function(x: Tensor) -> Tensor:
        y = x * 2
        before = y.sum()
        IN_PLACE[name](y)
        return y + before

    check(function, torch.randn(3, 4))


def test_in_place_returns_its_input() -> None:
    check(lambda x: x.add_(1), torch.randn(3, 4))
    check(lambda x, y: (y.mul_(2), x.add_(y)), torch.randn(3), torch.randn(3))


def test_write_through_a_view() -> None:
    def function(x: Tensor) -> Tensor:
        x[1:].mul_(2)
        x.t()[0].zero_()
        return x.sum()

    check(function, torch.randn(3, 4))
    check(function, torch.randn(4, 3).t())


def test_in_place_through_another_view_of_the_input() -> None:
    """The kernel reads a view of the input, and writes the input itself."""
    check(
        lambda x, y: x.logical_or_(y),
        torch.arange(8).view(2, 2, 2).permute(2, 1, 0),
        torch.ones(1, 2),
    )
    check(lambda x: (x[None].fill_(1.5), x.frac_()), torch.tensor(2.5))
    check(lambda x: x.copy_((x.t() * 2).t()), torch.randn(3, 4))


def test_input_is_a_view_of_another() -> None:
    base = torch.randn(4, 4)

    def function(x: Tensor, row: Tensor) -> Tensor:
        row.add_(10)
        return x * 2

    check(function, base, base[1])


def test_two_views_that_overlap() -> None:
    base = torch.randn(10)

    def function(a: Tensor, b: Tensor) -> Tensor:
        a.mul_(2)
        b.add_(1)
        return a + b

    check(function, base[:6], base[4:])


def test_same_input_twice() -> None:
    x = torch.randn(4)
    check(lambda a, b: (a.add_(1), b * 2)[1], x, x)


def test_swap_of_inputs() -> None:
    def function(a: Tensor, b: Tensor) -> None:
        old = a.clone()
        a.copy_(b)
        b.copy_(old)

    check(function, torch.randn(4), torch.randn(4))


def test_read_after_write_and_write_after_read() -> None:
    def function(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        a = x + 1
        x.mul_(3)
        b = x + 1
        x[0] = 0
        return a, b, x.clone()

    check(function, torch.randn(5))


def test_mutation_under_no_grad() -> None:
    def function(x: Tensor, count: Tensor) -> Tensor:
        y = x + count
        with torch.no_grad():
            y.mul_(2)
            count.add_(1)
            z = y * y
        return y + z

    check(function, torch.randn(3, requires_grad=True), torch.ones(3), grad=True)


def test_seed_document_no_grad_mutation() -> None:
    def function() -> Tensor:
        x = torch.ones(2)
        with torch.no_grad():
            x.mul_(2)
            y = x * x
        return y + x

    check(function)


def test_parameter_updated_under_no_grad() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))
            self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

        def forward(self, x: Tensor) -> Tensor:
            with torch.no_grad():
                self.weight.mul_(0.5)
                self.calls += 1
            return x * self.weight

    check(Net(), torch.randn(3), calls=3)
    check(Net(), torch.randn(3, requires_grad=True), grad=True)


def test_buffer_is_replaced() -> None:
    class Average(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("mean", torch.zeros(3))

        def forward(self, x: Tensor) -> Tensor:
            self.mean = 0.9 * self.mean + 0.1 * x
            return x - self.mean

    check(Average(), torch.randn(3), calls=3)


def test_mutation_needs_gradient() -> None:
    def function(x: Tensor) -> Tensor:
        y = x.clone()
        y[1:] *= 3
        y.relu_()
        return y * x

    check(function, torch.randn(4, requires_grad=True), grad=True)


def test_write_of_another_dtype() -> None:
    check(lambda x: x.copy_(torch.arange(4)), torch.randn(4))
    check(lambda x: x.add_(1.5), torch.randn(4, dtype=torch.bfloat16))
    check(lambda x: x.mul_(torch.tensor([2, 0, 1])), torch.ones(3, dtype=torch.int16))


def test_write_to_strided_inputs() -> None:
    check(lambda x: x.add_(1), torch.randn(4, 6)[::2, 1::2])
    check(lambda x: x.exp_(), torch.randn(4, 6).t())
    check(lambda x: x.mul_(2), torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last))


def test_out_arguments() -> None:
    def function(x: Tensor, out: Tensor) -> Tensor:
        torch.add(x, 1, out=out)
        return out * 2

    check(function, torch.randn(3), torch.empty(3))


def test_resize_through_set() -> None:
    def function(x: Tensor) -> Tensor:
        y = torch.empty(0)
        return torch.cat([y, x]).resize_(2, 2)

    check(function, torch.randn(4), fullgraph=False)


# -- aliasing results ----------------------------------------------------------------------------

ALIASES: dict[str, Callable[[Tensor], object]] = {
    "itself": lambda x: x,
    "view": lambda x: x.view(-1),
    "transpose": lambda x: x.t(),
    "slice": lambda x: x[1:, ::2],
    "select": lambda x: x[0],
    "expand": lambda x: x[:, :1].expand(3, 5),
    "detach": lambda x: x.detach(),
    "unbind": lambda x: x.unbind(0),
    "split": lambda x: x.split(2, 1),
    "chunk and sum": lambda x: (*x.chunk(2, 1), x.sum()),
    "two views": lambda x: (x[0], x[:1]),
    "view of a view": lambda x: x.t()[1:].unsqueeze(0),
    "contiguous": lambda x: x.contiguous(),
    "reshape": lambda x: x.reshape(4, 3),
    "flatten of transpose": lambda x: x.t().flatten(),
    "to": lambda x: (x.to(torch.float32), x.to(torch.float64)),
    "real": lambda x: torch.view_as_real(torch.complex(x, x)),
    "unfold": lambda x: x.unfold(1, 2, 1),
    "diagonal": lambda x: x.diagonal(),
    "as_strided": lambda x: x.as_strided((2, 2), (4, 1), 1),
    "movedim": lambda x: x.view(3, 2, 2).movedim(2, 0),
    "squeeze": lambda x: x.unsqueeze(1).squeeze(1),
    "view dtype": lambda x: x.view(torch.int32),
}


@pytest.mark.parametrize("name", ALIASES)
def test_result_aliases_the_input(name: str) -> None:
    check(ALIASES[name], torch.randn(3, 4))


@pytest.mark.parametrize("name", ALIASES)
def test_result_aliases_an_intermediate(name: str) -> None:
    check(lambda x: ALIASES[name](x * 2), torch.randn(3, 4))


@pytest.mark.parametrize("name", ["view", "transpose", "slice", "select", "expand", "split"])
def test_alias_of_a_mutated_input(name: str) -> None:
    def function(x: Tensor) -> object:
        x.add_(1)
        return ALIASES[name](x), x * 2

    check(function, torch.randn(3, 4))


@pytest.mark.parametrize("name", ["view", "transpose", "slice", "expand", "unbind"])
def test_alias_with_gradients(name: str) -> None:
    check(lambda x: ALIASES[name](x * 1.5), torch.randn(3, 4, requires_grad=True), grad=True)


def test_results_that_share_memory_with_each_other() -> None:
    def function(x: Tensor) -> tuple[Tensor, Tensor]:
        y = x.exp()
        return y, y.t()

    y, t = torch.compile(function, backend="ingot", options={"strict": True})(torch.randn(3, 4))
    y.zero_()
    assert not t.any()


def test_writing_to_a_returned_view_writes_to_the_input() -> None:
    compiled = torch.compile(lambda x: (x[1:], x.sum()), backend="ingot", options={"strict": True})
    x = torch.ones(4)
    part, _ = compiled(x)
    part.zero_()
    assert x.tolist() == [1, 0, 0, 0]


def test_a_write_is_counted() -> None:
    """Autograd and other compiled code detect writes by an input's version counter."""

    def function(x: Tensor) -> Tensor:
        x.mul_(2)
        return x + 1

    x = torch.randn(4)
    before = x._version
    torch.compile(function, backend="ingot")(x)
    assert x._version > before


def test_a_part_of_an_input_is_written_where_it_lies() -> None:
    """As for a cache: the rest of the input is neither copied nor written."""
    from ingot import observe
    from ingot.stages import Compiled

    def function(cache: Tensor, row: Tensor, at: Tensor) -> Tensor:
        cache.index_copy_(1, at, row)
        return cache.sum(1) + (cache @ cache.mT).amax(-1)

    found: list[Compiled] = []
    with observe.listening(found.append):
        check(function, torch.randn(2, 6, 6), torch.randn(2, 1, 6), torch.tensor([3]))
    assert ".copy_(" not in found[0].source


def test_a_part_is_written_after_the_old_value_was_read() -> None:
    def function(cache: Tensor, row: Tensor, at: Tensor) -> tuple[Tensor, Tensor]:
        before = cache.clone()
        old = cache @ cache
        cache.index_copy_(0, at, row)
        return old + before.sin(), cache @ before

    check(function, torch.randn(5, 5), torch.randn(2, 5), torch.tensor([1, 4]))
