"""Random programs of the kinds that random statements do not reach: control flow, dynamic sizes,
convolution, attention, LSTM, and training steps of all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from hypothesis import strategies as st
from torch import Tensor, nn
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

Draw = Callable[..., Any]
Layer = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Case:
    text: str
    """The drawn parameters, for a failure's message."""
    program: Callable[..., Any]
    calls: tuple[tuple[Tensor, ...], ...]
    """Arguments of the calls, in order; sizes differ between them if `dynamic`."""
    dynamic: bool | None = None
    grad: bool = False


@dataclass(frozen=True)
class _Chain:
    """Named functions, applied one after another."""

    parts: Sequence[tuple[str, Layer]]

    def __call__(self, x: Tensor) -> Tensor:
        for _, part in self.parts:
            x = part(x)
        return x

    def __str__(self) -> str:
        return ", ".join(name for name, _ in self.parts)


class Stack(nn.Module):
    """Layers with parameters."""

    def __init__(self, layers: Sequence[nn.Module]):
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


def _choose(draw: Draw, options: Any) -> Any:
    return draw(st.sampled_from(list(options)))


# -- control flow ----------------------------------------------------------------------------------

BODIES: dict[str, Layer] = {
    "sin": lambda x: x.sin() + 0.5,
    "tanh": lambda x: torch.tanh(x) * 2,
    "softmax": lambda x: x.softmax(-1) - 0.1,
    "centre": lambda x: x - x.mean(-1, keepdim=True),
    "product": lambda x: torch.tanh(x @ x.t() @ x),
    "sort": lambda x: x.sort(-1).values * 1.0,  # PyTorch runs it, so Python steers the loop
}


def _cond(draw: Draw) -> tuple[str, Layer]:
    one, other = _choose(draw, BODIES), _choose(draw, BODIES)
    bound = _choose(draw, (-1.0, 0.0, 1.0))

    def layer(x: Tensor) -> Tensor:
        return torch.cond(x.sum() > bound, BODIES[one], BODIES[other], (x,))

    return f"cond({bound}, {one}, {other})", layer


def _while(draw: Draw) -> tuple[str, Layer]:
    body, most = _choose(draw, BODIES), draw(st.integers(0, 4))

    def layer(x: Tensor) -> Tensor:
        count = torch.zeros((), dtype=torch.int64)
        step = lambda k, x: (k + 1, BODIES[body](x).clone())  # noqa: E731
        _, result = while_loop(lambda k, x: k < most, step, (count, x.clone()))
        return result

    return f"while({most}, {body})", layer


def _scan(draw: Draw) -> tuple[str, Layer]:
    body, reverse = _choose(draw, ("sin", "tanh")), draw(st.booleans())

    def layer(x: Tensor) -> Tensor:
        def step(carry: Tensor, row: Tensor) -> tuple[Tensor, Tensor]:
            new = BODIES[body](carry * 0.5 + row)
            return new, new * row

        carry, rows = scan(step, torch.zeros_like(x[0]), x, reverse=reverse)
        return rows + carry

    return f"scan({body}, reverse={reverse})", layer


def control_flow(draw: Draw) -> Case:
    parts = []
    for _ in range(draw(st.integers(1, 3))):
        parts.append(_choose(draw, (_cond, _cond, _while, _scan))(draw))
        name = _choose(draw, BODIES)
        parts.append((name, BODIES[name]))
    chain = _Chain(parts)
    shape = (draw(st.integers(2, 6)), draw(st.integers(2, 9)))
    return Case(
        f"{chain} of {shape}", chain.__call__, ((torch.randn(shape),), (-torch.ones(shape),))
    )


# -- dynamic sizes ---------------------------------------------------------------------------------

