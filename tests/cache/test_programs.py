"""A captured graph that was compiled before is not compiled again: the program from the cache
computes the same, with the weights, the constants and the lines of the new graph. All that a plan
follows from is in its key."""

from __future__ import annotations

import json
import re
import types
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import pytest
import torch
from torch import nn

import ingot
from ingot import foreign_rules, observe, pipeline
from ingot.cache import settings
from ingot.cache.disk import DiskCache, disk_cache
from ingot.cache.environment import answer
from ingot.cache.programs import is_program, program_entry, read_key
from ingot.compilation_cache.graph_text import GraphText, Unencodable
from ingot.errors import FallbackWarning
from ingot.fuse.elements import element, element_rules
from ingot.fuse.views import view, view_rules
from ingot.machine import machine_of_level, targeting
from ingot.ops.rules import pointwise, pointwise_rules
from ingot.options import Options
from ingot.passes.base import RuleTable
from ingot.passes.decompositions import decomposes, own_decompositions
from ingot.runtime.executable import Executable
from ingot.stages import Compiled

X = torch.randn(6, 24)


@pytest.fixture(autouse=True)
def valid_plans() -> Iterator[None]:
    """The suite's own listener would keep every program out of the cache."""
    yield


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DiskCache]:
    monkeypatch.setattr(foreign_rules, "_foreign", {})  # those of other tests
    monkeypatch.setenv(settings.FOLDER, str(tmp_path / "code"))
    monkeypatch.setenv(settings.SIZE, "64")
    disk_cache.cache_clear()
    found = disk_cache()
    assert found is not None
    yield found
    disk_cache.cache_clear()


