  llvm.func internal @NAME_body(%frame: !llvm.ptr, %begin: i64, %end: i64) attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 2048 : i64
    %c1 = arith.constant 19 : i64
    %c2 = arith.constant 32 : i64
    %c3 = arith.constant 0x3F800000 : f32
    %c4 = arith.constant 0x00000000 : f32
    %c5 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : vector<32xi64>
    %c6 = arith.constant dense<0.0> : vector<32xf32>
    %buffer0at = llvm.getelementptr %frame[0] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer0 = llvm.load %buffer0at : !llvm.ptr -> !llvm.ptr
    %buffer1at = llvm.getelementptr %frame[1] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer1 = llvm.load %buffer1at : !llvm.ptr -> !llvm.ptr
    %buffer2at = llvm.getelementptr %frame[2] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer2 = llvm.load %buffer2at : !llvm.ptr -> !llvm.ptr
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
      %12 = arith.addf %10, %11 : vector<32xf32>
      %13 = vector.broadcast %c4 : f32 to vector<32xf32>
      %14 = arith.cmpf ogt, %12, %13 : vector<32xf32>
      %15 = llvm.getelementptr %buffer1[%8] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      llvm.store %12, %15 {alignment = 4 : i64} : vector<32xf32>, !llvm.ptr
      %16 = llvm.getelementptr %buffer2[%8] : (!llvm.ptr, i64) -> !llvm.ptr, i8
      %17 = arith.extui %14 : vector<32xi1> to vector<32xi8>
      llvm.store %17, %16 {alignment = 1 : i64} : vector<32xi8>, !llvm.ptr
    }
    %18 = arith.cmpi slt, %7, %3 : i64
    scf.if %18 {
      %19 = arith.subi %3, %7 : i64
      %20 = vector.broadcast %19 : i64 to vector<32xi64>
      %21 = arith.cmpi slt, %c5, %20 : vector<32xi64>
      %22 = llvm.getelementptr %buffer0[%7] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %23 = llvm.intr.masked.load %22, %21, %c6 {alignment = 4 : i32} : (!llvm.ptr, vector<32xi1>, vector<32xf32>) -> vector<32xf32>
      %24 = vector.broadcast %c3 : f32 to vector<32xf32>
      %25 = arith.addf %23, %24 : vector<32xf32>
      %26 = vector.broadcast %c4 : f32 to vector<32xf32>
      %27 = arith.cmpf ogt, %25, %26 : vector<32xf32>
      %28 = llvm.getelementptr %buffer1[%7] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      llvm.intr.masked.store %25, %28, %21 {alignment = 4 : i32} : vector<32xf32>, vector<32xi1> into !llvm.ptr
      %29 = llvm.getelementptr %buffer2[%7] : (!llvm.ptr, i64) -> !llvm.ptr, i8
      %30 = arith.extui %27 : vector<32xi1> to vector<32xi8>
      llvm.intr.masked.store %30, %29, %21 {alignment = 1 : i32} : vector<32xi8>, vector<32xi1> into !llvm.ptr
    }
    llvm.return
  }
  llvm.func internal @NAME_task(%frame: !llvm.ptr) {
    %c0 = arith.constant 2048 : i64
    %c1 = arith.constant 19 : i64
    %c2 = arith.constant 32 : i64
    %c3 = arith.constant 0x3F800000 : f32
    %c4 = arith.constant 0x00000000 : f32
    %c5 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : vector<32xi64>
    %c6 = arith.constant dense<0.0> : vector<32xf32>
    %c7 = arith.constant 1 : i64
    %c8 = arith.constant 2047 : i64
    %31 = arith.addi %c1, %c8 : i64
    %32 = arith.divsi %31, %c0 : i64
    %33 = arith.muli %c7, %32 : i64
    %thread32 = llvm.call @omp_get_thread_num() : () -> i32
    %threads32 = llvm.call @omp_get_num_threads() : () -> i32
    %thread = arith.extsi %thread32 : i32 to i64
    %threads = arith.extsi %threads32 : i32 to i64
    %one = arith.constant 1 : i64
    %rounded = arith.addi %33, %threads : i64
    %upper = arith.subi %rounded, %one : i64
    %share = arith.divsi %upper, %threads : i64
    %begin = arith.muli %thread, %share : i64
    %stop = arith.addi %begin, %share : i64
    %end = arith.minsi %stop, %33 : i64
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
    %c3 = arith.constant 0x3F800000 : f32
    %c4 = arith.constant 0x00000000 : f32
    %c5 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : vector<32xi64>
    %c6 = arith.constant dense<0.0> : vector<32xf32>
    %c7 = arith.constant 1 : i64
    %c8 = arith.constant 2047 : i64
    %31 = arith.addi %c1, %c8 : i64
    %32 = arith.divsi %31, %c0 : i64
    %33 = arith.muli %c7, %32 : i64
    %nothing = arith.constant 0 : i64
    %errorat = llvm.getelementptr %frame[3] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %nothing, %errorat : i64, !llvm.ptr
    %one = arith.constant 1 : i64
    %grain = arith.constant 16384 : i64
    %wanted = arith.divsi %c1, %grain : i64
    %useful = arith.minsi %wanted, %33 : i64
    %several = arith.cmpi sgt, %useful, %one : i64
    scf.if %several {
      %most32 = llvm.call @omp_get_max_threads() : () -> i32
      %most = arith.extsi %most32 : i32 to i64
      %threads = arith.minsi %useful, %most : i64
      %alone = arith.cmpi sle, %threads, %one : i64
      scf.if %alone {
        llvm.call @NAME_body(%frame, %nothing, %33) : (!llvm.ptr, i64, i64) -> ()
      } else {
        %task = llvm.mlir.addressof @NAME_task : !llvm.ptr
        %threads32 = arith.trunci %threads : i64 to i32
        %flags = arith.constant 0 : i32
        llvm.call @GOMP_parallel(%task, %frame, %threads32, %flags) : (!llvm.ptr, !llvm.ptr, i32, i32) -> ()
      }
    } else {
      llvm.call @NAME_body(%frame, %nothing, %33) : (!llvm.ptr, i64, i64) -> ()
    }
    %error = llvm.load %errorat : !llvm.ptr -> i64
    llvm.return %error : i64
  }
