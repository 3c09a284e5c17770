"""Native LSTM against eager in f64."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import ingot
from ingot.program.native_ops import lstm
from ingot.runtime.executable import Executable
from tests.plans import native_call_nodes
from tests.programs.check import check

CASES: dict[str, tuple[dict[str, Any], tuple[int, int]]] = {
    "one layer": ({}, (7, 3)),
    "one step of one": ({}, (1, 1)),
    "batch in front": ({"batch_first": True}, (5, 9)),
    "two layers": ({"num_layers": 2}, (6, 30)),
    "both ways": ({"bidirectional": True, "num_layers": 2}, (4, 2)),
    "without bias": ({"bias": False}, (5, 8)),
}
SIZES = [(24, 32), (5, 17), (300, 300)]


def native(compiled: Executable) -> int:
    steps = native_call_nodes(compiled.compiled)
    return sum(node.target is lstm for node in steps)


def assert_near(ours: Any, module: nn.Module, args: tuple[Any, ...]) -> None:
    """As close to the truth as f32 allows."""
    wide = module.double()(*torch.utils._pytree.tree_map(Tensor.double, args))
    module.float()
    flat, truth = (torch.utils._pytree.tree_leaves(tree) for tree in (ours, wide))
    for one, other in zip(flat, truth, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("inner", "units"), SIZES)
def test_it_is_eagers(name: str, inner: int, units: int) -> None:
    torch.manual_seed(0)
    settings, (a, b) = CASES[name]
    module = nn.LSTM(inner, units, **settings).eval()
    args = (torch.randn(a, b, inner),)
    with torch.no_grad():
        compiled = ingot.compile(module, args, options={"strict": True})
        result, eager = compiled(*args), module(*args)
        assert_near(result, module, args)
    assert result[0].stride() == eager[0].stride()
    layers = settings.get("num_layers", 1) * (2 if settings.get("bidirectional") else 1)
    assert native(compiled) == layers


def test_states_that_are_given() -> None:
    module = nn.LSTM(12, 20, 2).eval()
    args = (torch.randn(6, 4, 12), (torch.randn(2, 4, 20), torch.randn(2, 4, 20)))
    with torch.no_grad():
        compiled = ingot.compile(module, args, options={"strict": True})
        assert_near(compiled(*args), module, args)
        module.weight_hh_l0.mul_(0.5)
        assert_near(compiled(*args), module, args)
    assert native(compiled) == 2


def test_results_are_memory_of_their_own() -> None:
    module, x = nn.LSTM(8, 16).eval(), torch.randn(5, 2, 8)
    with torch.no_grad():
        y, (h, c) = ingot.compile(module, (x,))(x)
        kept = y.clone()
        h.zero_()
        c.zero_()
    torch.testing.assert_close(y, kept)


def test_through_torch_compile() -> None:
    module, x = nn.LSTM(12, 40, batch_first=True).eval(), torch.randn(3, 9, 12)
    with torch.no_grad(), torch._dynamo.config.patch(allow_rnn=True):
        fast = torch.compile(module, backend="ingot", options={"strict": True})
        assert_near(fast(x), module, (x,))


def test_training_through_torch_compile() -> None:
    """Only the weights require gradients, not the input."""
    module, x = nn.LSTM(6, 8, num_layers=2, bidirectional=True), torch.randn(5, 4, 6)
    with torch._dynamo.config.patch(allow_rnn=True):
        check(module, x, grad=True, loosen=4)


def test_any_length() -> None:
    module = nn.LSTM(12, 20).eval()
    steps = torch.export.Dim("steps", min=2, max=100)
    with torch.no_grad():
        x = torch.randn(6, 4, 12)
        compiled = ingot.compile(module, (x,), dynamic_shapes={"input": {0: steps}})
        for count in (2, 3, 50):
            x = torch.randn(count, 4, 12)
            assert_near(compiled(x), module, (x,))


def test_weights_that_are_inputs() -> None:
    """Nothing can be packed, so the op's decomposition runs."""
    module, x = nn.LSTM(12, 20).eval(), torch.randn(6, 4, 12)
    states = (torch.zeros(1, 4, 20), torch.zeros(1, 4, 20))

    def function(x: Tensor, *weights: Tensor) -> Tensor:
        return torch.lstm(x, states, weights, True, 1, 0.0, False, False, False)[0]

    args = (x, *(p.detach() for p in module.parameters()))
    compiled = ingot.compile(function, args, options={"strict": True})
    torch.testing.assert_close(compiled(*args), function(*args), rtol=1e-5, atol=1e-5)


