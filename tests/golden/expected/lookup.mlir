  llvm.func internal @NAME_body(%frame: !llvm.ptr, %begin: i64, %end: i64) attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant 11 : i64
    %c2 = arith.constant 0 : i64
    %c3 = arith.constant 6 : i64
    %c4 = arith.constant 8 : i64
    %c5 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi64>
    %c6 = arith.constant dense<0.0> : vector<8xf32>
    %c7 = arith.constant 0x40000000 : f32
    %slot1n = llvm.mlir.constant(1 : i64) : i64
    %slot1 = llvm.alloca %slot1n x i32 {alignment = 64 : i64} : (i64) -> !llvm.ptr
    %buffer0at = llvm.getelementptr %frame[0] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer0 = llvm.load %buffer0at : !llvm.ptr -> !llvm.ptr
    %buffer1at = llvm.getelementptr %frame[1] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer1 = llvm.load %buffer1at : !llvm.ptr -> !llvm.ptr
    %buffer2at = llvm.getelementptr %frame[2] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer2 = llvm.load %buffer2at : !llvm.ptr -> !llvm.ptr
    %slot1z = arith.constant 0 : i32
    llvm.store %slot1z, %slot1 : i32, !llvm.ptr
    scf.for %1 = %begin to %end step %c0 : i64 {
      %2 = llvm.getelementptr %buffer0[%1] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      %3 = llvm.load %2 {alignment = 8 : i64} : !llvm.ptr -> i64
      %4 = arith.cmpi slt, %3, %c2 : i64
      %5 = arith.cmpi sge, %3, %c1 : i64
      %6 = arith.ori %4, %5 : i1
      %7 = llvm.load %slot1 : !llvm.ptr -> i32
      %8 = arith.extui %6 : i1 to i32
      %9 = arith.ori %7, %8 : i32
      llvm.store %9, %slot1 : i32, !llvm.ptr
      %10 = arith.select %6, %c2, %3 : i1, i64
      %11 = arith.cmpi slt, %c2, %c3 : i64
      scf.if %11 {
        %12 = arith.subi %c3, %c2 : i64
        %13 = vector.broadcast %12 : i64 to vector<8xi64>
        %14 = arith.cmpi slt, %c5, %13 : vector<8xi64>
        %15 = arith.muli %10, %c3 : i64
        %16 = arith.addi %15, %c2 : i64
        %17 = llvm.getelementptr %buffer1[%16] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %18 = llvm.intr.masked.load %17, %14, %c6 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
        %19 = vector.broadcast %c7 : f32 to vector<8xf32>
        %20 = arith.mulf %18, %19 : vector<8xf32>
        %21 = arith.muli %1, %c3 : i64
        %22 = arith.addi %21, %c2 : i64
        %23 = llvm.getelementptr %buffer2[%22] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        llvm.intr.masked.store %20, %23, %14 {alignment = 4 : i32} : vector<8xf32>, vector<8xi1> into !llvm.ptr
      }
    }
    %slot1v = llvm.load %slot1 : !llvm.ptr -> i32
    %slot1c = arith.cmpi ne, %slot1v, %slot1z : i32
    scf.if %slot1c {
      %slot1e = arith.constant 2 : i64
      %slot1p = llvm.getelementptr %frame[3] : (!llvm.ptr) -> !llvm.ptr, i64
      llvm.store %slot1e, %slot1p : i64, !llvm.ptr
    }
    llvm.return
  }
  llvm.func internal @NAME_task(%frame: !llvm.ptr) {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant 11 : i64
    %c2 = arith.constant 0 : i64
    %c3 = arith.constant 6 : i64
    %c4 = arith.constant 8 : i64
    %c5 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi64>
    %c6 = arith.constant dense<0.0> : vector<8xf32>
    %c7 = arith.constant 0x40000000 : f32
    %c8 = arith.constant 3 : i64
    %c9 = arith.constant 18 : i64
    %thread32 = llvm.call @omp_get_thread_num() : () -> i32
    %threads32 = llvm.call @omp_get_num_threads() : () -> i32
    %thread = arith.extsi %thread32 : i32 to i64
    %threads = arith.extsi %threads32 : i32 to i64
    %one = arith.constant 1 : i64
    %rounded = arith.addi %c8, %threads : i64
    %upper = arith.subi %rounded, %one : i64
    %share = arith.divsi %upper, %threads : i64
    %begin = arith.muli %thread, %share : i64
    %stop = arith.addi %begin, %share : i64
    %end = arith.minsi %stop, %c8 : i64
    %some = arith.cmpi slt, %begin, %end : i64
    scf.if %some {
      llvm.call @NAME_body(%frame, %begin, %end) : (!llvm.ptr, i64, i64) -> ()
    }
    llvm.return
  }
  llvm.func internal @NAME(%frame: !llvm.ptr) -> i64 attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant 11 : i64
    %c2 = arith.constant 0 : i64
    %c3 = arith.constant 6 : i64
    %c4 = arith.constant 8 : i64
    %c5 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi64>
    %c6 = arith.constant dense<0.0> : vector<8xf32>
    %c7 = arith.constant 0x40000000 : f32
    %c8 = arith.constant 3 : i64
    %c9 = arith.constant 18 : i64
    %nothing = arith.constant 0 : i64
    %errorat = llvm.getelementptr %frame[3] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %nothing, %errorat : i64, !llvm.ptr
    %one = arith.constant 1 : i64
    %grain = arith.constant 16384 : i64
    %wanted = arith.divsi %c9, %grain : i64
    %useful = arith.minsi %wanted, %c8 : i64
    %several = arith.cmpi sgt, %useful, %one : i64
    scf.if %several {
      %most32 = llvm.call @omp_get_max_threads() : () -> i32
      %most = arith.extsi %most32 : i32 to i64
      %threads = arith.minsi %useful, %most : i64
      %alone = arith.cmpi sle, %threads, %one : i64
      scf.if %alone {
        llvm.call @NAME_body(%frame, %nothing, %c8) : (!llvm.ptr, i64, i64) -> ()
      } else {
        %task = llvm.mlir.addressof @NAME_task : !llvm.ptr
        %threads32 = arith.trunci %threads : i64 to i32
        %flags = arith.constant 0 : i32
        llvm.call @GOMP_parallel(%task, %frame, %threads32, %flags) : (!llvm.ptr, !llvm.ptr, i32, i32) -> ()
      }
    } else {
      llvm.call @NAME_body(%frame, %nothing, %c8) : (!llvm.ptr, i64, i64) -> ()
    }
    %error = llvm.load %errorat : !llvm.ptr -> i64
    llvm.return %error : i64
  }
