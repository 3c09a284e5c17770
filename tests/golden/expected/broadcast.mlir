  llvm.func internal @NAME_body(%frame: !llvm.ptr, %begin: i64, %end: i64) attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant 5 : i64
    %c2 = arith.constant 0 : i64
    %c3 = arith.constant 7 : i64
    %c4 = arith.constant 8 : i64
    %c5 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi64>
    %c6 = arith.constant 35 : i64
    %c7 = arith.constant dense<0.0> : vector<8xf32>
    %buffer0at = llvm.getelementptr %frame[0] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer0 = llvm.load %buffer0at : !llvm.ptr -> !llvm.ptr
    %buffer1at = llvm.getelementptr %frame[1] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer1 = llvm.load %buffer1at : !llvm.ptr -> !llvm.ptr
    %buffer2at = llvm.getelementptr %frame[2] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer2 = llvm.load %buffer2at : !llvm.ptr -> !llvm.ptr
    %buffer3at = llvm.getelementptr %frame[3] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer3 = llvm.load %buffer3at : !llvm.ptr -> !llvm.ptr
    scf.for %1 = %begin to %end step %c0 : i64 {
      %2 = arith.divsi %1, %c1 : i64
      %3 = arith.remsi %1, %c1 : i64
      %4 = llvm.getelementptr %buffer2[%3] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %5 = llvm.load %4 {alignment = 4 : i64} : !llvm.ptr -> f32
      %6 = arith.cmpi slt, %c2, %c3 : i64
      scf.if %6 {
        %7 = arith.subi %c3, %c2 : i64
        %8 = vector.broadcast %7 : i64 to vector<8xi64>
        %9 = arith.cmpi slt, %c5, %8 : vector<8xi64>
        %10 = arith.muli %2, %c6 : i64
        %11 = arith.muli %3, %c3 : i64
        %12 = arith.addi %10, %11 : i64
        %13 = arith.addi %12, %c2 : i64
        %14 = llvm.getelementptr %buffer0[%13] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %15 = llvm.intr.masked.load %14, %9, %c7 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
        %16 = llvm.getelementptr %buffer1[%c2] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %17 = llvm.intr.masked.load %16, %9, %c7 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
        %18 = arith.mulf %15, %17 : vector<8xf32>
        %19 = vector.broadcast %5 : f32 to vector<8xf32>
        %20 = arith.addf %18, %19 : vector<8xf32>
        %21 = arith.muli %2, %c6 : i64
        %22 = arith.muli %3, %c3 : i64
        %23 = arith.addi %21, %22 : i64
        %24 = arith.addi %23, %c2 : i64
        %25 = llvm.getelementptr %buffer3[%24] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        llvm.intr.masked.store %20, %25, %9 {alignment = 4 : i32} : vector<8xf32>, vector<8xi1> into !llvm.ptr
      }
    }
    llvm.return
  }
  llvm.func internal @NAME_task(%frame: !llvm.ptr) {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant 5 : i64
    %c2 = arith.constant 0 : i64
    %c3 = arith.constant 7 : i64
    %c4 = arith.constant 8 : i64
    %c5 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi64>
    %c6 = arith.constant 35 : i64
    %c7 = arith.constant dense<0.0> : vector<8xf32>
    %c8 = arith.constant 15 : i64
    %c9 = arith.constant 105 : i64
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
    %c1 = arith.constant 5 : i64
    %c2 = arith.constant 0 : i64
    %c3 = arith.constant 7 : i64
    %c4 = arith.constant 8 : i64
    %c5 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi64>
    %c6 = arith.constant 35 : i64
    %c7 = arith.constant dense<0.0> : vector<8xf32>
    %c8 = arith.constant 15 : i64
    %c9 = arith.constant 105 : i64
    %nothing = arith.constant 0 : i64
    %errorat = llvm.getelementptr %frame[4] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %nothing, %errorat : i64, !llvm.ptr
    %one = arith.constant 1 : i64
    %grain = arith.constant 10922 : i64
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
