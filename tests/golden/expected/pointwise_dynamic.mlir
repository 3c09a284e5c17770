  llvm.func internal @NAME_body(%frame: !llvm.ptr, %begin: i64, %end: i64) attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 2048 : i64
    %c1 = arith.constant 32 : i64
    %c2 = arith.constant 0x40000000 : f32
    %c3 = arith.constant 0x00000000 : f32
    %c4 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : vector<32xi64>
    %c5 = arith.constant dense<0.0> : vector<32xf32>
    %buffer0at = llvm.getelementptr %frame[0] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer0 = llvm.load %buffer0at : !llvm.ptr -> !llvm.ptr
    %buffer1at = llvm.getelementptr %frame[1] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer1 = llvm.load %buffer1at : !llvm.ptr -> !llvm.ptr
    %buffer2at = llvm.getelementptr %frame[2] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer2 = llvm.load %buffer2at : !llvm.ptr -> !llvm.ptr
    %symbol0at = llvm.getelementptr %frame[3] : (!llvm.ptr) -> !llvm.ptr, i64
    %symbol0 = llvm.load %symbol0at : !llvm.ptr -> i64
    %symbol1at = llvm.getelementptr %frame[4] : (!llvm.ptr) -> !llvm.ptr, i64
    %symbol1 = llvm.load %symbol1at : !llvm.ptr -> i64
    %1 = arith.muli %begin, %c0 : i64
    %2 = arith.muli %end, %c0 : i64
    %3 = arith.muli %symbol0, %symbol1 : i64
    %4 = arith.minsi %2, %3 : i64
    %5 = arith.subi %4, %1 : i64
    %6 = arith.remsi %5, %c1 : i64
    %7 = arith.subi %5, %6 : i64
    %8 = arith.addi %1, %7 : i64
    scf.for %9 = %1 to %8 step %c1 : i64 {
      %10 = llvm.getelementptr %buffer0[%9] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %11 = llvm.load %10 {alignment = 4 : i64} : !llvm.ptr -> vector<32xf32>
      %12 = vector.broadcast %c2 : f32 to vector<32xf32>
      %13 = arith.mulf %11, %12 : vector<32xf32>
      %14 = llvm.getelementptr %buffer1[%9] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %15 = llvm.load %14 {alignment = 4 : i64} : !llvm.ptr -> vector<32xf32>
      %16 = arith.addf %13, %15 : vector<32xf32>
      %17 = vector.broadcast %c3 : f32 to vector<32xf32>
      %18 = arith.cmpf ogt, %17, %16 : vector<32xf32>
      %19 = vector.broadcast %c3 : f32 to vector<32xf32>
      %20 = arith.select %18, %19, %16 : vector<32xi1>, vector<32xf32>
      %21 = llvm.getelementptr %buffer2[%9] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      llvm.store %20, %21 {alignment = 4 : i64} : vector<32xf32>, !llvm.ptr
    }
    %22 = arith.cmpi slt, %8, %4 : i64
    scf.if %22 {
      %23 = arith.subi %4, %8 : i64
      %24 = vector.broadcast %23 : i64 to vector<32xi64>
      %25 = arith.cmpi slt, %c4, %24 : vector<32xi64>
      %26 = llvm.getelementptr %buffer0[%8] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %27 = llvm.intr.masked.load %26, %25, %c5 {alignment = 4 : i32} : (!llvm.ptr, vector<32xi1>, vector<32xf32>) -> vector<32xf32>
      %28 = vector.broadcast %c2 : f32 to vector<32xf32>
      %29 = arith.mulf %27, %28 : vector<32xf32>
      %30 = llvm.getelementptr %buffer1[%8] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %31 = llvm.intr.masked.load %30, %25, %c5 {alignment = 4 : i32} : (!llvm.ptr, vector<32xi1>, vector<32xf32>) -> vector<32xf32>
      %32 = arith.addf %29, %31 : vector<32xf32>
      %33 = vector.broadcast %c3 : f32 to vector<32xf32>
      %34 = arith.cmpf ogt, %33, %32 : vector<32xf32>
      %35 = vector.broadcast %c3 : f32 to vector<32xf32>
      %36 = arith.select %34, %35, %32 : vector<32xi1>, vector<32xf32>
      %37 = llvm.getelementptr %buffer2[%8] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      llvm.intr.masked.store %36, %37, %25 {alignment = 4 : i32} : vector<32xf32>, vector<32xi1> into !llvm.ptr
    }
    llvm.return
  }
  llvm.func internal @NAME_task(%frame: !llvm.ptr) {
    %symbol0at = llvm.getelementptr %frame[3] : (!llvm.ptr) -> !llvm.ptr, i64
    %symbol0 = llvm.load %symbol0at : !llvm.ptr -> i64
    %symbol1at = llvm.getelementptr %frame[4] : (!llvm.ptr) -> !llvm.ptr, i64
    %symbol1 = llvm.load %symbol1at : !llvm.ptr -> i64
    %c0 = arith.constant 2048 : i64
    %c1 = arith.constant 32 : i64
    %c2 = arith.constant 0x40000000 : f32
    %c3 = arith.constant 0x00000000 : f32
    %c4 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : vector<32xi64>
    %c5 = arith.constant dense<0.0> : vector<32xf32>
    %c6 = arith.constant 1 : i64
    %c7 = arith.constant 2047 : i64
    %38 = arith.muli %symbol0, %symbol1 : i64
    %39 = arith.addi %38, %c7 : i64
    %40 = arith.divsi %39, %c0 : i64
    %41 = arith.muli %c6, %40 : i64
    %42 = arith.muli %symbol0, %symbol1 : i64
    %thread32 = llvm.call @omp_get_thread_num() : () -> i32
    %threads32 = llvm.call @omp_get_num_threads() : () -> i32
    %thread = arith.extsi %thread32 : i32 to i64
    %threads = arith.extsi %threads32 : i32 to i64
    %one = arith.constant 1 : i64
    %rounded = arith.addi %41, %threads : i64
    %upper = arith.subi %rounded, %one : i64
    %share = arith.divsi %upper, %threads : i64
    %begin = arith.muli %thread, %share : i64
    %stop = arith.addi %begin, %share : i64
    %end = arith.minsi %stop, %41 : i64
    %some = arith.cmpi slt, %begin, %end : i64
    scf.if %some {
      llvm.call @NAME_body(%frame, %begin, %end) : (!llvm.ptr, i64, i64) -> ()
    }
    llvm.return
  }
  llvm.func internal @NAME(%frame: !llvm.ptr) -> i64 attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %symbol0at = llvm.getelementptr %frame[3] : (!llvm.ptr) -> !llvm.ptr, i64
    %symbol0 = llvm.load %symbol0at : !llvm.ptr -> i64
    %symbol1at = llvm.getelementptr %frame[4] : (!llvm.ptr) -> !llvm.ptr, i64
    %symbol1 = llvm.load %symbol1at : !llvm.ptr -> i64
    %c0 = arith.constant 2048 : i64
    %c1 = arith.constant 32 : i64
    %c2 = arith.constant 0x40000000 : f32
    %c3 = arith.constant 0x00000000 : f32
    %c4 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : vector<32xi64>
    %c5 = arith.constant dense<0.0> : vector<32xf32>
    %c6 = arith.constant 1 : i64
    %c7 = arith.constant 2047 : i64
    %38 = arith.muli %symbol0, %symbol1 : i64
    %39 = arith.addi %38, %c7 : i64
    %40 = arith.divsi %39, %c0 : i64
    %41 = arith.muli %c6, %40 : i64
    %42 = arith.muli %symbol0, %symbol1 : i64
    %nothing = arith.constant 0 : i64
    %errorat = llvm.getelementptr %frame[5] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %nothing, %errorat : i64, !llvm.ptr
    %one = arith.constant 1 : i64
    %grain = arith.constant 10922 : i64
    %wanted = arith.divsi %42, %grain : i64
    %useful = arith.minsi %wanted, %41 : i64
    %several = arith.cmpi sgt, %useful, %one : i64
    scf.if %several {
      %most32 = llvm.call @omp_get_max_threads() : () -> i32
      %most = arith.extsi %most32 : i32 to i64
      %threads = arith.minsi %useful, %most : i64
      %alone = arith.cmpi sle, %threads, %one : i64
      scf.if %alone {
        llvm.call @NAME_body(%frame, %nothing, %41) : (!llvm.ptr, i64, i64) -> ()
      } else {
        %task = llvm.mlir.addressof @NAME_task : !llvm.ptr
        %threads32 = arith.trunci %threads : i64 to i32
        %flags = arith.constant 0 : i32
        llvm.call @GOMP_parallel(%task, %frame, %threads32, %flags) : (!llvm.ptr, !llvm.ptr, i32, i32) -> ()
      }
    } else {
      llvm.call @NAME_body(%frame, %nothing, %41) : (!llvm.ptr, i64, i64) -> ()
    }
    %error = llvm.load %errorat : !llvm.ptr -> i64
    llvm.return %error : i64
  }
