"""The target dialects and the pipelines that lower to them. Each pipeline is a list of named steps,
so that an error can name the step that failed and a reproducer can start there.
"""

from __future__ import annotations

from dataclasses import dataclass

from ingot.errors import OptionError, did_you_mean


@dataclass(frozen=True)
class PipelineStep:
    """One run of MLIR's pass manager."""

    name: str
    pipeline: str


def _module(*passes: str) -> str:
    return f"builtin.module({','.join(passes)})"


_INLINE = PipelineStep("bodies of calls", _module("inline", "symbol-dce", "canonicalize", "cse"))


@dataclass(frozen=True)
class Dialect:
    name: str
    steps: tuple[PipelineStep, ...]
    """From the imported torch dialect to this one."""
    to_linalg: tuple[PipelineStep, ...]
    """From this dialect to linalg, for execution."""
    interpreted: PipelineStep | None = None
    """Makes sizes static for upstream's interpreter, if the dialect has one."""
    branches: bool = True
    """torch-mlir lowers branches to it."""
    complex: bool = True
    """torch-mlir lowers complex numbers to it."""
    sizes: bool = True
    """torch-mlir supports dynamic sizes in it."""
    one_size: bool = False
    """A reshape in it infers one dynamic size, and not two."""
    narrows: bool = False
    """torch-mlir adds 64-bit integers in 32 bits."""
    finish: PipelineStep = _INLINE
    """Runs after the bodies of calls are inserted."""
    constant: str = ""
    """Its constant op, if torch-mlir leaves some of arith's in the output."""


_BACKEND = PipelineStep(
    "torch dialect",
    _module(
        "func.func(torch-match-quantized-custom-ops)",
        "torchdynamo-export-to-torch-backend-pipeline{ extra-library=}",
    ),
)
_LINALG = PipelineStep(
    "torch to linalg",
    _module("torch-backend-to-linalg-on-tensors-backend-pipeline{allow-non-finites=true}"),
)
_TOSA = PipelineStep("torch to TOSA", _module("torch-backend-to-tosa-backend-pipeline"))
_STABLEHLO = PipelineStep(
    "torch to StableHLO",
    _module("torch-backend-to-stablehlo-backend-pipeline{allow-non-finites=true}"),
)
_TOSA_TO_LINALG = PipelineStep(
    "TOSA to linalg",
    _module(
        "func.func(tosa-to-scf)",
        "canonicalize",
        "func.func(tosa-infer-shapes,tosa-optional-decompositions,canonicalize,tosa-infer-shapes,tosa-make-broadcastable,"
        "tosa-to-linalg-named,canonicalize,tosa-layerwise-constant-fold,tosa-make-broadcastable,"
        "tosa-to-linalg,tosa-to-arith{include-apply-rescale=true},tosa-to-tensor)",
        "canonicalize",
    ),
)
_KNOWN_SIZES = ("func.func(remove-shape-constraints)", "canonicalize", "stablehlo-refine-shapes")
_STABLEHLO_TO_RUN = PipelineStep("StableHLO's sizes", _module(*_KNOWN_SIZES, "canonicalize"))
_STABLEHLO_TO_LINALG = PipelineStep(
    "StableHLO to linalg",
    _module(
        *_KNOWN_SIZES,
        "func.func(stablehlo-aggressive-simplification)",
        "canonicalize",
        "stablehlo-legalize-to-linalg{enable-primitive-ops=false}",
        "convert-shape-to-std",
        "stablehlo-convert-to-signless",
        "canonicalize",
        "reconcile-unrealized-casts",
    ),
)

_STABLEHLO_FINISH = PipelineStep(
    "bodies of calls",
    _module(
        "func.func(remove-shape-constraints)",
        "inline",
        "symbol-dce",
        "canonicalize",
        "func.func(shape-legalize-to-stablehlo)",
        "canonicalize",
        "cse",
    ),
)

DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        Dialect("torch", (_BACKEND,), (_LINALG,)),
        Dialect("linalg", (_BACKEND, _LINALG), ()),
        Dialect(
            "tosa",
            (_BACKEND, _TOSA),
            (_TOSA_TO_LINALG,),
            branches=False,
            complex=False,
            sizes=False,
            one_size=True,
            narrows=True,
        ),
        Dialect(
            "stablehlo",
            (_BACKEND, _STABLEHLO),
            (_STABLEHLO_TO_LINALG,),
            interpreted=_STABLEHLO_TO_RUN,
            branches=False,
            complex=False,
            sizes=False,
            finish=_STABLEHLO_FINISH,
            constant="stablehlo.constant",
        ),
    )
}

TO_LLVM = PipelineStep(
    "linalg to LLVM",
    _module(
        "inline",
        "func.func(refback-generalize-tensor-pad,refback-generalize-tensor-concat,tm-tensor-bufferize)",
        "one-shot-bufferize{copy-before-write bufferize-function-boundaries "
        "function-boundary-type-conversion=identity-layout-map}",
        "refback-mlprogram-bufferize",
        "func.func(tm-tensor-to-loops,refback-munge-memref-copy,convert-linalg-to-loops,lower-affine)",
        "convert-scf-to-cf",
        "math-extend-to-supported-types{extra-types=f16 target-type=f32}",
        "func.func(arith-emulate-unsupported-floats{source-types=bf16 target-type=f32})",
        "func.func(refback-expand-ops-for-llvm,arith-expand{include-bf16=true},convert-math-to-llvm)",
        "convert-math-to-libm",
        "convert-complex-to-standard",
        "expand-strided-metadata",
        "lower-affine",
        "convert-bufferization-to-memref",
        "finalize-memref-to-llvm",
        "func.func(convert-arith-to-llvm)",
        "convert-vector-to-llvm",
        "convert-cf-to-llvm",
        "convert-complex-to-llvm",
        "convert-func-to-llvm",
        "convert-index-to-llvm",
        "reconcile-unrealized-casts",
    ),
)


def find_dialect(name: str) -> Dialect:
    if name not in DIALECTS:
        raise OptionError(f"dialect {name!r}", hints=[did_you_mean(name, DIALECTS)])
    return DIALECTS[name]
