  llvm.func internal @NAME_body(%frame: !llvm.ptr, %begin: i64, %end: i64) attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 2048 : i64
    %c1 = arith.constant 35 : i64
    %c2 = arith.constant 32 : i64
    %c3 = arith.constant 0x40000000 : f32
    %c4 = arith.constant 0x00000000 : f32
    %c5 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : vector<32xi64>
    %c6 = arith.constant dense<0.0> : vector<32xf32>
    %c7 = arith.constant 1 : i64
    %c8 = arith.constant 2047 : i64
    %c9 = arith.constant 0 : i32
    %40 = llvm.getelementptr %frame[0] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer0 = llvm.load %40 : !llvm.ptr -> !llvm.ptr
    %41 = llvm.getelementptr %frame[1] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer1 = llvm.load %41 : !llvm.ptr -> !llvm.ptr
    %42 = llvm.getelementptr %frame[2] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer2 = llvm.load %42 : !llvm.ptr -> !llvm.ptr
    %1 = arith.muli %begin, %c0 : i64
    %2 = arith.muli %end, %c0 : i64
    %3 = arith.minsi %2, %c1 : i64
    %4 = arith.subi %3, %1 : i64
    %5 = arith.remsi %4, %c2 : i64
    %6 = arith.subi %4, %5 : i64
    %7 = arith.addi %1, %6 : i64
    scf.for %8 = %1 to %7 step %c2 : i64 {
      %9 = llvm.getelementptr %buffer0[%8] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %10 = llvm.load %9 {alignment = 4 : i64} : !llvm.ptr -> vector<32xf32>
      %11 = vector.broadcast %c3 : f32 to vector<32xf32>
      %12 = arith.mulf %10, %11 : vector<32xf32>
      %13 = llvm.getelementptr %buffer1[%8] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %14 = llvm.load %13 {alignment = 4 : i64} : !llvm.ptr -> vector<32xf32>
      %15 = arith.addf %12, %14 : vector<32xf32>
      %16 = vector.broadcast %c4 : f32 to vector<32xf32>
      %17 = arith.cmpf ogt, %16, %15 : vector<32xf32>
      %18 = vector.broadcast %c4 : f32 to vector<32xf32>
      %19 = arith.select %17, %18, %15 : vector<32xi1>, vector<32xf32>
      %20 = llvm.getelementptr %buffer2[%8] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      llvm.store %19, %20 {alignment = 4 : i64} : vector<32xf32>, !llvm.ptr
    }
    %21 = arith.cmpi slt, %7, %3 : i64
    scf.if %21 {
      %22 = arith.subi %3, %7 : i64
      %23 = vector.broadcast %22 : i64 to vector<32xi64>
      %24 = arith.cmpi slt, %c5, %23 : vector<32xi64>
      %25 = llvm.getelementptr %buffer0[%7] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %26 = llvm.intr.masked.load %25, %24, %c6 {alignment = 4 : i32} : (!llvm.ptr, vector<32xi1>, vector<32xf32>) -> vector<32xf32>
      %27 = vector.broadcast %c3 : f32 to vector<32xf32>
      %28 = arith.mulf %26, %27 : vector<32xf32>
      %29 = llvm.getelementptr %buffer1[%7] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %30 = llvm.intr.masked.load %29, %24, %c6 {alignment = 4 : i32} : (!llvm.ptr, vector<32xi1>, vector<32xf32>) -> vector<32xf32>
      %31 = arith.addf %28, %30 : vector<32xf32>
      %32 = vector.broadcast %c4 : f32 to vector<32xf32>
      %33 = arith.cmpf ogt, %32, %31 : vector<32xf32>
      %34 = vector.broadcast %c4 : f32 to vector<32xf32>
      %35 = arith.select %33, %34, %31 : vector<32xi1>, vector<32xf32>
      %36 = llvm.getelementptr %buffer2[%7] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      llvm.intr.masked.store %35, %36, %24 {alignment = 4 : i32} : vector<32xf32>, vector<32xi1> into !llvm.ptr
    }
    llvm.return
  }
  llvm.func internal @NAME_task(%frame: !llvm.ptr) {
    %c0 = arith.constant 2048 : i64
    %c1 = arith.constant 35 : i64
    %c2 = arith.constant 32 : i64
    %c3 = arith.constant 0x40000000 : f32
    %c4 = arith.constant 0x00000000 : f32
    %c5 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : vector<32xi64>
    %c6 = arith.constant dense<0.0> : vector<32xf32>
    %c7 = arith.constant 1 : i64
    %c8 = arith.constant 2047 : i64
    %c9 = arith.constant 0 : i32
    %37 = arith.addi %c1, %c8 : i64
    %38 = arith.divsi %37, %c0 : i64
    %39 = arith.muli %c7, %38 : i64
    %43 = llvm.call @omp_get_thread_num() : () -> i32
    %44 = arith.extsi %43 : i32 to i64
    %45 = llvm.call @omp_get_num_threads() : () -> i32
    %46 = arith.extsi %45 : i32 to i64
    %47 = arith.addi %39, %46 : i64
    %48 = arith.subi %47, %c7 : i64
    %49 = arith.divsi %48, %46 : i64
    %50 = arith.muli %44, %49 : i64
    %51 = arith.addi %50, %49 : i64
    %52 = arith.minsi %51, %39 : i64
    %53 = arith.cmpi slt, %50, %52 : i64
    scf.if %53 {
      llvm.call @NAME_body(%frame, %50, %52) : (!llvm.ptr, i64, i64) -> ()
    }
    llvm.return
  }
  llvm.func internal @NAME(%frame: !llvm.ptr) -> i64 attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 2048 : i64
    %c1 = arith.constant 35 : i64
    %c2 = arith.constant 32 : i64
    %c3 = arith.constant 0x40000000 : f32
    %c4 = arith.constant 0x00000000 : f32
    %c5 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : vector<32xi64>
    %c6 = arith.constant dense<0.0> : vector<32xf32>
    %c7 = arith.constant 1 : i64
    %c8 = arith.constant 2047 : i64
    %c9 = arith.constant 0 : i32
    %c10 = arith.constant 0 : i64
    %c11 = arith.constant 10922 : i64
    %37 = arith.addi %c1, %c8 : i64
    %38 = arith.divsi %37, %c0 : i64
    %39 = arith.muli %c7, %38 : i64
    %43 = llvm.getelementptr %frame[3] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %c10, %43 : i64, !llvm.ptr
    %44 = arith.divsi %c1, %c11 : i64
    %45 = arith.minsi %44, %39 : i64
    %46 = arith.cmpi sgt, %45, %c7 : i64
    scf.if %46 {
      %47 = llvm.call @omp_get_max_threads() : () -> i32
      %48 = arith.extsi %47 : i32 to i64
      %49 = arith.minsi %45, %48 : i64
      %50 = arith.cmpi sle, %49, %c7 : i64
      scf.if %50 {
        llvm.call @NAME_body(%frame, %c10, %39) : (!llvm.ptr, i64, i64) -> ()
      } else {
        %51 = arith.trunci %49 : i64 to i32
        %52 = llvm.mlir.addressof @NAME_task : !llvm.ptr
        llvm.call @GOMP_parallel(%52, %frame, %51, %c9) : (!llvm.ptr, !llvm.ptr, i32, i32) -> ()
      }
    } else {
      llvm.call @NAME_body(%frame, %c10, %39) : (!llvm.ptr, i64, i64) -> ()
    }
    %53 = llvm.load %43 : !llvm.ptr -> i64
    llvm.return %53 : i64
  }
