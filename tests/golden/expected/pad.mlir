  llvm.func internal @NAME_body(%frame: !llvm.ptr, %begin: i64, %end: i64) attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant 0 : i64
    %c2 = arith.constant 8 : i64
    %c3 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi64>
    %c4 = arith.constant 0x00000000 : f32
    %c5 = arith.constant 0x40400000 : f32
    %c6 = arith.constant 7 : i64
    %c7 = arith.constant 5 : i64
    %c8 = arith.constant 4 : i64
    %c9 = arith.constant -1 : i64
    %c10 = arith.constant dense<0.0> : vector<8xf32>
    %buffer0at = llvm.getelementptr %frame[0] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer0 = llvm.load %buffer0at : !llvm.ptr -> !llvm.ptr
    %buffer1at = llvm.getelementptr %frame[1] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer1 = llvm.load %buffer1at : !llvm.ptr -> !llvm.ptr
    scf.for %1 = %begin to %end step %c0 : i64 {
      %2 = arith.maxsi %c1, %c1 : i64
      %3 = arith.minsi %c0, %c0 : i64
      %4 = arith.cmpi slt, %2, %3 : i64
      scf.if %4 {
        %5 = arith.subi %3, %2 : i64
        %6 = vector.broadcast %5 : i64 to vector<8xi64>
        %7 = arith.cmpi slt, %c3, %6 : vector<8xi64>
        %8 = arith.mulf %c4, %c5 : f32
        %9 = vector.broadcast %8 : f32 to vector<8xf32>
        %10 = arith.muli %1, %c6 : i64
        %11 = arith.addi %10, %2 : i64
        %12 = llvm.getelementptr %buffer1[%11] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        llvm.intr.masked.store %9, %12, %7 {alignment = 4 : i32} : vector<8xf32>, vector<8xi1> into !llvm.ptr
      }
      %13 = arith.maxsi %c0, %c0 : i64
      %14 = arith.minsi %c7, %c7 : i64
      %15 = arith.cmpi slt, %13, %14 : i64
      scf.if %15 {
        %16 = arith.subi %14, %13 : i64
        %17 = vector.broadcast %16 : i64 to vector<8xi64>
        %18 = arith.cmpi slt, %c3, %17 : vector<8xi64>
        %19 = arith.muli %1, %c8 : i64
        %20 = arith.addi %19, %13 : i64
        %21 = arith.addi %20, %c9 : i64
        %22 = llvm.getelementptr %buffer0[%21] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %23 = llvm.intr.masked.load %22, %18, %c10 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
        %24 = vector.broadcast %c5 : f32 to vector<8xf32>
        %25 = arith.mulf %23, %24 : vector<8xf32>
        %26 = arith.muli %1, %c6 : i64
        %27 = arith.addi %26, %13 : i64
        %28 = llvm.getelementptr %buffer1[%27] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        llvm.intr.masked.store %25, %28, %18 {alignment = 4 : i32} : vector<8xf32>, vector<8xi1> into !llvm.ptr
      }
      %29 = arith.maxsi %c7, %c7 : i64
      %30 = arith.minsi %c6, %c6 : i64
      %31 = arith.cmpi slt, %29, %30 : i64
      scf.if %31 {
        %32 = arith.subi %30, %29 : i64
        %33 = vector.broadcast %32 : i64 to vector<8xi64>
        %34 = arith.cmpi slt, %c3, %33 : vector<8xi64>
        %35 = arith.mulf %c4, %c5 : f32
        %36 = vector.broadcast %35 : f32 to vector<8xf32>
        %37 = arith.muli %1, %c6 : i64
        %38 = arith.addi %37, %29 : i64
        %39 = llvm.getelementptr %buffer1[%38] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        llvm.intr.masked.store %36, %39, %34 {alignment = 4 : i32} : vector<8xf32>, vector<8xi1> into !llvm.ptr
      }
    }
    llvm.return
  }
  llvm.func internal @NAME_task(%frame: !llvm.ptr) {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant 0 : i64
    %c2 = arith.constant 8 : i64
    %c3 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi64>
    %c4 = arith.constant 0x00000000 : f32
    %c5 = arith.constant 0x40400000 : f32
    %c6 = arith.constant 7 : i64
    %c7 = arith.constant 5 : i64
    %c8 = arith.constant 4 : i64
    %c9 = arith.constant -1 : i64
    %c10 = arith.constant dense<0.0> : vector<8xf32>
    %c11 = arith.constant 3 : i64
    %c12 = arith.constant 21 : i64
    %thread32 = llvm.call @omp_get_thread_num() : () -> i32
    %threads32 = llvm.call @omp_get_num_threads() : () -> i32
    %thread = arith.extsi %thread32 : i32 to i64
    %threads = arith.extsi %threads32 : i32 to i64
    %one = arith.constant 1 : i64
    %rounded = arith.addi %c11, %threads : i64
    %upper = arith.subi %rounded, %one : i64
    %share = arith.divsi %upper, %threads : i64
    %begin = arith.muli %thread, %share : i64
    %stop = arith.addi %begin, %share : i64
    %end = arith.minsi %stop, %c11 : i64
    %some = arith.cmpi slt, %begin, %end : i64
    scf.if %some {
      llvm.call @NAME_body(%frame, %begin, %end) : (!llvm.ptr, i64, i64) -> ()
    }
    llvm.return
  }
  llvm.func internal @NAME(%frame: !llvm.ptr) -> i64 attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant 0 : i64
    %c2 = arith.constant 8 : i64
    %c3 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi64>
    %c4 = arith.constant 0x00000000 : f32
    %c5 = arith.constant 0x40400000 : f32
    %c6 = arith.constant 7 : i64
    %c7 = arith.constant 5 : i64
    %c8 = arith.constant 4 : i64
    %c9 = arith.constant -1 : i64
    %c10 = arith.constant dense<0.0> : vector<8xf32>
    %c11 = arith.constant 3 : i64
    %c12 = arith.constant 21 : i64
    %nothing = arith.constant 0 : i64
    %errorat = llvm.getelementptr %frame[2] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %nothing, %errorat : i64, !llvm.ptr
    %one = arith.constant 1 : i64
    %grain = arith.constant 21845 : i64
    %wanted = arith.divsi %c12, %grain : i64
    %useful = arith.minsi %wanted, %c11 : i64
    %several = arith.cmpi sgt, %useful, %one : i64
    scf.if %several {
      %most32 = llvm.call @omp_get_max_threads() : () -> i32
      %most = arith.extsi %most32 : i32 to i64
      %threads = arith.minsi %useful, %most : i64
      %alone = arith.cmpi sle, %threads, %one : i64
      scf.if %alone {
        llvm.call @NAME_body(%frame, %nothing, %c11) : (!llvm.ptr, i64, i64) -> ()
      } else {
        %task = llvm.mlir.addressof @NAME_task : !llvm.ptr
        %threads32 = arith.trunci %threads : i64 to i32
        %flags = arith.constant 0 : i32
        llvm.call @GOMP_parallel(%task, %frame, %threads32, %flags) : (!llvm.ptr, !llvm.ptr, i32, i32) -> ()
      }
    } else {
      llvm.call @NAME_body(%frame, %nothing, %c11) : (!llvm.ptr, i64, i64) -> ()
    }
    %error = llvm.load %errorat : !llvm.ptr -> i64
    llvm.return %error : i64
  }
