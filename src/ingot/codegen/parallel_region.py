"""Runs several steps on one team of threads: waking it for each of them costs more than small steps
take. `team` is a step that runs a table of functions, each of which does the share of the calling
thread. No thread starts a step before all have finished the previous one. If one thread is enough
or the only one allowed, the table runs on the caller's.
"""

from __future__ import annotations

_TEAM = """
  llvm.func internal @team(%frame: !llvm.ptr, %bases: !llvm.ptr) -> i64 {
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %two = llvm.mlir.constant(2 : i64) : i64
    %data = llvm.alloca %two x i64 : (i64) -> !llvm.ptr
    %table = llvm.load %frame : !llvm.ptr -> i64
    llvm.store %table, %data : i64, !llvm.ptr
    %basesat = llvm.getelementptr %data[1] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %bases, %basesat : !llvm.ptr, !llvm.ptr
    %useful = llvm.call @word(%frame, %one) : (!llvm.ptr, i64) -> i64
    %most32 = llvm.call @omp_get_max_threads() : () -> i32
    %most = arith.extsi %most32 : i32 to i64
    %threads = arith.minsi %useful, %most : i64
    %several = arith.cmpi sgt, %threads, %one : i64
    scf.if %several {
      %share = llvm.mlir.addressof @share : !llvm.ptr
      %threads32 = arith.trunci %threads : i64 to i32
      %flags = arith.constant 0 : i32
      llvm.call @GOMP_parallel(%share, %data, %threads32, %flags)
          : (!llvm.ptr, !llvm.ptr, i32, i32) -> ()
    } else {
      llvm.call @share(%data) : (!llvm.ptr) -> ()
    }
    llvm.return %zero : i64
  }"""


def team_functions(frame_words: int) -> dict[str, str]:
    """Function texts by name; they call @fill and @word."""
    return {"share": _share(frame_words), "team": _TEAM}


def _share(frame_words: int) -> str:
    """The function of each thread: all steps, with a barrier after each but the last."""
    return f"""
  llvm.func internal @share(%data: !llvm.ptr) {{
    %zero = arith.constant 0 : i64
    %room = llvm.mlir.constant({frame_words} : i64) : i64
    %frame = llvm.alloca %room x i64 {{alignment = 64 : i64}} : (i64) -> !llvm.ptr
    %table = llvm.load %data : !llvm.ptr -> !llvm.ptr
    %basesat = llvm.getelementptr %data[1] : (!llvm.ptr) -> !llvm.ptr, i64
    %bases = llvm.load %basesat : !llvm.ptr -> !llvm.ptr
    %end = scf.while (%at = %table) : (!llvm.ptr) -> !llvm.ptr {{
      %address = llvm.load %at : !llvm.ptr -> i64
      %some = arith.cmpi ne, %address, %zero : i64
      scf.condition(%some) %at : !llvm.ptr
    }} do {{
    ^bb0(%at: !llvm.ptr):
      %address = llvm.load %at : !llvm.ptr -> i64
      %function = llvm.inttoptr %address : i64 to !llvm.ptr
      %countat = llvm.getelementptr %at[1] : (!llvm.ptr) -> !llvm.ptr, i64
      %count = llvm.load %countat : !llvm.ptr -> i64
      %words = llvm.getelementptr %at[2] : (!llvm.ptr) -> !llvm.ptr, i64
      llvm.call @fill(%frame, %words, %count, %bases)
          : (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> ()
      llvm.call %function(%frame) : !llvm.ptr, (!llvm.ptr) -> ()
      %next = llvm.getelementptr %words[%count]
          : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<2 x i64>
      %following = llvm.load %next : !llvm.ptr -> i64
      %more = arith.cmpi ne, %following, %zero : i64
      scf.if %more {{
        llvm.call @GOMP_barrier() : () -> ()
      }}
      scf.yield %next : !llvm.ptr
    }}
    llvm.return
  }}"""
