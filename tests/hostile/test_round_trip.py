"""Properties preserved by a file: the loaded program computes and compiles as the saved one."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import ingot
from ingot.program.source import node_place
from tests.hostile.corpus import PROGRAMS


@pytest.mark.parametrize("name", PROGRAMS)
def test_everything_is_kept(name: str, tmp_path: Path) -> None:
    program = PROGRAMS[name]()
    program.save(tmp_path / "it.ingot")
    loaded = ingot.Program.load(tmp_path / "it.ingot")
    assert str(loaded) == str(program)
    assert loaded.signature == program.signature
    assert loaded.symbols == program.symbols
    assert [str(g.condition) for g in loaded.guards] == [str(g.condition) for g in program.guards]
    assert loaded.calling == program.calling
    assert list(loaded.state) == list(program.state)
    for key, tensor in program.state.items():
        found = loaded.state[key]
        assert torch.equal(found, tensor) and found.stride() == tensor.stride()
        assert (type(found), found.requires_grad) == (type(tensor), tensor.requires_grad)
    for ours, theirs in zip(loaded.graph.nodes, program.graph.nodes, strict=True):
        assert str(node_place(ours)) == str(node_place(theirs))
        assert ours.op == "output" or _offsets(ours) == _offsets(theirs)


def _offsets(node: torch.fx.Node) -> object:
    val = node.meta.get("val")
    return str(val.storage_offset()) if isinstance(val, torch.Tensor) else None


def test_a_loaded_training_step_adds_gradients(tmp_path: Path) -> None:
    program = PROGRAMS["training"]()
    program.save(tmp_path / "it.ingot")
    loaded = ingot.Program.load(tmp_path / "it.ingot")
    x = torch.randn(2, 4)
    torch.testing.assert_close(loaded(x), program(x))
    for name, tensor in program.state.items():
        if tensor.requires_grad:
            torch.testing.assert_close(loaded.state[name].grad, tensor.grad)


def test_guards_hold_after_loading(tmp_path: Path) -> None:
    program = PROGRAMS["dynamic"]()
    program.save(tmp_path / "it.ingot")
    loaded = ingot.Program.load(tmp_path / "it.ingot")
    good = torch.randn(8, 3), torch.randn(9)
    torch.testing.assert_close(loaded(*good), program(*good))
    assert program.guards
    for bad in ((torch.randn(40, 3), torch.randn(4)), (torch.randn(1, 3), torch.randn(9))):
        outcomes = []
        for made in (program, loaded):
            try:
                outcomes.append(made(*bad))
            except ingot.InputError as error:
                outcomes.append(str(error))
        assert type(outcomes[0]) is type(outcomes[1])


def test_an_offset_known_only_at_run_time_is_kept(tmp_path: Path) -> None:
    """The view `x[n]` starts at an offset with its own symbol."""
    from ingot.options import make_options
    from ingot.pipeline import compile_program
    from ingot.runtime.executable import Executable

    program = PROGRAMS["data_dependent"]()
    program.save(tmp_path / "it.ingot")
    loaded = ingot.Program.load(tmp_path / "it.ingot")
    compiled = compile_program(loaded, make_options())
    run = Executable(compiled.fused.program, compiled, None)
    x = torch.arange(1.0, 6.0)
    for n in (0, 3, -1):
        torch.testing.assert_close(run(x, torch.tensor(n)), program(x, torch.tensor(n)))
    with pytest.raises(IndexError):
        run(x, torch.tensor(9))


def test_what_lies_between_the_elements_is_not_saved(tmp_path: Path) -> None:
    class Narrow(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("part", torch.full((4, 8), 7.0)[:, :1].mul_(0))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.part

    program = ingot.export(Narrow(), (torch.ones(4, 1),))
    program.save(tmp_path / "it.ingot")
    loaded = ingot.Program.load(tmp_path / "it.ingot")
    assert loaded.state["part"].stride() == (8, 1)
    memory = loaded.state["part"].as_strided((25,), (1,))
    assert not memory.any()
