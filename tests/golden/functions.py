"""One function for each form that fusion and code generation handle. Its docstring holds FileCheck
directives for its regions (FUSED) and its MLIR (CODE). Sizes are small, and none is a multiple of a
vector. Vectors have 256 bits: unless something forbids it, f32 is unrolled to four registers, 32
lanes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class Case:
    function: Callable[..., Any]
    args: tuple[Any, ...]
    dynamic: bool = False
    last_cache: int = 0
    """Size in bytes of the last-level cache that code is generated for; 0 means this machine's."""


CASES: dict[str, Case] = {}


def case(*args: Any, **settings: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        CASES[function.__name__] = Case(function, args, **settings)
        return function

    return register


def ones(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.ones(shape, dtype=dtype)


@case(ones(5, 7), ones(5, 7))
def pointwise(x: Tensor, y: Tensor) -> Tensor:
    """One region, its two dimensions collapsed to one loop, and a masked tail.

    FUSED: region 0 [i0<5, i1<7]
    FUSED-NOT: {{region|library}}
    FUSED: store relu[i0, i1] = aten.relu.default(add)

    CODE: @NAME_body
    CODE: %[[ALL:.*]] = arith.constant 35 : i64
    CODE: scf.for
    CODE-NOT: scf.for
    CODE: llvm.load %{{.*}} -> vector<32xf32>
    CODE: arith.mulf
    CODE: llvm.load %{{.*}} -> vector<32xf32>
    CODE: arith.addf
    CODE: llvm.store {{.*}} : vector<32xf32>
    CODE-NOT: llvm.store
    CODE: scf.if
    CODE-COUNT-2: llvm.intr.masked.load
    CODE: llvm.intr.masked.store
    CODE-NOT: {{alloca|malloc|masked}}
    CODE: @NAME_task
    CODE: llvm.func internal @NAME(
    CODE: GOMP_parallel
    """
    return torch.relu(x * 2 + y)


@case(ones(5, 7), ones(5, 7), dynamic=True)
def pointwise_dynamic(x: Tensor, y: Tensor) -> Tensor:
    """As `pointwise` for all sizes, which follow the three buffers in the call frame.

    FUSED: region 0 [i0<[[ROWS:s[0-9]+]], i1<[[COLUMNS:s[0-9]+]]]
    FUSED-NOT: {{region|library}}
    FUSED: store relu[i0, i1]

    CODE: @NAME_body
    CODE-DAG: llvm.getelementptr %frame[3]
    CODE-DAG: llvm.getelementptr %frame[4]
    CODE: scf.for
    CODE-NOT: scf.for
    CODE: llvm.store {{.*}} : vector<32xf32>
    CODE: llvm.intr.masked.store
    CODE: @NAME_task
    """
    return torch.relu(x * 2 + y)


@case(ones(3, 5, 7), ones(7), ones(5, 1))
def broadcast(x: Tensor, row: Tensor, column: Tensor) -> Tensor:
    """A scalar broadcast along a row is loaded once before the row and splat to all lanes.

    FUSED: region 0 [i0<3, i1<5, i2<7]
    FUSED-NOT: {{region|library}}

    CODE: @NAME_body
    CODE: scf.for
    CODE: %[[ONE:.*]] = llvm.load %{{.*}} : !llvm.ptr -> f32
    CODE: scf.if
    CODE-COUNT-2: llvm.intr.masked.load
    CODE: vector.broadcast %[[ONE]] : f32 to vector<8xf32>
    CODE: llvm.intr.masked.store
    """
    return x * row + column


@case(ones(19))
def two_results(x: Tensor) -> tuple[Tensor, Tensor]:
    """Both results are stored in one loop that loads x once; booleans are bytes.

    FUSED: region 0 [i0<19]
    FUSED: store add
    FUSED: store gt
    FUSED-NOT: region

    CODE: scf.for
    CODE: llvm.load {{.*}} -> vector<32xf32>
    CODE-NOT: llvm.load
    CODE: llvm.store {{.*}} : vector<32xf32>
    CODE: arith.extui {{.*}} vector<32xi1> to vector<32xi8>
    CODE: llvm.store {{.*}} : vector<32xi8>
    CODE: scf.if
    """
    y = x + 1
    return y, y > 0


@case(ones(19, dtype=torch.bfloat16), ones(19, dtype=torch.bfloat16))
def half(x: Tensor, y: Tensor) -> Tensor:
    """Computed in f32 and rounded after every op, as in eager; loads and stores are 16 bits wide.

    FUSED: region 0 [i0<19]
    FUSED-NOT: {{region|store add}}
    FUSED: store mul[i0]

    CODE: scf.for
    CODE-COUNT-2: llvm.load {{.*}} -> vector<32xi16>
    CODE: %[[SUM:.*]] = arith.addf {{.*}} : vector<32xf32>
    CODE: arith.bitcast %[[SUM]] : vector<32xf32> to vector<32xi32>
    CODE: arith.mulf {{.*}} : vector<32xf32>
    CODE: llvm.store {{.*}} : vector<32xi16>
    CODE: scf.if
    """
    return (x + y) * x


@case(ones(19, 23))
def transpose(x: Tensor) -> Tensor:
    """Transposed in 8 × 8 tiles in registers: eight loads, three rounds of shuffles.

    FUSED: region 0 [i0<23, i1<19]
    FUSED: clone[i0, i1] = aten.clone.default(t)
    FUSED: store add
    FUSED-NOT: region

    CODE: @NAME_body
    CODE-COUNT-3: scf.for
    CODE-COUNT-8: llvm.load {{.*}} -> vector<8xf32>
    CODE-NOT: llvm.load
    CODE-COUNT-24: vector.shuffle {{.*}} : vector<8xf32>, vector<8xf32>
    CODE-NOT: vector.shuffle
    CODE: llvm.store {{.*}} : vector<8xf32>
    CODE-NOT: nontemporal
    CODE: @NAME_task
    """
    return x.t().contiguous() + 1


@case(ones(5, 19))
def row_sum(x: Tensor) -> Tensor:
    """A row is one vector: its lanes are added by halving, and one element is stored.

    FUSED: region 0 [i0<5] reduce [i1<19]
    FUSED-NEXT: mul[i0, i1]
    FUSED-NEXT: store sum_1[i0]
    FUSED-NOT: store mul

    CODE: scf.for
    CODE: %[[X:.*]] = llvm.intr.masked.load {{.*}} -> vector<32xf32>
    CODE: arith.mulf %[[X]], %[[X]]
    CODE: arith.select
    CODE: arith.addf {{.*}} : vector<32xf32>
    CODE: arith.addf {{.*}} : vector<16xf32>
    CODE: arith.addf {{.*}} : vector<8xf32>
    CODE: arith.addf {{.*}} : vector<4xf32>
    CODE: arith.addf {{.*}} : vector<2xf32>
    CODE: llvm.store {{.*}} : f32, !llvm.ptr
    CODE: @NAME_task
    """
    return (x * x).sum(-1)


@case(ones(5, 19), dynamic=True)
def row_sum_dynamic(x: Tensor) -> Tensor:
    """Rows of any length: whole vectors in a loop, then a masked tail.

    FUSED: region 0 [i0<{{s[0-9]+}}] reduce [i1<{{s[0-9]+}}]
    FUSED-NOT: region

    CODE: scf.for
    CODE: scf.for
    CODE: llvm.load {{.*}} -> vector<32xf32>
    CODE: scf.if
    CODE: llvm.intr.masked.load
    CODE: llvm.store {{.*}} : f32, !llvm.ptr
    CODE: @NAME_task
    """
    return (x * x).sum(-1)


@case(ones(5, 19))
def column_sum(x: Tensor) -> Tensor:
    """Vectorised along the kept dimension: no horizontal adds.

    FUSED: region 0 [i1<19] reduce [i0<5]
    FUSED: store sum_1[i1]

    CODE: @NAME_body
    CODE: scf.for
    CODE: scf.for
    CODE: arith.addf {{.*}} : vector<32xf32>
    CODE: llvm.store {{.*}} : vector<32xf32>
    CODE-NOT: {{extract|reduction}}
    CODE: @NAME_task
    """
    return x.sum(0)


@case(ones(5, 19))
def whole_maximum(x: Tensor) -> Tensor:
    """Both dimensions are collapsed to one loop; maximumf propagates NaN.

    FUSED: region 0 [] reduce [i0<5, i1<19]
    FUSED: store amax[]

    CODE: @NAME_body
    CODE: scf.for
    CODE: scf.for
    CODE: math.absf {{.*}} : vector<32xf32>
    CODE: arith.maximumf {{.*}} : vector<32xf32>
    CODE-NOT: scf.for
    CODE-NOT: maxnumf
    CODE: @NAME_task
    """
    return x.abs().amax()


@case(ones(5, 19))
def normalize(x: Tensor) -> Tensor:
    """One region: sums, the variance in f64, then one loop that divides by per-row values.

    FUSED: region 0 [i0<5] reduce [i1<19]
    FUSED-COUNT-3: aten.sum.dim_IntList
    FUSED: store div_3[i0, i1]
    FUSED-NOT: {{region|library|store}}

    CODE: @NAME_body
    CODE: scf.for
    CODE: math.sqrt {{.*}} : f64
    CODE: scf.for
    CODE: arith.divf {{.*}} : vector<8xf32>
    CODE: llvm.store {{.*}} : vector<8xf32>
    CODE: llvm.intr.masked.store
    CODE-NOT: {{scf.for|masked.store}}
    CODE: @NAME_task
    """
    return (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-5)


@case(ones(5, 19))
def softmax(x: Tensor) -> Tensor:
    """One region; exp is a polynomial inlined in the loop.

    FUSED: region 0 [i0<5] reduce [i1<19]
    FUSED: amax
    FUSED: exp
    FUSED: sum_1
    FUSED: store div
    FUSED-NOT: {{region|library|store}}

    CODE: @NAME_body
    CODE: scf.for
    CODE: arith.maximumf {{.*}} : vector<32xf32>
    CODE-NOT: {{llvm.call|math.exp}}
    CODE: math.fma {{.*}} : vector<32xf32>
    CODE-NOT: {{llvm.call|math.exp}}
    CODE: llvm.intr.masked.store
    CODE: @NAME_task
    """
    return torch.softmax(x, -1)


@case(ones(5, 19))
def argmax(x: Tensor) -> Tensor:
    """Indices are carried with the values, in 32 bits if they fit; the result is i64.

    FUSED: region 0 [i0<5] reduce [i1<19]
    FUSED: store argmax[i0]

    CODE: @NAME_body
    CODE: scf.for
    CODE: arith.trunci {{.*}} : vector<32xi64> to vector<32xi32>
    CODE: arith.cmpf {{.*}} : vector<32xf32>
    CODE: arith.select {{.*}}, vector<32xi32>
    CODE: llvm.store {{.*}} : i64, !llvm.ptr
    CODE: @NAME_task
    """
    return x.argmax(-1)


@case(ones(11, 6), ones(3, dtype=torch.int64))
def lookup(table: Tensor, ids: Tensor) -> Tensor:
    """An index is checked once per row; if out of bounds, row 0 is read and an error code stored.

    FUSED: region 0 [i0<3, i1<6]
    FUSED: embedding
    FUSED: store mul
    FUSED-NOT: {{region|library}}

    CODE: @NAME_body
    CODE: scf.for
    CODE: %[[ID:.*]] = llvm.load {{.*}} -> i64
    CODE: arith.cmpi slt, %[[ID]]
    CODE: arith.cmpi sge, %[[ID]]
    CODE: %[[OUT:.*]] = arith.ori
    CODE: arith.select %[[OUT]]
    CODE: llvm.intr.masked.load {{.*}} -> vector<8xf32>
    CODE: llvm.intr.masked.store
    CODE: scf.if
    CODE: llvm.store {{.*}} : i64, !llvm.ptr
    CODE: @NAME_task
    """
    return F.embedding(ids, table) * 2


@case(ones(3, 4), ones(3, 5))
def concatenate(x: Tensor, y: Tensor) -> Tensor:
    """The sum is computed at its store; each part has its own loop, without guards.

    FUSED: region 1 [i0<3, i1<9]
    FUSED: store cat
    FUSED-NOT: {{region|store}}

    CODE: @NAME_body
    CODE: scf.for
    CODE: llvm.intr.masked.load
    CODE: llvm.intr.masked.store
    CODE: llvm.intr.masked.load
    CODE: arith.addf
    CODE: llvm.intr.masked.store
    CODE-NOT: masked
    CODE: @NAME_task
    """
    return torch.cat([x, y + 1], 1)


@case(ones(3, 4))
def pad(x: Tensor) -> Tensor:
    """Left, middle and right are separate loops; only the middle one loads.

    FUSED: region 0 [i0<3, i1<7]
    FUSED: constant_pad_nd
    FUSED: store mul
    FUSED-NOT: region

    CODE: @NAME_body
    CODE: scf.for
    CODE-NOT: masked.load
    CODE: llvm.intr.masked.store
    CODE: llvm.intr.masked.load
    CODE: llvm.intr.masked.store
    CODE-NOT: masked.load
    CODE: llvm.intr.masked.store
    CODE-NOT: masked
    CODE: @NAME_task
    """
    return F.pad(x, (1, 2)) * 3


@case(ones(7, dtype=torch.int32), ones(7, dtype=torch.int32))
def integer_division(x: Tensor, y: Tensor) -> Tensor:
    """Through f64, which is exact for 32 bits; a zero divisor is replaced and an error code stored.

    FUSED: region 0 [i0<7]
    FUSED: store floor_divide

    CODE: @NAME_body
    CODE: scf.for
    CODE: %[[ZERO:.*]] = arith.cmpi eq
    CODE: arith.select %[[ZERO]]
    CODE-NOT: divsi
    CODE: arith.divf {{.*}} : vector<8xf64>
    CODE: vector.reduction <or>, %[[ZERO]]
    CODE: llvm.store {{.*}} : vector<8xi32>
    CODE: @NAME_task
    """
    return x // y


@case(ones(4, 6), ones(6, 5), ones(5))
def around_a_product(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    """One region before the matmul, and one after it that stores only the sums.

    FUSED: region 0 [i0<4, i1<6]
    FUSED: library mm
    FUSED: region 2 [i0<4] reduce [i1<5]
    FUSED-NOT: store relu
    FUSED: store sum_1[i0]
    FUSED-NOT: region

    CODE: arith.addf
    CODE: llvm.func internal @NAME(
    CODE: @NAME_body
    CODE: arith.addf
    CODE: arith.select
    """
    return torch.relu((x + 1) @ w + b).sum(-1)


@case(ones(32, 32), last_cache=4096)
def outgrows_the_cache(x: Tensor) -> Tensor:
    """A result larger than the last-level cache uses non-temporal stores and a fence.

    FUSED: region 0 [i0<32, i1<32]

    CODE: @NAME_body
    CODE: scf.for
    CODE: llvm.store {{.*}}nontemporal
    CODE: llvm.x86.sse.sfence
    CODE: llvm.return
    """
    return x + 1


@case(ones(32, 32), last_cache=4097)
def fits_in_the_cache(x: Tensor) -> Tensor:
    """A cache one byte larger than the data: ordinary stores.

    FUSED: region 0 [i0<32, i1<32]

    CODE: @NAME_body
    CODE-NOT: {{nontemporal|sfence}}
    CODE: @NAME_task
    """
    return x + 1
