  llvm.func internal @NAME_body(%frame: !llvm.ptr, %begin: i64, %end: i64) attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant 0 : i64
    %c2 = arith.constant 4 : i64
    %c3 = arith.constant 16 : i64
    %c4 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]> : vector<16xi64>
    %c5 = arith.constant dense<0.0> : vector<16xf32>
    %c6 = arith.constant 9 : i64
    %c7 = arith.constant 5 : i64
    %c8 = arith.constant -4 : i64
    %c9 = arith.constant 0x3F800000 : f32
    %buffer0at = llvm.getelementptr %frame[0] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer0 = llvm.load %buffer0at : !llvm.ptr -> !llvm.ptr
    %buffer1at = llvm.getelementptr %frame[1] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer1 = llvm.load %buffer1at : !llvm.ptr -> !llvm.ptr
    %buffer2at = llvm.getelementptr %frame[2] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer2 = llvm.load %buffer2at : !llvm.ptr -> !llvm.ptr
    scf.for %1 = %begin to %end step %c0 : i64 {
      %2 = arith.maxsi %c1, %c1 : i64
      %3 = arith.minsi %c2, %c2 : i64
      %4 = arith.cmpi slt, %2, %3 : i64
      scf.if %4 {
        %5 = arith.subi %3, %2 : i64
        %6 = vector.broadcast %5 : i64 to vector<16xi64>
        %7 = arith.cmpi slt, %c4, %6 : vector<16xi64>
        %8 = arith.muli %1, %c2 : i64
        %9 = arith.addi %8, %2 : i64
        %10 = llvm.getelementptr %buffer0[%9] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %11 = llvm.intr.masked.load %10, %7, %c5 {alignment = 4 : i32} : (!llvm.ptr, vector<16xi1>, vector<16xf32>) -> vector<16xf32>
        %12 = arith.muli %1, %c6 : i64
        %13 = arith.addi %12, %2 : i64
        %14 = llvm.getelementptr %buffer2[%13] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        llvm.intr.masked.store %11, %14, %7 {alignment = 4 : i32} : vector<16xf32>, vector<16xi1> into !llvm.ptr
      }
      %15 = arith.maxsi %c2, %c2 : i64
      %16 = arith.minsi %c6, %c6 : i64
      %17 = arith.cmpi slt, %15, %16 : i64
      scf.if %17 {
        %18 = arith.subi %16, %15 : i64
        %19 = vector.broadcast %18 : i64 to vector<16xi64>
        %20 = arith.cmpi slt, %c4, %19 : vector<16xi64>
        %21 = arith.muli %1, %c7 : i64
        %22 = arith.addi %21, %15 : i64
        %23 = arith.addi %22, %c8 : i64
        %24 = llvm.getelementptr %buffer1[%23] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %25 = llvm.intr.masked.load %24, %20, %c5 {alignment = 4 : i32} : (!llvm.ptr, vector<16xi1>, vector<16xf32>) -> vector<16xf32>
        %26 = vector.broadcast %c9 : f32 to vector<16xf32>
        %27 = arith.addf %25, %26 : vector<16xf32>
        %28 = arith.muli %1, %c6 : i64
        %29 = arith.addi %28, %15 : i64
        %30 = llvm.getelementptr %buffer2[%29] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        llvm.intr.masked.store %27, %30, %20 {alignment = 4 : i32} : vector<16xf32>, vector<16xi1> into !llvm.ptr
      }
    }
    llvm.return
  }
  llvm.func internal @NAME_task(%frame: !llvm.ptr) {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant 0 : i64
    %c2 = arith.constant 4 : i64
    %c3 = arith.constant 16 : i64
    %c4 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]> : vector<16xi64>
    %c5 = arith.constant dense<0.0> : vector<16xf32>
    %c6 = arith.constant 9 : i64
    %c7 = arith.constant 5 : i64
    %c8 = arith.constant -4 : i64
    %c9 = arith.constant 0x3F800000 : f32
    %c10 = arith.constant 3 : i64
    %c11 = arith.constant 27 : i64
    %thread32 = llvm.call @omp_get_thread_num() : () -> i32
    %threads32 = llvm.call @omp_get_num_threads() : () -> i32
    %thread = arith.extsi %thread32 : i32 to i64
    %threads = arith.extsi %threads32 : i32 to i64
    %one = arith.constant 1 : i64
    %rounded = arith.addi %c10, %threads : i64
    %upper = arith.subi %rounded, %one : i64
    %share = arith.divsi %upper, %threads : i64
    %begin = arith.muli %thread, %share : i64
    %stop = arith.addi %begin, %share : i64
    %end = arith.minsi %stop, %c10 : i64
    %some = arith.cmpi slt, %begin, %end : i64
    scf.if %some {
      llvm.call @NAME_body(%frame, %begin, %end) : (!llvm.ptr, i64, i64) -> ()
    }
    llvm.return
  }
  llvm.func internal @NAME(%frame: !llvm.ptr) -> i64 attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant 0 : i64
    %c2 = arith.constant 4 : i64
    %c3 = arith.constant 16 : i64
    %c4 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]> : vector<16xi64>
    %c5 = arith.constant dense<0.0> : vector<16xf32>
    %c6 = arith.constant 9 : i64
    %c7 = arith.constant 5 : i64
    %c8 = arith.constant -4 : i64
    %c9 = arith.constant 0x3F800000 : f32
    %c10 = arith.constant 3 : i64
    %c11 = arith.constant 27 : i64
    %nothing = arith.constant 0 : i64
    %errorat = llvm.getelementptr %frame[3] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %nothing, %errorat : i64, !llvm.ptr
    %one = arith.constant 1 : i64
    %grain = arith.constant 16384 : i64
    %wanted = arith.divsi %c11, %grain : i64
    %useful = arith.minsi %wanted, %c10 : i64
    %several = arith.cmpi sgt, %useful, %one : i64
    scf.if %several {
      %most32 = llvm.call @omp_get_max_threads() : () -> i32
      %most = arith.extsi %most32 : i32 to i64
      %threads = arith.minsi %useful, %most : i64
      %alone = arith.cmpi sle, %threads, %one : i64
      scf.if %alone {
        llvm.call @NAME_body(%frame, %nothing, %c10) : (!llvm.ptr, i64, i64) -> ()
      } else {
        %task = llvm.mlir.addressof @NAME_task : !llvm.ptr
        %threads32 = arith.trunci %threads : i64 to i32
        %flags = arith.constant 0 : i32
        llvm.call @GOMP_parallel(%task, %frame, %threads32, %flags) : (!llvm.ptr, !llvm.ptr, i32, i32) -> ()
      }
    } else {
      llvm.call @NAME_body(%frame, %nothing, %c10) : (!llvm.ptr, i64, i64) -> ()
    }
    %error = llvm.load %errorat : !llvm.ptr -> i64
    llvm.return %error : i64
  }
