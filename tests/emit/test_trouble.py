"""Failures of export: refused ops, untraceable programs, checks, files."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import ingot
from ingot.emit.comparison import run_module


def test_all_problems_are_told_at_once_at_the_users_lines() -> None:
    def several(x: Tensor) -> tuple[Tensor, Tensor]:
        a = torch.linalg.svdvals(x)
        b = torch.special.airy_ai(x)
        return a, b.relu()

    program = ingot.export(several, (torch.randn(4, 3),))
    with pytest.raises(ingot.EmitError) as caught:
        program.to_mlir("tosa")
    text = str(caught.value)
    assert {p.op for p in caught.value.problems} == {"_linalg_svd", "special_airy_ai"}  # type: ignore[attr-defined]
    assert "a = torch.linalg.svdvals(x)" in text
    assert "b = torch.special.airy_ai(x)" in text
    assert "f32[4, 3]" in text


def test_an_unknown_dialect_is_told() -> None:
    program = ingot.export(torch.sin, (torch.randn(3),))
    with pytest.raises(ingot.OptionError, match="did you mean 'linalg'"):
        program.to_mlir("linlag")


@torch.library.custom_op("emit_tests::twice", mutates_args=())
def twice(x: Tensor) -> Tensor:
    return x * 2


@twice.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty_like(x)


def test_a_custom_op_is_taken_apart_on_request() -> None:
    x = torch.randn(3)
    program = ingot.export(lambda x: twice(x) + 1, (x,))
    with pytest.raises(ingot.EmitError, match="custom operation"):
        program.to_mlir("linalg")
    op = torch.ops.emit_tests.twice.default
    text = program.to_mlir("linalg", decompositions={op: lambda x: x + x}).text
    assert "arith.addf" in text


TEXTS = {
    "linalg": """
func.func @twice(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = linalg.add ins(%x, %x : tensor<3xf32>, tensor<3xf32>) outs(%x : tensor<3xf32>)
    -> tensor<3xf32>
  return %0 : tensor<3xf32>
}""",
    "tosa": """
func.func private @any_name(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = tosa.add %x, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}""",
    "stablehlo": """
func.func @twice(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.add %x, %x : tensor<3xf32>
  return %0 : tensor<3xf32>
}""",
}


@pytest.mark.parametrize("dialect", TEXTS)
def test_a_custom_op_is_what_the_user_wrote_in_mlir(dialect: str) -> None:
    x = torch.randn(3)
    program = ingot.export(lambda x: twice(twice(x) + 1), (x,))
    own = {torch.ops.emit_tests.twice.default: TEXTS[dialect]}
    text = program.to_mlir(dialect, decompositions=own).text
    assert "call @" not in text
    program.verify(dialect, (x,), decompositions=own)


def test_mlir_of_another_type_is_told() -> None:
    program = ingot.export(lambda x: twice(x), (torch.randn(4),))
    own = {torch.ops.emit_tests.twice.default: TEXTS["tosa"]}
    with pytest.raises(ingot.EmitError, match=r"\(tensor<3xf32>\) -> tensor<3xf32>") as caught:
        program.to_mlir("tosa", decompositions=own)
    assert "(tensor<4xf32>) -> tensor<4xf32>" in str(caught.value)


def positive(x: Tensor) -> Tensor:
    torch._assert_async((x > 0).all(), "all have to be positive")
    return x.log()


def test_checks_are_kept_or_dropped() -> None:
    good, bad = torch.tensor([1.0, 2.0]), torch.tensor([1.0, -2.0])
    program = ingot.export(positive, (good,))
    assert "cf.assert" not in program.to_mlir("linalg").text
    assert "all have to be positive" in program.to_mlir("linalg", checks=True).text
    assert "all have to be positive" in program.to_mlir("torch", checks=True).text
    program.verify("linalg", (good,), checks=True)
    with pytest.raises(ingot.EmitError, match="all have to be positive"):
        run_module(program.to_mlir("linalg", checks=True), {"x": bad})
    with pytest.raises(ingot.EmitError, match="no checks that run"):
        program.to_mlir("tosa", checks=True)
    program.verify("tosa", (good,))


@pytest.mark.parametrize("dialect", ["linalg", "tosa", "stablehlo"])
def test_what_cannot_be_taken_stays_a_call(dialect: str) -> None:
    x = torch.randn(3)
    program = ingot.export(lambda x: torch.special.airy_ai(twice(x) + 1), (x,))
    text = program.to_mlir(dialect, partial=True).text
    assert 'ingot.op = "emit_tests.twice"' in text
    assert 'ingot.op = "special_airy_ai"' in text
    assert text.count("call @") == 2


def test_a_program_that_cannot_be_traced_is_told_at_the_users_line() -> None:
    def branches(x: Tensor) -> Tensor:
        if x.sum() > 0:
            return x
        return -x

    with pytest.raises(ingot.CaptureError) as caught:
        ingot.export(branches, (torch.randn(3),))
    text = str(caught.value)
    assert "if x.sum() > 0:" in text
    assert "torch.cond" in text, "the nearest way round"
    assert "site-packages" not in text


def test_weights_are_saved_beside_the_text(tmp_path: Path) -> None:
    from safetensors.torch import load_file

    model, x = nn.Linear(4, 3), torch.randn(2, 4)
    program = ingot.export(model, (x,))
    module = program.to_mlir("linalg")
    files = module.save(tmp_path / "model.mlir")
    assert [f.name for f in files] == ["model.mlir", "model.safetensors"]
    assert 'ingot.name = "weight"' in files[0].read_text()
    torch.testing.assert_close(load_file(files[1])["weight"], model.weight.detach())


def test_a_file_that_cannot_be_written_is_told_and_nothing_is_left(tmp_path: Path) -> None:
    module = ingot.export(torch.sin, (torch.randn(3),)).to_mlir("linalg")
    with pytest.raises(ingot.EmitError, match="cannot write"):
        module.save(tmp_path / "nowhere" / "model.mlir")
    assert list(tmp_path.iterdir()) == []
