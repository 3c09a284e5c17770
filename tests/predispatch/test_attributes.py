"""Assignments to attributes of a model: a replaced tensor is written back, wherever the attribute
is; other changes are refused with the rule and the line. Export leaves the model unchanged."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import ingot
from ingot.errors import CaptureError


class Kept(nn.Module):
    """A model with a buffer, a plain tensor, and tensors in containers."""

    mean: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("empty", None)
        self.plain = torch.ones(3)
        self.listed = [torch.zeros(3), torch.ones(2)]
        self.pair = (torch.zeros(3), torch.ones(3))
        self.by_name = {"a": torch.zeros(3)}
        self.missing: Any = None
        self.calls = 0
        self.ring: list[Any] = []
        self.ring.append(self.ring)


class Buffer(Kept):
    def forward(self, x: Tensor) -> Any:
        self.mean = self.mean + x
        return self.mean * x


class Plain(Kept):
    def forward(self, x: Tensor) -> Any:
        self.plain = self.plain * 2 + x
        return self.plain * x


class Containers(Kept):
    def forward(self, x: Tensor) -> Any:
        self.listed[0] = self.listed[0] + x
        self.pair = (self.pair[1] + x, self.pair[0])
        self.by_name["a"] = self.by_name["a"] - x
        return self.listed[0] * self.pair[0], self.pair[1], self.by_name["a"] * 1


class OldIsReturned(Kept):
    def forward(self, x: Tensor) -> Any:
        old, before = self.mean, self.plain
        self.mean, self.plain = self.mean + x, self.plain - x
        return old, old[1:], before[1:], before


class OldIsWritten(Kept):
    def forward(self, x: Tensor) -> Any:
        old = self.mean
        self.mean = self.mean + x
        old.mul_(2)
        self.mean.add_(1)
        return old * x, self.mean * 2


class Swapped(Kept):
    def forward(self, x: Tensor) -> Any:
        self.mean, self.plain = self.plain, self.mean
        self.plain.add_(x)
        return self.mean * 2


class BoundToAnArgument(Kept):
    def forward(self, x: Tensor) -> Any:
        change = x - self.mean
        self.mean = x
        return change


class BoundAndPutBack(Kept):
    def forward(self, x: Tensor) -> Any:
        mean, self.missing, self.calls = self.mean, x, 5
        self.mean = x * 2
        y = self.mean + self.missing * self.calls
        self.mean, self.missing, self.calls = mean, None, 0
        return y


class UnderNoGrad(Kept):
    def forward(self, x: Tensor) -> Any:
        with torch.no_grad():
            self.mean = self.mean.lerp(x, 0.5)
        return self.mean * x


class Deep(nn.Module):
    def __init__(self, kind: type[Kept]) -> None:
        super().__init__()
        self.first = kind()
        self.rest = nn.Sequential(nn.Linear(3, 3), kind())

    def forward(self, x: Tensor) -> Any:
        return self.first(x), self.rest(x)


WRITTEN = (
    Buffer, Plain, Containers, OldIsReturned, OldIsWritten, Swapped, BoundToAnArgument,
    BoundAndPutBack, UnderNoGrad,
)  # fmt: skip


def tensors_of(model: nn.Module) -> list[Tensor]:
    found: list[Tensor] = []
    for module in model.modules():
        if isinstance(module, Kept):
            kept = module.mean, module.plain, *module.listed, *module.pair
            found += [*kept, module.by_name["a"]]
    return found


def assert_calls_equal(program: Any, ours: nn.Module, theirs: nn.Module) -> None:
    for seed in range(3):
        torch.manual_seed(seed)
        x = torch.randn(3)
        torch.testing.assert_close(program(x.clone()), theirs(x.clone()), rtol=0, atol=0)
        for got, want in zip(tensors_of(ours), tensors_of(theirs), strict=True):
            assert torch.equal(got, want)


@pytest.mark.parametrize("kind", WRITTEN, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("deep", [False, True], ids=["itself", "deep"])
def test_a_tensor_in_the_place_of_another_is_written_back(
    kind: type[Kept], deep: bool, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    ours = Deep(kind) if deep else kind()
    theirs = copy.deepcopy(ours)
    program = ingot.export(ours, (torch.ones(3),), level="pre-dispatch")
    program.save(tmp_path / "it.ingot")
    for got, want in zip(tensors_of(ours), tensors_of(theirs), strict=True):
        assert type(got) is Tensor and torch.equal(got, want)
    loaded, again = ingot.Program.load(tmp_path / "it.ingot"), copy.deepcopy(theirs)
    assert_calls_equal(program, ours, theirs)
    for _ in range(2):
        x = torch.randn(3)
        torch.testing.assert_close(loaded(x.clone()), again(x.clone()), rtol=0, atol=0)


@pytest.mark.parametrize("level", ["aten", "core"])
def test_at_every_level(level: str) -> None:
    for kind in WRITTEN:
        ours, theirs = kind(), kind()
        assert_calls_equal(ingot.export(ours, (torch.ones(3),), level=level), ours, theirs)


def test_there_and_back() -> None:
    for kind in (Buffer, Plain, OldIsReturned, Swapped):
        ours, theirs = kind(), kind()
        exported = ingot.export(ours, (torch.ones(3),), level="pre-dispatch").to_exported()
        assert_calls_equal(ingot.Program.from_exported(exported), ours, theirs)


def test_a_model_that_a_function_calls() -> None:
    for kind in (Buffer, Plain, Containers):
        ours, theirs = kind(), kind()

        def function(x: Tensor, ours: nn.Module = ours) -> Any:
            return ours(x)

        program = ingot.export(function, (torch.ones(3),), level="pre-dispatch")
        assert_calls_equal(program, ours, theirs)


def test_a_module_that_is_made_inside_is_nobodys_state() -> None:
    def function(x: Tensor) -> Tensor:
        return nn.Softmax(dim=-1)(x)

    program = ingot.export(function, (torch.ones(3),), level="pre-dispatch")
    x = torch.randn(3)
    assert torch.equal(program(x), function(x))


def test_gradients_go_through_what_was_kept() -> None:
    weights = [torch.tensor([1.0, 2.0, 3.0], requires_grad=True) for _ in range(2)]
    theirs = Buffer()
    program = ingot.export(Buffer(), (torch.ones(3),), level="pre-dispatch")
    for call, weight in zip((program, theirs), weights):
        (call(weight * 2).sum() + call(weight * 3).sum()).backward()
    assert torch.equal(weights[0].grad, weights[1].grad)  # type: ignore[arg-type]


class FillsWhatWasNone(Kept):
    def forward(self, x: Tensor) -> Any:
        self.missing = x * 2  # here
        return x + 1


class FillsANoneBuffer(Kept):
    def forward(self, x: Tensor) -> Any:
        self.empty = x * 2  # here
        return x + 1


class MakesAnAttribute(Kept):
    def forward(self, x: Tensor) -> Any:
        self.another = x * 2  # here
        return x + 1


class GrowsABuffer(Kept):
    def forward(self, x: Tensor) -> Any:
        self.mean = torch.cat([self.mean, x])  # here
        return self.mean.sum()


class WidensABuffer(Kept):
    def forward(self, x: Tensor) -> Any:
        self.mean = self.mean.double() + x  # here
        return self.mean * 2


class DropsATensor(Kept):
    def forward(self, x: Tensor) -> Any:
        y = self.plain * x
        self.plain = None  # here
        return y


class CollectsInAList(Kept):
    def forward(self, x: Tensor) -> Any:
        self.listed.append(x * 2)  # here
        return x + 1


class Counts(Kept):
    def forward(self, x: Tensor) -> Any:
        self.calls += 1  # here
        return x * self.calls


class ReplacesOneOfTwo(Kept):
    def __init__(self) -> None:
        super().__init__()
        self.same = self.plain

    def forward(self, x: Tensor) -> Any:
        self.plain = self.plain + x  # here
        return self.same * 2


RULES: dict[type[Kept], str] = {
    FillsWhatWasNone: r"self.missing was None and is f32\[3\] after the call",
    FillsANoneBuffer: r"self.empty was None and is f32\[3\] after the call",
    MakesAnAttribute: r"self.another was nothing and is f32\[3\] after the call",
    GrowsABuffer: r"self.mean was f32\[3\] and is f32\[6\] after the call",
    WidensABuffer: r"self.mean was f32\[3\] and is f64\[3\] after the call",
    DropsATensor: r"self.plain was f32\[3\] and is None after the call",
    CollectsInAList: r"self.listed\[2\] was nothing and is f32\[3\] after the call",
    Counts: r"self.calls was 0 and is 1 after the call",
    ReplacesOneOfTwo: "self.same lies in the memory that self.plain is taken from",
}


@pytest.mark.parametrize("kind", RULES, ids=lambda kind: kind.__name__)
def test_refused_with_line_and_rule(kind: type[Kept]) -> None:
    model = kind()
    before = copy.deepcopy(model).__dict__
    with pytest.raises(CaptureError, match=RULES[kind]) as caught:
        ingot.export(model, (torch.ones(3),), level="pre-dispatch")
    assert caught.value.place is not None
    assert caught.value.place.file == __file__
    assert "# here" in caught.value.place.code
    assert model.__dict__.keys() == before.keys()
    assert model.calls == 0 and model.missing is None and model.empty is None
    assert len(model.listed) == 2 and torch.equal(model.plain, torch.ones(3))


def test_other_levels_warn() -> None:
    model = Counts()
    with pytest.warns(UserWarning, match="self.calls was 0 and is 1"):
        program = ingot.export(model, (torch.ones(3),), level="aten")
    assert model.calls == 0
    assert torch.equal(program(torch.ones(3)), torch.ones(3))


def test_a_cache_that_is_full_is_no_change() -> None:
    class Cached(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table: Tensor | None = None
            self.length = 0

        def forward(self, x: Tensor) -> Tensor:
            if self.length < x.size(0):
                self.length, self.table = x.size(0), torch.arange(x.size(0))
            assert self.table is not None
            return x + self.table

    model, x = Cached(), torch.ones(3)
    with pytest.raises(CaptureError, match="call the model once before the export"):
        ingot.export(model, (x,), level="pre-dispatch")
    want = model(x)
    assert torch.equal(ingot.export(model, (x,), level="pre-dispatch")(x), want)


def test_weight_norm_puts_a_new_weight_in_place() -> None:
    torch.manual_seed(0)
    with pytest.warns(FutureWarning):
        ours = nn.utils.weight_norm(nn.Linear(3, 2))
        theirs = nn.utils.weight_norm(nn.Linear(3, 2))
    theirs.load_state_dict(ours.state_dict())
    program = ingot.export(ours, (torch.ones(3),), level="pre-dispatch")
    for _ in range(2):
        for call, model in ((program, ours), (theirs, theirs)):
            call(torch.ones(3)).square().sum().backward()
            with torch.no_grad():
                model.weight_g.sub_(0.1 * model.weight_g.grad)
        assert torch.equal(ours.weight, theirs.weight)
        for got, want in zip(ours.parameters(), theirs.parameters()):
            torch.testing.assert_close(got.grad, want.grad)


def test_weight_norm_in_a_training_step() -> None:
    class Loss(nn.Module):
        def __init__(self, model: nn.Module) -> None:
            super().__init__()
            self.model = model

        def forward(self, x: Tensor) -> Tensor:
            return self.model(x).square().sum()

    with pytest.warns(FutureWarning):
        ours, theirs = (Loss(nn.utils.weight_norm(nn.Linear(3, 2))) for _ in range(2))
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(3)
    step = ingot.export(ours, (x,), train=True)
    assert torch.allclose(step(x), theirs(x))
    theirs(x).backward()
    for got, want in zip(ours.parameters(), theirs.parameters()):
        torch.testing.assert_close(got.grad, want.grad)


def test_spectral_norm_begins_in_the_memory_of_its_parameter() -> None:
    torch.manual_seed(0)
    ours, theirs = (nn.utils.spectral_norm(nn.Linear(3, 2)) for _ in range(2))
    theirs.load_state_dict(ours.state_dict())
    with pytest.raises(CaptureError, match=r"self\.weight_orig lies in the memory"):
        ingot.export(ours, (torch.ones(3),), level="pre-dispatch")
    for model in (ours, theirs):
        model(torch.ones(3))  # now the weight has storage of its own
    program = ingot.export(ours, (torch.ones(3),), level="pre-dispatch")
    for _ in range(2):
        x = torch.randn(3)
        torch.testing.assert_close(program(x), theirs(x))
        torch.testing.assert_close(ours.weight, theirs.weight)
        torch.testing.assert_close(ours.state_dict(), theirs.state_dict())


def test_strict_tracing_forgets_no_change() -> None:
    class Model(Kept):
        def forward(self, x: Tensor) -> Any:
            assert type(x) is Tensor  # only strict tracing passes this
            self.plain = self.plain + x
            return self.plain * 2

    with pytest.raises(CaptureError, match="forgets what changes in self"):
        ingot.export(Model(), (torch.ones(3),), level="pre-dispatch")
