"""Hand-written plans that together use every op, kind of buffer and kind of argument."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from ingot.plan import ir
from ingot.plan.text import register


@register
@dataclass(frozen=True)
class SampleTile(ir.Attributes):
    rows: int
    scale: float = 1.0


@register
@dataclass(frozen=True)
class SamplePacking(ir.Packing):
    rows: int


@register
@dataclass(frozen=True)
class SampleGeometry(ir.Expansion):
    extents: tuple[Any, ...]
    dtype: torch.dtype
    label: str | None
    tile: SampleTile
    padded: bool = False


LINEAR = """\
plan(%x, %w) {
  symbol s0: 2..1024 {positive, integer}
  input %x: f32[s0, 64]
  input %w: f32[32, 64]
  packed %packed: f32[2048]
  constant %bias: f32[32]
  arena %h: f32[s0, 32] live 3..5
  arena %scratch: u8[256] live 3..3
  result %y: f32[s0, 32]
  kernel @matmul.mm.3f2a: matmul #3f2a (a: r f32, b: r, out: w f32, room: rw u8, \
epilogue: call?, rows)
  kernel @pointwise.relu.77: pointwise #77 (in: r f32, out: w f32, n)
  recipe %packed of (%w) {
    %1 = aten.t.default(%s0)
    results %1
    packing sample_packing{dtype=torch.float32, rows=16}
  }

  define s0 = size(%x, 0)
  allocate %y
  segment {
    requires 0 <= 0 + 2 * i(s0) + 1 * quotient(0 + 1 * i(s0), 4) \
+ 1 * remainder(0 + 1 * i(s0), 3) < (20 + s0) for \
"aten.relu.default" at "model.py":3 "y = x.relu()"
    launch @matmul.mm.3f2a(%x, %packed, %h, %scratch, @pointwise.relu.77, s0) threads(s0) \
step 0:0 covers(0:2, 0:3) {
      computes {
        %a = %x:f32[s0, 64]
        %b = %w:f32[32, 64]
        %t = aten.t.default(%b)
        %c = aten.mm.default(%a, %t)
        %c -> %h:f32[s0, 32]
      }
      attributes sample_geometry{extents=(1, s0, sym(2*s0)), dtype=torch.float32, label=None, \
tile=sample_tile{rows=4, scale=0.5}, padded=True}
    }
    parallel threads(s0 // 2) {
      launch @pointwise.relu.77(%h, %y, 32*s0) threads(s0 // 2) step 0:1 {
        computes {
          %a = %h:f32[s0, 32]
          %b = aten.relu.default(%a)
          %b -> %y:f32[s0, 32]
        }
        fault division at "model.py":3 "y = x.relu()"
        fault lookup at "model.py":4
      }
    }
  }
  free %w
  return %y
}
"""

STATIC = """\
plan(%x) {
  input %x: f32[4, 8]
  arena %a: f32[4, 8] live 1..3 at 0
  arena %b: f32[8, 4](1, 8) live 2..4 at 128
  arena %c: f32[4, 8] live 3..4 at 256
  result %y: f32[4, 8]
  kernel @pointwise.add.1: pointwise #1 (in: r f32, out: w f32, k)
  kernel @pointwise.sum.2: pointwise #2 (in: r f32, other: r f32, out: w f32)

  allocate %y
  launch @pointwise.add.1(%x, %a, 1) {
    computes {
      %0 = %x:f32[4, 8]
      %1 = aten.add.Tensor(%0, 1, alpha=2)
      %1 -> %a:f32[4, 8]
    }
  }
  launch @pointwise.add.1(%x, %b, 2) {
    computes {
      %0 = %x:f32[8, 4](1, 8)
      %1 = aten.mul.Tensor(%0, 3.0)
      %1 -> %b:f32[8, 4](1, 8)
    }
  }
  launch @pointwise.add.1(%a, %c, 2) {
    computes {
      %0 = %a+32:f32[3, 8]
      %2 = %a:f32[1, 8]
      %1 = aten.neg.default(%0)
      %1 -> %c+32:f32[3, 8]
      %2 -> %c:f32[1, 8]
    }
  }
  launch @pointwise.sum.2(%b, %c, %y) {
    computes {
      %0 = %b:f32[4, 8]
      %1 = %c:f32[4, 8]
      %2 = aten.add.Tensor(%0, %1)
      %2 -> %y:f32[4, 8]
    }
  }
  return %y
}
"""

BRANCHES = """\
plan(%x, %cache, %n) {
  symbol s0: 1.. {positive, integer}
  input %x: f32[s0, 4]
  input %cache: f32[16, 4]
  object %n
  constant %flag: b8[]
  arena %t: f32[s0, 4] live 4..5
  arena %u: f32[s0, 4] live 5..7
  result %y: f32[s0, 4]
  eager %big: f32[s0, 4]
  eager %big2: f32[s0, 4]
  kernel @pointwise.neg.1: pointwise #1 (in: r f32, out: w f32, n)

  define s0 = size(%x, 0)
  allocate %y
  if sym(s0 <= 16) step 0:0 {
    if s0 <= 8 step 1:0 {
      launch @pointwise.neg.1(%x, %t, s0) {
        computes {
          %0 = %x:f32[s0, 4]
          %1 = aten.neg.default(%0)
          %1 -> %t:f32[s0, 4]
        }
      }
      launch @pointwise.neg.1(%t, %u, s0) {
        computes {
          %0 = %t:f32[s0, 4]
          %1 = aten.exp.default(%0)
          %1 -> %u:f32[s0, 4]
        }
      }
    } else {
      launch @pointwise.neg.1(%x, %u, s0) {
        computes {
          %0 = %x:f32[s0, 4]
          %1 = aten.neg.default(%0)
          %2 = aten.exp.default(%1)
          %2 -> %u:f32[s0, 4]
        }
      }
    }
    launch @pointwise.neg.1(%u, %y, s0) {
      computes {
        %0 = %u:f32[s0, 4]
        %1 = aten.neg.default(%0)
        %1 -> %y:f32[s0, 4]
      }
    }
  } else {
    %big = aten.exp.default(%x) step 2:0
    %big2 = aten.neg.default(%big)
    aten.copy_.default(%y, %big2) writes(%y) impure
    free %big, %big2
  }
  if %flag {
    launch @pointwise.neg.1(%y, %cache+16, s0) {
      computes {
        %0 = %y:f32[1, 4]
        %1 = aten.neg.default(%0)
        %1 -> %cache+16:f32[1, 4]
      }
    }
  }
  return %y, %y+16:f32[4], sym(2*s0), %n, None
}
"""

LOOPS = """\
plan(%x, %h) {
  input %x: f32[3, 4]
  input %h: f32[4]
  arena %m0: f32[4] live 3..5 at 0
  arena %m1: f32[4] live 3..5 at 64
  arena %t: f32[4] live 4..5 at 128
  arena %k0: i64[] live 6..8 at 0
  arena %k1: i64[] live 6..8 at 64
  arena %go: b8[] live 6..8 at 192
  result %last: f32[4]
  result %all: f32[3, 4]
  result %count: i64[]
  constant %zero: i64[]
  cursor %old: f32[4]
  cursor %new: f32[4]
  cursor %row: f32[4]
  cursor %out: f32[4]
  cursor %ko: i64[]
  cursor %kn: i64[]
  kernel @pointwise.add.1: pointwise #1 (in: r f32, other: r f32, out: w f32)
  kernel @pointwise.cell.2: pointwise #2 (in: r f32, next: w f32, out: w f32)
  kernel @pointwise.inc.3: pointwise #3 (in: r i64, out: w i64)
  kernel @pointwise.test.4: pointwise #4 (in: r i64, out: w b8)

  allocate %last
  allocate %all
  allocate %count
  loop count(3) step 0:1 {
    carry %old, %new = %h:f32[4] in %m0, %m1 -> %last:f32[4]
    slice %row = %x by 16 r
    slice %out = %all by 16 w
    body {
      launch @pointwise.add.1(%old, %row, %t) {
        computes {
          %0 = %old:f32[4]
          %1 = %row:f32[4]
          %2 = aten.add.Tensor(%0, %1)
          %2 -> %t:f32[4]
        }
      }
      launch @pointwise.cell.2(%t, %new, %out) {
        computes {
          %0 = %t:f32[4]
          %1 = aten.mul.Tensor(%0, 0.5)
          %2 = aten.exp.default(%1)
          %1 -> %new:f32[4]
          %2 -> %out:f32[4]
        }
      }
    }
  }
  loop while %go {
    carry %ko, %kn = %zero:i64[] in %k0, %k1 -> %count:i64[]
    test {
      launch @pointwise.test.4(%ko, %go) {
        computes {
          %0 = %ko:i64[]
          %1 = aten.lt.Scalar(%0, 5)
          %1 -> %go:b8[]
        }
      }
    }
    body {
      launch @pointwise.inc.3(%ko, %kn) {
        computes {
          %0 = %ko:i64[]
          %1 = aten.add.Scalar(%0, 1)
          %1 -> %kn:i64[]
        }
      }
    }
  }
  return %last, %all, %count
}
"""

EAGER = """\
plan(%x, %w, %p) {
  symbol u0: 0.. {nonnegative, integer}
  input %x: f32[6]
  input %w: f32[6]
  input %p: b8[]
  folded %twice: f32[6]
  constant %table: f32[6]
  eager %nz: i64[u0, 1]
  eager %sum: f32[6]
  object %pair
  eager %first: f32[2]
  result %same: f32[u0]
  eager %pick: f32[u0] of %same
  eager %some: f32[6]
  object %branched
  eager %chosen: f32[6]
  recipe %twice of (%w, %table) {
    %2 = aten.mul.Tensor(%s0, 2.0)
    %3 = aten.add.Tensor(%2, %s1)
    results %3
  }

  fold %twice
  %nz = aten.nonzero.default(%x) step 0:0
  define u0 = size(%nz, 0)
  check sym(u0 <= 6), "u0 is too large" step 0:1
  %sum = aten.add.Tensor(%x, %twice, alpha=-0.5)
  %pair = aten.split_with_sizes.default(%sum, [2, 4], 0)
  %first = operator.getitem(%pair, 0)
  free %pair
  allocate %same
  aten.fill_.Scalar(%same, 1.5) writes(%same) impure
  %pick = aten.slice.Tensor(%same, 0, 0, u0, 1)
  %some = aten.rand.default([6], dtype=torch.float32, layout=torch.strided, \
device=device("cpu"), pin_memory=False) impure
  aten.mul_.Tensor(%x, %twice) writes(%x) impure
  %branched = control branch(%p, (%x, %twice)) carried(0) sliced(0) step 0:9 {
    plan(%a, %b) {
      input %a: f32[6]
      input %b: f32[6]
      eager %c: f32[6]

      %c = aten.add.Tensor(%a, %b)
      return %c
    }
    plan(%a, %b) {
      input %a: f32[6]
      input %b: f32[6]
      eager %c: f32[6]

      %c = aten.sub.Tensor(%a, %b)
      return %c
    }
  }
  %chosen = operator.getitem(%branched, 0)
  return %first, %pick, %chosen, [u0, (1,)], "text", {"k" = %sum}
}
"""

SAMPLES = {
    "linear": LINEAR,
    "static": STATIC,
    "branches": BRANCHES,
    "loops": LOOPS,
    "eager": EAGER,
}