@pytest.fixture
def built(disk: DiskCache, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Grows with every program that is compiled."""
    seen: list[Any] = []
    compile = pipeline._within

    def counted(program: Any, boundary: Any) -> Compiled:
        seen.append(program)
        return compile(program, boundary)

    monkeypatch.setattr(pipeline, "_within", counted)
    return seen


def model(width: int = 40) -> nn.Module:
    torch.manual_seed(width)
    layers = [nn.Linear(24, width), nn.GELU(), nn.LayerNorm(width), nn.Linear(width, 8)]
    return nn.Sequential(*layers).eval()


def compiled(f: Callable[..., Any], *args: Any, **more: Any) -> Executable:
    """Compiled ahead of time, and compared with eager."""
    with torch.no_grad():
        exe = ingot.compile(f, args, **more)
        torch.testing.assert_close(exe(*args), f(*args), rtol=1e-4, atol=1e-5)
    return exe


def through_dynamo(f: Callable[..., Any], *args: Any, dynamic: bool | None = None) -> None:
    torch._dynamo.reset()
    found = torch.compile(f, backend="ingot", dynamic=dynamic)(*args)
    torch.testing.assert_close(found, f(*args), rtol=1e-4, atol=1e-5)


def programs(disk: DiskCache) -> list[Path]:
    return [path for path, _ in disk.entries() if is_program((disk.find(path.name)) or b"")]


# -- found -----------------------------------------------------------------------------------------


def test_ahead_of_time(built: list[Any]) -> None:
    compiled(model(), X)
    assert len(built) == 1
    other = model()
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.mul_(1.5)
    exe = compiled(other, X)
    assert len(built) == 1
    with torch.no_grad():  # the weights are the other model's, and guarded
        other[0].weight.zero_()
        torch.testing.assert_close(exe(X), other(X), rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(exe(X + 1), other(X + 1), rtol=1e-4, atol=1e-5)


def test_what_is_asked_of_a_found_program_is_derived(built: list[Any]) -> None:
    first, second = compiled(model(), X).compiled, compiled(model(), X).compiled
    assert len(built) == 1 and isinstance(first, Compiled) and isinstance(second, Compiled)
    assert second.plan == first.plan and second.source == first.source
    assert len(second.prepared) == len(first.prepared) > 0
    assert second.kernels == first.kernels > 0
    assert second.fused.as_text() == first.fused.as_text()
    assert second.choices == first.choices
    lines = [[e.notes for e in each.plan_journal.entries] for each in (first, second)]
    assert lines[0] == lines[1]
    assert len(built) == 2  # once


def test_dynamo(built: list[Any]) -> None:
    for _ in range(2):
        with torch.no_grad():
            through_dynamo(model(), X)
    assert len(built) == 1


def test_forward_and_backward_are_two_entries(built: list[Any]) -> None:
    def gradients(f: Callable[..., Any]) -> list[torch.Tensor]:
        net = model()
        f(net, X).backward()
        return [parameter.grad for parameter in net.parameters() if parameter.grad is not None]

    def loss(net: nn.Module, x: torch.Tensor) -> torch.Tensor:
        return net(x).square().sum()

    expected = gradients(loss)
    for _ in range(2):
        torch._dynamo.reset()
        found = gradients(torch.compile(loss, backend="ingot"))
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    assert len(built) == 2


def test_written_buffers(built: list[Any]) -> None:
    expected = None
    for _ in range(2):
        torch._dynamo.reset()
        net = nn.BatchNorm1d(24)
        with torch.no_grad():
            torch.compile(net, backend="ingot")(X)
        if expected is None:
            expected = net.running_mean.clone()
        torch.testing.assert_close(net.running_mean, expected)
        assert net.running_mean.abs().sum() > 0
    assert len(built) == 1


def test_dynamic_sizes(built: list[Any]) -> None:
    def f(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        return (x[i].exp().sum(0) / (x.shape[0] + 1)).tanh()

    for _ in range(2):
        torch._dynamo.reset()
        run = torch.compile(f, backend="ingot", dynamic=True)
        for count in (5, 9, 3, 5):
            x, i = torch.randn(count, 7), torch.arange(count - 1)
            torch.testing.assert_close(run(x, i), f(x, i))
    assert len(built) == 1


@pytest.mark.slow
def test_versions_and_control_flow(built: list[Any]) -> None:
    def by_size(x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.shape[0] > 8, lambda x: x.sin(), lambda x: x.cos(), (x,))

    def by_value(x: torch.Tensor) -> torch.Tensor:
        # an eager step in a body: the plan holds a plan
        return torch.cond(x.sum() > 0, lambda x: torch.sort(x)[0] + 1, lambda x: x - 1, (x,))

    batch = {"x": {0: torch.export.Dim("n", min=2, max=64)}}
    for _ in range(2):
        exe = compiled(by_size, torch.randn(12, 5), dynamic_shapes=batch)
        for count in (3, 8, 9, 40):
            x = torch.randn(count, 5)
            torch.testing.assert_close(exe(x), by_size(x))
        exe = compiled(by_value, X.abs())
        torch.testing.assert_close(exe(-X.abs()), by_value(-X.abs()))
    assert len(built) == 2


def test_constants_of_the_graph_and_folded_ones(built: list[Any]) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        table = torch.tensor([[0.5, 1.5, -2.0]]).t()
        return x[:, :3] @ table + torch.tensor([1.0, 2.0]).cumsum(0)[1]

    compiled(f, X)
    compiled(f, X)
    assert len(built) == 1


@pytest.mark.slow
def test_a_found_program_can_be_saved(built: list[Any], tmp_path: Path) -> None:
    compiled(model(), X)
    exe = compiled(model(), X)
    exe.save(tmp_path / "model.ingot")
    loaded = ingot.load(tmp_path / "model.ingot")
    torch.testing.assert_close(loaded(X), exe(X))


# -- lines of the user's ---------------------------------------------------------------------------

SOURCE = """
def f(x, i):
    return x[i] * 2
"""


def function_in(file: str, before: int) -> Callable[..., Any]:
    import linecache

    text = "\n" * before + SOURCE
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    scope: dict[str, Any] = {}
    exec(compile(text, file, "exec"), scope)
    found = scope["f"]
    assert isinstance(found, types.FunctionType)
    return found


def test_errors_name_the_line_of_the_new_graph(built: list[Any]) -> None:
    bad = torch.tensor([3, 99])
    places = []
    for file, before in (("/somewhere/one.py", 0), ("/elsewhere/other.py", 40)):
        torch._dynamo.reset()
        run = torch.compile(function_in(file, before), backend="ingot")
        run(X, torch.tensor([3, 5]))
        with pytest.raises(IndexError) as caught:
            run(X, bad)
        places += re.findall(r"at (\S+):(\d+)", str(caught.value))
    assert len(built) == 1
    assert places == [("/somewhere/one.py", "3"), ("/elsewhere/other.py", "43")]


# -- not found -------------------------------------------------------------------------------------


def test_options(built: list[Any]) -> None:
    for options in ({}, {"weight_guard": "off"}, {"vector_bits": 128}, {"tuning": "elsewhere"}):
        compiled(model(), X, options=options)
    assert len(built) == 3  # the place of tuning files is no part of the key


def test_machine(built: list[Any]) -> None:
    for level in (None, "x86-64-v3", None, "x86-64-v3"):
        with targeting(machine_of_level(level)) if level else nullcontext():
            compiled(model(), X)
    assert len(built) == 2


def scaled(scale: float) -> Callable[..., Any]:
    return lambda x: x[:, :3] * torch.tensor([1.0, 2.0, scale]) + x.new_full((3,), scale)


def test_constants(built: list[Any]) -> None:
    for scale in (1.0, 2.0, 1.0):
        with torch.no_grad():
            through_dynamo(scaled(scale), X)
        compiled(scaled(scale), X)
    assert len(built) == 4


def test_tensors_that_are_constants(built: list[Any]) -> None:
    """The text of the graph is the same: only the digest tells."""
    for value in (1.0, 2.0, 1.0):
        module = torch.fx.symbolic_trace(lambda x: x + 1)
        module.register_buffer("held", torch.full((3,), value))
        graph = GraphText(module)
        assert graph.constant_text() == ""
        node = next(n for n in module.graph.nodes if n.op == "call_function")
        with module.graph.inserting_before(node):
            node.args = node.args[0], module.graph.get_attr("held")
        graph = GraphText(module)
        built.append((graph.text, graph.constant_text()))
    assert built[0] == built[2] != built[1] and built[0][0] == built[1][0]


def test_schemas_of_custom_ops() -> None:
    """The plan follows from what an op writes, which its name does not tell."""
    library = torch.library.Library("cache_test", "FRAGMENT")
    texts = []
    for name, schema in (("one", "(Tensor x)"), ("two", "(Tensor(a!) x)")):
        library.define(f"{name}{schema} -> Tensor")
        graph = torch.fx.Graph()
        op = getattr(torch.ops.cache_test, name).default
        graph.output(graph.call_function(op, (graph.placeholder("x"),)))
        text = GraphText(torch.fx.GraphModule(nn.Module(), graph)).text
        texts.append(text.replace("two", "one"))
    library._destroy()
    assert texts[0] != texts[1]


def _pointwise() -> None:
    with torch.library._scoped_library("cache_test", "FRAGMENT") as library:
        library.define("three(Tensor x) -> Tensor")
        pointwise("cache_test::three.default")(lambda b, x: x)
        del pointwise_rules[torch.ops.cache_test.three.default]


def _element() -> None:
    element("cache_test")(lambda context, node, index: None)  # type: ignore[arg-type,return-value]
    del element_rules["cache_test"]


def _view() -> None:
    view("cache_test")(lambda node: None)  # type: ignore[arg-type,return-value]
    del view_rules["cache_test"]


def _decomposition() -> None:
    decomposes("special_bessel_j1")(lambda x: NotImplemented)
    del own_decompositions[torch.ops.aten.special_bessel_j1.default]


def _rewrite() -> None:
    RuleTable().on("cache_test")(lambda node, draft: None)  # type: ignore[arg-type,return-value]


def _dispatched() -> None:
    @ingot.dispatch(on=("x", 0), ranges=[64], budget=0)
    def doubled(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    doubled(X)


@pytest.mark.parametrize(
    "register", [_pointwise, _element, _view, _decomposition, _rewrite, _dispatched]
)
def test_rules_of_other_code(register: Callable[[], None], built: list[Any]) -> None:
    """What they compute is not in the key: nothing is kept, or taken."""
    compiled(model(), X)
    register()
    for _ in range(2):
        compiled(model(), X)
    assert len(built) == 3


def test_ranges_of_symbols(built: list[Any]) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x.softmax(-1)

    for most in (64, 128, 64):
        compiled(f, X, dynamic_shapes={"x": {0: torch.export.Dim("n", min=2, max=most)}})
    assert len(built) == 2


def test_dtype_shape_strides_and_flags(built: list[Any]) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x.sin() + x

    for x in (X, X.double(), X[:3], X.t().contiguous().t()):
        compiled(f, x)
    assert len(built) == 4


def test_an_op_and_an_argument(built: list[Any]) -> None:
    for f in (
        lambda x: x.sum(0), lambda x: x.sum(1), lambda x: x.amax(1), lambda x: x.sum(1, True),
        lambda x: x.sum(1) + 1, lambda x: x.sum(1) + 1.5,
    ):  # fmt: skip
        compiled(f, X)
    assert len(built) == 6


def test_threads_only_where_the_plan_depends_on_them(built: list[Any]) -> None:
    before = torch.get_num_threads()
    try:
        for count in (2, 1, 2):
            torch.set_num_threads(count)
            compiled(model(), X)
            compiled(nn.Softmax(-1), X)
    finally:
        torch.set_num_threads(before)
    assert len(built) == 2


@pytest.mark.slow
def test_winograd_counts_threads(built: list[Any]) -> None:
    before = torch.get_num_threads()
    image, net = torch.randn(1, 32, 16, 16), nn.Conv2d(32, 32, 3, padding=1).eval()
    try:
        for count in (2, 1, 2, 1):
            torch.set_num_threads(count)
            compiled(net, image)
    finally:
        torch.set_num_threads(before)
    assert len(built) == 2


def test_tuning_records(built: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The record that decided is compared, not the whole file, and not where it is."""
    from ingot.dispatch.builtin_variants import CHOICES

    monkeypatch.setattr(CHOICES["matmul"].operation, "files", set())
    monkeypatch.setattr(CHOICES["matmul"].operation, "records", {})
    compiled(model(), X, options={"tuning": str(tmp_path / "none")})
    compiled(model(), X, options={"tuning": str(tmp_path / "neither")})
    assert len(built) == 1
    folder = tmp_path / "tuning"
    ask: list[str] = []
    monkeypatch.setattr("ingot.dispatch.records.ask", lambda *words: ask.append("\n".join(words)))
    folder.mkdir()
    compiled(model(), X, options={"tuning": str(folder)})
    monkeypatch.undo()
    question = next(each for each in ask if "matmul: " in each or each.startswith("tuning record"))
    _, name, setting = question.split("\n")
    record = {"setting": setting, "table": {"rows": []}, "samples": [], "disqualified": {}}
    file = folder / name

    def written(*records: Any) -> str:
        file.write_text(json.dumps({"format": 1, "made for": {}, "records": records}))
        return answer(question, str(folder))

    assert answer(question, str(folder)) == ""
    first = written(record)
    assert first and written({**record, "setting": "another"}, record) == first
    assert written({**record, "disqualified": {"a": "b"}}) not in (first, "")
    file.write_text("[")
    assert answer(question, str(folder)) == ""


# -- not kept --------------------------------------------------------------------------------------


def test_a_program_that_fell_back_is_not_kept(
    built: list[Any], disk: DiskCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = pipeline.build_kernels

    def failing(fused: Any, options: Options, *rest: Any) -> Any:
        if options.fuse:
            raise AssertionError("no kernels today")
        return build(fused, options, *rest)

    monkeypatch.setattr(pipeline, "build_kernels", failing)
    with pytest.warns(FallbackWarning):
        compiled(nn.Softmax(-1), X)
    assert not programs(disk) and disk.runs()[-1].refused == ("a part of it fell back to PyTorch",)


def test_objects_without_a_text_are_not_kept(built: list[Any], disk: DiskCache) -> None:
    generator = torch.Generator()

    def f(x: torch.Tensor) -> torch.Tensor:
        return x + torch.rand(24, generator=generator)

    module = torch.fx.symbolic_trace(f)
    node = next(n for n in module.graph.nodes if n.op == "call_function")
    node.args = (generator,)
    with pytest.raises(Unencodable, match="Generator"):
        GraphText(module)


@pytest.mark.slow
def test_watched_programs_are_compiled(built: list[Any], tmp_path: Path) -> None:
    compiled(model(), X)
    heard: list[Compiled] = []
    with observe.listening(heard.append):
        compiled(model(), X)
    assert len(built) == 2 and len(heard) == 1
    compiled(model(), X, options={"dump": str(tmp_path / "dump")})
    assert len(built) == 3 and list((tmp_path / "dump").iterdir())
    report = ingot.explain(model(), (X,))
    assert len(built) == 4 and report.kernels


# -- damage ----------------------------------------------------------------------------------------


def entry_of(disk: DiskCache) -> Path:
    (path,) = programs(disk)
    return path


@pytest.mark.parametrize("way", ["cut", "flip", "empty", "plan", "header", "no module", "folder"])
def test_damaged_entries_are_compiled_anew(
    built: list[Any], disk: DiskCache, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled(model(), X)
    path = entry_of(disk)
    data, entry = path.read_bytes(), disk.find(path.name)
    assert entry is not None
    if way == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif way == "flip":
        path.write_bytes(data[:-40] + bytes([data[-40] ^ 8]) + data[-39:])
    elif way == "empty":
        path.write_bytes(b"")
    elif way == "folder":
        path.unlink()
        path.mkdir()
    elif way == "no module":
        for other, _ in list(disk.entries()):
            if other != path:
                other.unlink()
        from ingot.codegen.jit import native

        monkeypatch.setattr(native, "_linked", WeakValueDictionary())  # as in a new process
    else:  # whole files with a valid digest
        key = read_key(entry)
        bad = {"plan": program_entry(key, b"\5\0\0\0\0\0\0\0{}..."), "header": entry[:30]}
        path.unlink()
        disk.keep(path.name, bad[way])
    compiled(model(), X)
    assert len(built) == 2
    compiled(model(), X)
    assert len(built) == (3 if way == "folder" else 2)


@pytest.mark.slow
def test_garbled_programs_are_refused_or_right(built: list[Any], disk: DiskCache) -> None:
    """With a digest that fits, so that the parser and the verifier see them."""
    import random
    import zlib

    from ingot.cache.programs import read_program

    compiled(model(), X)
    path = entry_of(disk)
    entry = disk.find(path.name)
    assert entry is not None
    key, program = read_key(entry), read_program(entry)
    draw = random.Random(0)
    for _ in range(15):
        at = draw.randrange(8, len(program))
        garbled = program[:at] + bytes([draw.randrange(32, 127)]) + program[at + 1 :]
        if draw.random() < 0.3:
            garbled = garbled[:at]
        path.unlink(missing_ok=True)
        disk.keep(path.name, program_entry(key, garbled))
        before = len(built)
        try:
            with torch.no_grad():
                ingot.compile(model(), (X,))
        except zlib.error:
            pytest.fail("an error reached the user")
        assert len(built) - before in (0, 1)


def test_a_folder_that_cannot_be_written(
    built: list[Any], disk: DiskCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*args: Any, **kwargs: Any) -> Any:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("ingot.cache.disk.tempfile.mkstemp", failing)
    for _ in range(2):
        compiled(model(), X)
    assert len(built) == 2 and disk.trouble