def test_not_a_number() -> None:
    module, x = nn.LSTM(12, 20).eval(), torch.randn(6, 4, 12)
    x[2, 1, 3], x[4, 2, 0] = float("nan"), float("inf")
    with torch.no_grad():
        result, eager = ingot.compile(module, (x,))(x), module(x)
    torch.testing.assert_close(result, eager, rtol=1e-5, atol=1e-5, equal_nan=True)


def test_gradients() -> None:
    module = nn.LSTM(6, 8)
    x = torch.randn(4, 2, 6, requires_grad=True)
    fast = torch.compile(module, backend="ingot")
    wanted = torch.autograd.grad(module(x)[0].sum(), [x, *module.parameters()])
    found = torch.autograd.grad(fast(x)[0].sum(), [x, *module.parameters()])
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


STACKS: dict[str, tuple[type[nn.RNNBase], dict[str, Any]]] = {
    "lstm": (nn.LSTM, {"num_layers": 3}),
    "lstm both ways, batch in front": (nn.LSTM, {"bidirectional": True, "batch_first": True}),
    "lstm with projections": (nn.LSTM, {"proj_size": 3}),
    "gru": (nn.GRU, {"batch_first": True}),
    "gru both ways": (nn.GRU, {"bidirectional": True, "num_layers": 3}),
    "rnn": (nn.RNN, {"nonlinearity": "tanh"}),
    "rnn with relu": (nn.RNN, {"nonlinearity": "relu", "bidirectional": True, "bias": False}),
}


EACH_STACK = [
    pytest.param(name, marks=[] if "both ways" in name else [pytest.mark.slow]) for name in STACKS
]


def dropping(name: str) -> nn.RNNBase:
    torch.manual_seed(0)
    kind, settings = STACKS[name]
    return kind(6, 8, **{"num_layers": 2, "dropout": 0.4, **settings})


@pytest.mark.parametrize("name", EACH_STACK)
@pytest.mark.parametrize("grad", [True, False])
@torch._dynamo.config.patch(allow_rnn=True)
def test_dropout_between_layers(name: str, grad: bool) -> None:
    """Dropout equals eager's, with the same samples from the generator."""
    module, x = dropping(name), torch.randn(5, 4, 6, requires_grad=grad)
    with torch.set_grad_enabled(grad):
        assert not torch.equal(module(x)[0], module(x)[0])
        check(module, x, grad=grad, calls=2, loosen=10)


@pytest.mark.parametrize("name", EACH_STACK)
@pytest.mark.parametrize("way", ["compile", "aten", "core", "lowered"])
def test_dropout_in_whole_programs(name: str, way: str) -> None:
    module, x = dropping(name), torch.randn(5, 4, 6)
    with torch.no_grad():
        if way == "compile":
            program: Any = ingot.compile(module, (x,))
        elif way == "lowered":
            program = ingot.export(module, (x,), level="pre-dispatch").lowered("aten")
        else:
            program = ingot.export(module, (x,), level=way)
        for seed in range(2):
            torch.manual_seed(seed)
            wanted, drawn = module(x), torch.get_rng_state()
            torch.manual_seed(seed)
            torch.testing.assert_close(program(x), wanted, rtol=1e-5, atol=1e-5)
            assert torch.equal(torch.get_rng_state(), drawn)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_dropout_of_packed_sequences(kind: type[nn.RNNBase]) -> None:
    torch.manual_seed(0)
    module = kind(6, 8, num_layers=2, dropout=0.4, bidirectional=True)
    x, lengths = torch.randn(5, 4, 6), torch.tensor([5, 4, 2, 1])

    def run(x: Tensor) -> Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths)
        return nn.utils.rnn.pad_packed_sequence(module(packed)[0])[0]

    with torch.no_grad(), torch._dynamo.config.patch(allow_rnn=True):
        check(run, x, fullgraph=False, loosen=10)
