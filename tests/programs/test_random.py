"""Random numbers equal eager's: the same seed gives the same samples and leaves the same state."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import ingot

from .check import check

DRAWS: dict[str, Callable[[Tensor], object]] = {
    "dropout": lambda x: F.dropout(x, 0.3),
    "dropout twice": lambda x: F.dropout(F.dropout(x, 0.3) * 2, 0.5),
    "dropout all": lambda x: F.dropout(x, 1.0),
    "dropout none": lambda x: F.dropout(x, 0.0) + torch.rand(2),
    "feature dropout": lambda x: F.dropout1d(x, 0.5),
    "alpha dropout": lambda x: F.alpha_dropout(x, 0.4, training=True),
    "rand": lambda x: torch.rand(4, 2) + x,
    "rand_like": lambda x: torch.rand_like(x) * x,
    "rand f64": lambda x: torch.rand(4, 2, dtype=torch.float64) + x,
    "randn": lambda x: torch.randn(4, 2) + x,
    "randn large": lambda x: torch.randn(40, 2).sum() + x,
    "randn_like": lambda x: torch.randn_like(x) * x,
    "randint": lambda x: torch.randint(0, 10, (4, 2)) + x,
    "randint_like": lambda x: torch.randint_like(x, 5) + x,
    "randperm": lambda x: x[torch.randperm(4)],
    "bernoulli": lambda x: torch.bernoulli(x.sigmoid()) * x,
    "bernoulli p": lambda x: torch.bernoulli(x, 0.3) + x,
    "bernoulli_": lambda x: torch.empty_like(x).bernoulli_(0.7) + x,
    "normal_": lambda x: torch.empty_like(x).normal_(1.0, 2.0) + x,
    "normal": lambda x: torch.normal(x, x.abs()),
    "uniform_": lambda x: torch.empty_like(x).uniform_(-1, 1) + x,
    "exponential_": lambda x: torch.empty_like(x).exponential_(2.0) + x,
    "geometric_": lambda x: torch.empty_like(x).geometric_(0.5) + x,
    "log_normal_": lambda x: torch.empty_like(x).log_normal_() + x,
    "cauchy_": lambda x: torch.empty_like(x).cauchy_() + x,
    "random_": lambda x: torch.empty_like(x).random_(7) + x,
    "multinomial": lambda x: torch.multinomial(x.softmax(-1), 2, replacement=True),
    "poisson": lambda x: torch.poisson(x.exp()) + x,
    "rrelu": lambda x: F.rrelu(x, training=True),
    "gumbel": lambda x: F.gumbel_softmax(x, hard=True),
    "order of several": lambda x: torch.rand_like(x) - torch.randn_like(x) * F.dropout(x, 0.5),
    "unused draw": lambda x: (torch.rand(3), x * 2)[1],
    "attention dropout": lambda x: F.scaled_dot_product_attention(
        x[None], x[None], x[None], dropout_p=0.5
    ),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws(name: str) -> None:
    check(DRAWS[name], torch.randn(4, 2), fullgraph=False, calls=2)


@pytest.mark.parametrize("name", ["dropout", "alpha dropout", "rand_like", "rrelu", "gumbel"])
def test_draws_with_gradients(name: str) -> None:
    check(DRAWS[name], torch.randn(4, 2, requires_grad=True), grad=True, fullgraph=False)


def test_dropout_of_a_large_tensor() -> None:
    """The boundary between the generator's vectorised and scalar paths."""
    check(lambda x: F.dropout(x, 0.1).sum(-1), torch.randn(33, 1025))


def test_dropout_of_strided_input() -> None:
    check(lambda x: F.dropout(x, 0.5), torch.randn(16, 24).t())


def _dropped(x: Tensor) -> Tensor:
    return torch.dropout_(x + 0, 0.4, True)


LAYOUTS: dict[str, Callable[[], Tensor]] = {
    "turned": lambda: torch.rand(6, 8).t(),
    "permuted": lambda: torch.rand(6, 8, 5).permute(2, 0, 1),
    "every second": lambda: torch.rand(6, 8, 5)[:, ::2],
    "every second, permuted": lambda: torch.rand(6, 8, 5)[:, ::2].permute(2, 0, 1),
    "channels last": lambda: torch.rand(2, 6, 4, 5).to(memory_format=torch.channels_last),
    "contiguous": lambda: torch.rand(4, 1, 3),
}
ALONG_MEMORY: dict[str, Callable[[Tensor], Tensor]] = {
    "written": lambda x: x.clone().bernoulli_(0.4) * 2,
    "input written": lambda x: x.bernoulli_(p=0.4) * 2,
    "default p": lambda x: torch.empty_like(x).bernoulli_(),
    "new": lambda x: torch.bernoulli(x, 0.4) * 2,
    "new, by method": lambda x: x.bernoulli(p=0.4) * 2,
    "new, by a number": lambda x: torch.bernoulli(x, 1) + torch.bernoulli(x, 0),
    "new, by keywords": lambda x: torch.bernoulli(input=x, p=0.4),
    "new and written": lambda x: torch.bernoulli(x.bernoulli_(0.5), 0.4) + x,
    "by probabilities": lambda x: torch.bernoulli(x) + x.clone().bernoulli_(x),
    "dropout in place": _dropped,
    "alpha dropout": lambda x: F.alpha_dropout(x, 0.4, training=True),
    "alpha dropout in place": lambda x: F.alpha_dropout(x + 0, 0.4, training=True, inplace=True),
    "feature dropout": lambda x: torch.feature_dropout(x, 0.4, True),
}
"""Random ops fill existing tensors in memory order, and new tensors in index order."""


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ALONG_MEMORY)
def test_the_order_of_draws(name: str, layout: str) -> None:
    check(ALONG_MEMORY[name], LAYOUTS[layout](), calls=2)


