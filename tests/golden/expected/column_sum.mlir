  llvm.func internal @NAME_body(%frame: !llvm.ptr, %begin: i64, %end: i64) attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 2048 : i64
    %c1 = arith.constant 19 : i64
    %c2 = arith.constant 32 : i64
    %c3 = arith.constant dense<0x00000000> : vector<32xf32>
    %c4 = arith.constant 0 : i64
    %c5 = arith.constant 5 : i64
    %c6 = arith.constant 1 : i64
    %c7 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : vector<32xi64>
    %c8 = arith.constant dense<0.0> : vector<32xf32>
    %slot1n = llvm.mlir.constant(1 : i64) : i64
    %slot1 = llvm.alloca %slot1n x vector<32xf32> {alignment = 64 : i64} : (i64) -> !llvm.ptr
    %slot2n = llvm.mlir.constant(1 : i64) : i64
    %slot2 = llvm.alloca %slot2n x vector<32xf32> {alignment = 64 : i64} : (i64) -> !llvm.ptr
    %slot3n = llvm.mlir.constant(1 : i64) : i64
    %slot3 = llvm.alloca %slot3n x vector<32xf32> {alignment = 64 : i64} : (i64) -> !llvm.ptr
    %slot4n = llvm.mlir.constant(1 : i64) : i64
    %slot4 = llvm.alloca %slot4n x vector<32xf32> {alignment = 64 : i64} : (i64) -> !llvm.ptr
    %buffer0at = llvm.getelementptr %frame[0] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer0 = llvm.load %buffer0at : !llvm.ptr -> !llvm.ptr
    %buffer1at = llvm.getelementptr %frame[1] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer1 = llvm.load %buffer1at : !llvm.ptr -> !llvm.ptr
    %1 = arith.muli %begin, %c0 : i64
    %2 = arith.muli %end, %c0 : i64
    %3 = arith.minsi %2, %c1 : i64
    %4 = arith.subi %3, %1 : i64
    %5 = arith.remsi %4, %c2 : i64
    %6 = arith.subi %4, %5 : i64
    %7 = arith.addi %1, %6 : i64
    scf.for %8 = %1 to %7 step %c2 : i64 {
      llvm.store %c3, %slot1 : vector<32xf32>, !llvm.ptr
      llvm.store %c3, %slot2 : vector<32xf32>, !llvm.ptr
      llvm.store %c3, %slot2 : vector<32xf32>, !llvm.ptr
      scf.for %9 = %c4 to %c5 step %c6 : i64 {
        %10 = llvm.load %slot2 : !llvm.ptr -> vector<32xf32>
        %11 = arith.muli %9, %c1 : i64
        %12 = arith.addi %11, %8 : i64
        %13 = llvm.getelementptr %buffer0[%12] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %14 = llvm.load %13 {alignment = 4 : i64} : !llvm.ptr -> vector<32xf32>
        %15 = arith.addf %10, %14 : vector<32xf32>
        llvm.store %15, %slot2 : vector<32xf32>, !llvm.ptr
      }
      %16 = llvm.load %slot2 : !llvm.ptr -> vector<32xf32>
      %17 = llvm.load %slot1 : !llvm.ptr -> vector<32xf32>
      %18 = arith.addf %17, %16 : vector<32xf32>
      llvm.store %18, %slot1 : vector<32xf32>, !llvm.ptr
      %19 = llvm.load %slot1 : !llvm.ptr -> vector<32xf32>
      %20 = llvm.getelementptr %buffer1[%8] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      llvm.store %19, %20 {alignment = 4 : i64} : vector<32xf32>, !llvm.ptr
    }
    %21 = arith.cmpi slt, %7, %3 : i64
    scf.if %21 {
      %22 = arith.subi %3, %7 : i64
      %23 = vector.broadcast %22 : i64 to vector<32xi64>
      %24 = arith.cmpi slt, %c7, %23 : vector<32xi64>
      llvm.store %c3, %slot3 : vector<32xf32>, !llvm.ptr
      llvm.store %c3, %slot4 : vector<32xf32>, !llvm.ptr
      llvm.store %c3, %slot4 : vector<32xf32>, !llvm.ptr
      scf.for %25 = %c4 to %c5 step %c6 : i64 {
        %26 = llvm.load %slot4 : !llvm.ptr -> vector<32xf32>
        %27 = arith.muli %25, %c1 : i64
        %28 = arith.addi %27, %7 : i64
        %29 = llvm.getelementptr %buffer0[%28] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %30 = llvm.intr.masked.load %29, %24, %c8 {alignment = 4 : i32} : (!llvm.ptr, vector<32xi1>, vector<32xf32>) -> vector<32xf32>
        %31 = arith.addf %26, %30 : vector<32xf32>
        llvm.store %31, %slot4 : vector<32xf32>, !llvm.ptr
      }
      %32 = llvm.load %slot4 : !llvm.ptr -> vector<32xf32>
      %33 = llvm.load %slot3 : !llvm.ptr -> vector<32xf32>
      %34 = arith.addf %33, %32 : vector<32xf32>
      llvm.store %34, %slot3 : vector<32xf32>, !llvm.ptr
      %35 = llvm.load %slot3 : !llvm.ptr -> vector<32xf32>
      %36 = llvm.getelementptr %buffer1[%7] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      llvm.intr.masked.store %35, %36, %24 {alignment = 4 : i32} : vector<32xf32>, vector<32xi1> into !llvm.ptr
    }
    llvm.return
  }
  llvm.func internal @NAME_task(%frame: !llvm.ptr) {
    %c0 = arith.constant 2048 : i64
    %c1 = arith.constant 19 : i64
    %c2 = arith.constant 32 : i64
    %c3 = arith.constant dense<0x00000000> : vector<32xf32>
    %c4 = arith.constant 0 : i64
    %c5 = arith.constant 5 : i64
    %c6 = arith.constant 1 : i64
    %c7 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : vector<32xi64>
    %c8 = arith.constant dense<0.0> : vector<32xf32>
    %c9 = arith.constant 2047 : i64
    %c10 = arith.constant 95 : i64
    %37 = arith.addi %c1, %c9 : i64
    %38 = arith.divsi %37, %c0 : i64
    %39 = arith.muli %c6, %38 : i64
    %thread32 = llvm.call @omp_get_thread_num() : () -> i32
    %threads32 = llvm.call @omp_get_num_threads() : () -> i32
    %thread = arith.extsi %thread32 : i32 to i64
    %threads = arith.extsi %threads32 : i32 to i64
    %one = arith.constant 1 : i64
    %rounded = arith.addi %39, %threads : i64
    %upper = arith.subi %rounded, %one : i64
    %share = arith.divsi %upper, %threads : i64
    %begin = arith.muli %thread, %share : i64
    %stop = arith.addi %begin, %share : i64
    %end = arith.minsi %stop, %39 : i64
    %some = arith.cmpi slt, %begin, %end : i64
    scf.if %some {
      llvm.call @NAME_body(%frame, %begin, %end) : (!llvm.ptr, i64, i64) -> ()
    }
    llvm.return
  }
  llvm.func internal @NAME(%frame: !llvm.ptr) -> i64 attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 2048 : i64
    %c1 = arith.constant 19 : i64
    %c2 = arith.constant 32 : i64
    %c3 = arith.constant dense<0x00000000> : vector<32xf32>
    %c4 = arith.constant 0 : i64
    %c5 = arith.constant 5 : i64
    %c6 = arith.constant 1 : i64
    %c7 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : vector<32xi64>
    %c8 = arith.constant dense<0.0> : vector<32xf32>
    %c9 = arith.constant 2047 : i64
    %c10 = arith.constant 95 : i64
    %37 = arith.addi %c1, %c9 : i64
    %38 = arith.divsi %37, %c0 : i64
    %39 = arith.muli %c6, %38 : i64
    %nothing = arith.constant 0 : i64
    %errorat = llvm.getelementptr %frame[2] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %nothing, %errorat : i64, !llvm.ptr
    %one = arith.constant 1 : i64
    %grain = arith.constant 21845 : i64
    %wanted = arith.divsi %c10, %grain : i64
    %useful = arith.minsi %wanted, %39 : i64
    %several = arith.cmpi sgt, %useful, %one : i64
    scf.if %several {
      %most32 = llvm.call @omp_get_max_threads() : () -> i32
      %most = arith.extsi %most32 : i32 to i64
      %threads = arith.minsi %useful, %most : i64
      %alone = arith.cmpi sle, %threads, %one : i64
      scf.if %alone {
        llvm.call @NAME_body(%frame, %nothing, %39) : (!llvm.ptr, i64, i64) -> ()
      } else {
        %task = llvm.mlir.addressof @NAME_task : !llvm.ptr
        %threads32 = arith.trunci %threads : i64 to i32
        %flags = arith.constant 0 : i32
        llvm.call @GOMP_parallel(%task, %frame, %threads32, %flags) : (!llvm.ptr, !llvm.ptr, i32, i32) -> ()
      }
    } else {
      llvm.call @NAME_body(%frame, %nothing, %39) : (!llvm.ptr, i64, i64) -> ()
    }
    %error = llvm.load %errorat : !llvm.ptr -> i64
    llvm.return %error : i64
  }