SIZED: dict[str, Layer] = {
    **{name: BODIES[name] for name in ("sin", "softmax", "centre", "product")},
    "flip and cat": lambda x: torch.cat([x, x.flip(0)]),
    "pairs": lambda x: torch.cat([x, x], 1).view(x.size(0), 2, x.size(1)).sum(1),
    "columns": lambda x: x.t().contiguous().t() * x.size(0),
    "outer": lambda x: (x.unsqueeze(0) - x.unsqueeze(1)).amax(1),
    "tail": lambda x: x[x.size(0) // 2 :] + x.amax(),
    "scale": lambda x: x / (x.size(0) + x.size(1)),
    "cumsum": lambda x: x.cumsum(0) * 0.1,
    "flat": lambda x: x.reshape(-1).softmax(0).view(x.shape),
    "nonzero": lambda x: x + (x > 0).nonzero().size(0),
}


def dynamic_sizes(draw: Draw) -> Case:
    names = draw(st.lists(st.sampled_from([*SIZED]), min_size=2, max_size=5))
    chain = _Chain([(name, SIZED[name]) for name in names])
    shapes = draw(
        st.lists(st.tuples(st.integers(2, 20), st.integers(2, 40)), min_size=2, max_size=3)
    )
    calls = tuple((torch.randn(shape),) for shape in shapes)
    return Case(f"{chain} of {shapes}", chain.__call__, calls, dynamic=True)


# -- layers ----------------------------------------------------------------------------------------


def convolution(draw: Draw) -> Case:
    channels, text = draw(st.integers(1, 3)) * 4, []
    first = channels
    layers: list[nn.Module] = []
    for _ in range(draw(st.integers(1, 3))):
        groups = _choose(draw, (1, 1, 2, channels))
        kernel, stride, dilation = (
            _choose(draw, (1, 3, 5)),
            _choose(draw, (1, 2)),
            _choose(draw, (1, 2)),
        )
        out = channels * _choose(draw, (1, 2))
        settings = {"stride": stride, "padding": kernel // 2 * dilation, "dilation": dilation,
                    "groups": groups, "bias": draw(st.booleans())}  # fmt: skip
        layers.append(nn.Conv2d(channels, out, kernel, **settings))
        behind = _choose(
            draw, (nn.ReLU, nn.GELU, lambda: nn.MaxPool2d(2, 1), lambda: nn.AvgPool2d(2, 1))
        )
        layers += [nn.BatchNorm2d(out)] * draw(st.booleans()) + [behind()]
        text.append(f"{channels}->{out} k{kernel} {settings}")
        channels = out
    shape = (draw(st.integers(1, 3)), first, draw(st.integers(9, 16)), draw(st.integers(9, 16)))
    return Case(f"{'; '.join(text)} of {shape}", Stack(layers).eval(), ((torch.randn(shape),),))


class Attention(nn.Module):
    def __init__(self, width: int, heads: int, causal: bool, masked: bool):
        super().__init__()
        self.heads, self.causal, self.masked = heads, causal, masked
        self.norm, self.out = nn.LayerNorm(width), nn.Linear(width, width)
        self.project = nn.Linear(width, 3 * width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        heads = self.project(self.norm(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = heads.permute(2, 0, 3, 1, 4).unbind(0)
        mask = (x.mean(-1) > -0.5)[:, None, None, :] if self.masked else None
        made = F.scaled_dot_product_attention(q, k, v, mask, is_causal=self.causal)
        return x + self.out(made.transpose(1, 2).reshape(x.shape))


def attention(draw: Draw) -> Case:
    heads = _choose(draw, (1, 2, 3))
    width, causal = heads * _choose(draw, (4, 8, 16)), draw(st.booleans())
    masked = not causal and draw(st.booleans())
    layers = [Attention(width, heads, causal, masked) for _ in range(draw(st.integers(1, 2)))]
    shape = (draw(st.integers(1, 3)), draw(st.integers(1, 40)), width)
    text = f"{heads} heads of {shape}, causal={causal}, masked={masked}"
    return Case(text, Stack(layers).eval(), ((torch.randn(shape),),))


class Recurrent(nn.Module):
    def __init__(self, inner: int, units: int, settings: dict[str, Any]):
        super().__init__()
        self.lstm = nn.LSTM(inner, units, **settings)

    def forward(self, x: Tensor) -> Tensor:
        every, (last, cell) = self.lstm(x.tanh())
        return every.exp() * last.mean() + cell.sum()


def lstm(draw: Draw) -> Case:
    settings = {name: draw(st.booleans()) for name in ("bias", "batch_first", "bidirectional")}
    settings["num_layers"] = draw(st.integers(1, 2))
    inner, units = draw(st.integers(1, 20)), draw(st.integers(1, 20))
    shape = (draw(st.integers(1, 7)), draw(st.integers(1, 5)), inner)
    text = f"{inner}->{units} {settings} of {shape}"
    return Case(text, Recurrent(inner, units, settings).eval(), ((torch.randn(shape),),))


def training(draw: Draw) -> Case:
    """Forward and backward graphs; batch norm in training mode updates its buffers."""
    case: Case = _choose(draw, (convolution, attention, lstm, dynamic_sizes))(draw)
    if isinstance(case.program, nn.Module):
        case.program.train()
    return replace(case, text=f"training {case.text}", dynamic=case.dynamic, grad=True)


KINDS: dict[str, Callable[[Draw], Case]] = {
    "control flow": control_flow,
    "dynamic sizes": dynamic_sizes,
    "convolution": convolution,
    "attention": attention,
    "lstm": lstm,
    "training": training,
}