@pytest.mark.parametrize("layout", ["permuted", "every second, permuted"])
@pytest.mark.parametrize("name", ALONG_MEMORY)
def test_the_order_of_draws_of_any_size(name: str, layout: str) -> None:
    check(ALONG_MEMORY[name], LAYOUTS[layout](), dynamic=True)


@pytest.mark.parametrize("way", ["compile", "pre-dispatch", "aten", "core", "lowered"])
@pytest.mark.parametrize("layout", ["permuted", "every second, permuted"])
@pytest.mark.parametrize("name", ALONG_MEMORY)
def test_the_order_of_draws_in_whole_programs(name: str, layout: str, way: str) -> None:
    function, x = ALONG_MEMORY[name], LAYOUTS[layout]()
    with torch.no_grad():
        if way == "compile":
            program: Callable[[Tensor], object] = ingot.compile(function, (x,))
        elif way == "lowered":
            program = ingot.export(function, (x,), level="pre-dispatch").lowered("core")
        else:
            program = ingot.export(function, (x,), level=way)
        given, own = (torch.empty_strided(x.shape, x.stride()).copy_(x) for _ in range(2))
        torch.manual_seed(3)
        wanted, drawn = function(given), torch.get_rng_state()
        torch.manual_seed(3)
        found = program(own)
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(own, given)
    assert isinstance(found, Tensor) and found.stride() == wanted.stride()
    assert torch.equal(torch.get_rng_state(), drawn)


@pytest.mark.parametrize("name", ["written", "new", "alpha dropout"])
def test_the_order_of_draws_in_programs_of_torch_export(name: str) -> None:
    """Lowering does not change its input program."""

    class Drawing(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return ALONG_MEMORY[name](x)

    module, x = Drawing(), LAYOUTS["permuted"]()
    program = ingot.Program.from_exported(torch.export.export(module, (x,)))
    text = program.as_text()
    for found in (program, program.lowered("aten"), program.lowered("core")):
        torch.manual_seed(3)
        wanted = module(x)
        torch.manual_seed(3)
        torch.testing.assert_close(found(x), wanted)
    assert program.as_text() == text


@pytest.mark.parametrize("layout", ["turned", "contiguous"])
def test_draws_have_no_gradient(layout: str) -> None:
    """Eager refuses the gradient of `bernoulli` in the backward; ingot refuses it at once."""
    x = LAYOUTS[layout]().requires_grad_()
    drawn = torch.bernoulli(x, 0.4)
    assert drawn.requires_grad
    with pytest.raises(RuntimeError, match="derivative for aten::bernoulli is not implemented"):
        drawn.sum().backward()
    compiled = torch.compile(lambda x: torch.bernoulli(x, 0.4), backend="ingot")
    with pytest.raises(Exception, match="derivative for aten::bernoulli is not implemented"):
        compiled(x)
    check(lambda x: x.clone().bernoulli_(0.4) * x, x, grad=True)


def test_dropout_in_half() -> None:
    check(lambda x: F.dropout(x, 0.5) * 2, torch.randn(8, 9, dtype=torch.bfloat16))


def test_generator_moves_on_between_calls() -> None:
    compiled = torch.compile(lambda x: x + torch.rand(3), backend="ingot", options={"strict": True})
    x = torch.zeros(3)
    torch.manual_seed(3)
    got = [compiled(x), torch.rand(3), compiled(x)]
    torch.manual_seed(3)
    want = [torch.rand(3) for _ in range(3)]
    assert all(torch.equal(g, w) for g, w in zip(got, want, strict=True))


@pytest.mark.parametrize("level", ["compiled", "pre-dispatch", "aten", "core"])
@pytest.mark.parametrize(
    "sample",
    [
        lambda x: torch.rand(3),
        lambda x: torch.normal(2.0, x),
        lambda x: torch.ops.aten.random.default(x).mul_(2),
        lambda x: F.dropout(torch.bernoulli(x), 0.5, True),
    ],
    ids=["rand", "normal", "random", "bernoulli and dropout"],
)
def test_unused_samples_ahead_of_time(sample: Callable[[Tensor], Tensor], level: str) -> None:
    def program(x: Tensor) -> Tensor:
        sample(x)
        return x * 2

    x = torch.rand(4)
    with torch.no_grad():
        if level == "compiled":
            made: Callable[[Tensor], Tensor] = ingot.compile(program, (x,))
        else:
            made = ingot.export(program, (x,), level=level)
        torch.manual_seed(1)
        program(x)
        expected = torch.rand(1)
        torch.manual_seed(1)
        made(x)
        assert torch.equal(torch.rand(1), expected)


def test_dead_random_op_still_moves_the_generator() -> None:
    def function(x: Tensor) -> Tensor:
        F.dropout(x, 0.5)
        return x + torch.rand(4)

    check(function, torch.randn(4))


def test_dropout_module_in_training() -> None:
    model = nn.Sequential(nn.Linear(6, 6), nn.Dropout(0.5), nn.GELU(), nn.Dropout(0.2))
    check(model, torch.randn(5, 6, requires_grad=True), grad=True, calls=2)


def test_seed_set_inside() -> None:
    def function(x: Tensor) -> Tensor:
        torch.manual_seed(7)
        return x + torch.rand(3)

    check(function, torch.randn(3), fullgraph=False)
