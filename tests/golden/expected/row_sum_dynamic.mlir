  llvm.func internal @NAME_body(%frame: !llvm.ptr, %begin: i64, %end: i64) attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant dense<0x00000000> : vector<32xf32>
    %c2 = arith.constant 0 : i64
    %c3 = arith.constant 2048 : i64
    %c4 = arith.constant 32 : i64
    %c5 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : vector<32xi64>
    %c6 = arith.constant dense<0.0> : vector<32xf32>
    %slot1n = llvm.mlir.constant(1 : i64) : i64
    %slot1 = llvm.alloca %slot1n x vector<32xf32> {alignment = 64 : i64} : (i64) -> !llvm.ptr
    %slot2n = llvm.mlir.constant(1 : i64) : i64
    %slot2 = llvm.alloca %slot2n x vector<32xf32> {alignment = 64 : i64} : (i64) -> !llvm.ptr
    %buffer0at = llvm.getelementptr %frame[0] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer0 = llvm.load %buffer0at : !llvm.ptr -> !llvm.ptr
    %buffer1at = llvm.getelementptr %frame[1] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer1 = llvm.load %buffer1at : !llvm.ptr -> !llvm.ptr
    %symbol0at = llvm.getelementptr %frame[2] : (!llvm.ptr) -> !llvm.ptr, i64
    %symbol0 = llvm.load %symbol0at : !llvm.ptr -> i64
    %symbol1at = llvm.getelementptr %frame[3] : (!llvm.ptr) -> !llvm.ptr, i64
    %symbol1 = llvm.load %symbol1at : !llvm.ptr -> i64
    scf.for %1 = %begin to %end step %c0 : i64 {
      llvm.store %c1, %slot1 : vector<32xf32>, !llvm.ptr
      llvm.store %c1, %slot2 : vector<32xf32>, !llvm.ptr
      scf.for %2 = %c2 to %symbol0 step %c3 : i64 {
        llvm.store %c1, %slot2 : vector<32xf32>, !llvm.ptr
        %3 = arith.addi %2, %c3 : i64
        %4 = arith.minsi %3, %symbol0 : i64
        %5 = arith.subi %4, %2 : i64
        %6 = arith.remsi %5, %c4 : i64
        %7 = arith.subi %5, %6 : i64
        %8 = arith.addi %2, %7 : i64
        scf.for %9 = %2 to %8 step %c4 : i64 {
          %10 = llvm.load %slot2 : !llvm.ptr -> vector<32xf32>
          %11 = arith.muli %1, %symbol0 : i64
          %12 = arith.addi %11, %9 : i64
          %13 = llvm.getelementptr %buffer0[%12] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %14 = llvm.load %13 {alignment = 4 : i64} : !llvm.ptr -> vector<32xf32>
          %15 = arith.mulf %14, %14 : vector<32xf32>
          %16 = arith.addf %10, %15 : vector<32xf32>
          llvm.store %16, %slot2 : vector<32xf32>, !llvm.ptr
        }
        %17 = arith.cmpi slt, %8, %4 : i64
        scf.if %17 {
          %18 = arith.subi %4, %8 : i64
          %19 = vector.broadcast %18 : i64 to vector<32xi64>
          %20 = arith.cmpi slt, %c5, %19 : vector<32xi64>
          %21 = llvm.load %slot2 : !llvm.ptr -> vector<32xf32>
          %22 = arith.muli %1, %symbol0 : i64
          %23 = arith.addi %22, %8 : i64
          %24 = llvm.getelementptr %buffer0[%23] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %25 = llvm.intr.masked.load %24, %20, %c6 {alignment = 4 : i32} : (!llvm.ptr, vector<32xi1>, vector<32xf32>) -> vector<32xf32>
          %26 = arith.mulf %25, %25 : vector<32xf32>
          %27 = arith.select %20, %26, %c1 : vector<32xi1>, vector<32xf32>
          %28 = arith.addf %21, %27 : vector<32xf32>
          llvm.store %28, %slot2 : vector<32xf32>, !llvm.ptr
        }
        %29 = llvm.load %slot2 : !llvm.ptr -> vector<32xf32>
        %30 = llvm.load %slot1 : !llvm.ptr -> vector<32xf32>
        %31 = arith.addf %30, %29 : vector<32xf32>
        llvm.store %31, %slot1 : vector<32xf32>, !llvm.ptr
      }
      %32 = llvm.load %slot1 : !llvm.ptr -> vector<32xf32>
      %33 = vector.extract_strided_slice %32 {offsets = [0], sizes = [16], strides = [1]} : vector<32xf32> to vector<16xf32>
      %34 = vector.extract_strided_slice %32 {offsets = [16], sizes = [16], strides = [1]} : vector<32xf32> to vector<16xf32>
      %35 = arith.addf %33, %34 : vector<16xf32>
      %36 = vector.extract_strided_slice %35 {offsets = [0], sizes = [8], strides = [1]} : vector<16xf32> to vector<8xf32>
      %37 = vector.extract_strided_slice %35 {offsets = [8], sizes = [8], strides = [1]} : vector<16xf32> to vector<8xf32>
      %38 = arith.addf %36, %37 : vector<8xf32>
      %39 = vector.extract_strided_slice %38 {offsets = [0], sizes = [4], strides = [1]} : vector<8xf32> to vector<4xf32>
      %40 = vector.extract_strided_slice %38 {offsets = [4], sizes = [4], strides = [1]} : vector<8xf32> to vector<4xf32>
      %41 = arith.addf %39, %40 : vector<4xf32>
      %42 = vector.extract_strided_slice %41 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
      %43 = vector.extract_strided_slice %41 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
      %44 = arith.addf %42, %43 : vector<2xf32>
      %45 = vector.extract %44[0] : f32 from vector<2xf32>
      %46 = vector.extract %44[1] : f32 from vector<2xf32>
      %47 = arith.addf %45, %46 : f32
      %48 = llvm.getelementptr %buffer1[%1] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      llvm.store %47, %48 {alignment = 4 : i64} : f32, !llvm.ptr
    }
    llvm.return
  }
  llvm.func internal @NAME_task(%frame: !llvm.ptr) {
    %symbol0at = llvm.getelementptr %frame[2] : (!llvm.ptr) -> !llvm.ptr, i64
    %symbol0 = llvm.load %symbol0at : !llvm.ptr -> i64
    %symbol1at = llvm.getelementptr %frame[3] : (!llvm.ptr) -> !llvm.ptr, i64
    %symbol1 = llvm.load %symbol1at : !llvm.ptr -> i64
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant dense<0x00000000> : vector<32xf32>
    %c2 = arith.constant 0 : i64
    %c3 = arith.constant 2048 : i64
    %c4 = arith.constant 32 : i64
    %c5 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : vector<32xi64>
    %c6 = arith.constant dense<0.0> : vector<32xf32>
    %49 = arith.muli %symbol1, %symbol0 : i64
    %thread32 = llvm.call @omp_get_thread_num() : () -> i32
    %threads32 = llvm.call @omp_get_num_threads() : () -> i32
    %thread = arith.extsi %thread32 : i32 to i64
    %threads = arith.extsi %threads32 : i32 to i64
    %one = arith.constant 1 : i64
    %rounded = arith.addi %symbol1, %threads : i64
    %upper = arith.subi %rounded, %one : i64
    %share = arith.divsi %upper, %threads : i64
    %begin = arith.muli %thread, %share : i64
    %stop = arith.addi %begin, %share : i64
    %end = arith.minsi %stop, %symbol1 : i64
    %some = arith.cmpi slt, %begin, %end : i64
    scf.if %some {
      llvm.call @NAME_body(%frame, %begin, %end) : (!llvm.ptr, i64, i64) -> ()
    }
    llvm.return
  }
  llvm.func internal @NAME(%frame: !llvm.ptr) -> i64 attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %symbol0at = llvm.getelementptr %frame[2] : (!llvm.ptr) -> !llvm.ptr, i64
    %symbol0 = llvm.load %symbol0at : !llvm.ptr -> i64
    %symbol1at = llvm.getelementptr %frame[3] : (!llvm.ptr) -> !llvm.ptr, i64
    %symbol1 = llvm.load %symbol1at : !llvm.ptr -> i64
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant dense<0x00000000> : vector<32xf32>
    %c2 = arith.constant 0 : i64
    %c3 = arith.constant 2048 : i64
    %c4 = arith.constant 32 : i64
    %c5 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : vector<32xi64>
    %c6 = arith.constant dense<0.0> : vector<32xf32>
    %49 = arith.muli %symbol1, %symbol0 : i64
    %nothing = arith.constant 0 : i64
    %errorat = llvm.getelementptr %frame[4] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %nothing, %errorat : i64, !llvm.ptr
    %one = arith.constant 1 : i64
    %grain = arith.constant 16384 : i64
    %wanted = arith.divsi %49, %grain : i64
    %useful = arith.minsi %wanted, %symbol1 : i64
    %several = arith.cmpi sgt, %useful, %one : i64
    scf.if %several {
      %most32 = llvm.call @omp_get_max_threads() : () -> i32
      %most = arith.extsi %most32 : i32 to i64
      %threads = arith.minsi %useful, %most : i64
      %alone = arith.cmpi sle, %threads, %one : i64
      scf.if %alone {
        llvm.call @NAME_body(%frame, %nothing, %symbol1) : (!llvm.ptr, i64, i64) -> ()
      } else {
        %task = llvm.mlir.addressof @NAME_task : !llvm.ptr
        %threads32 = arith.trunci %threads : i64 to i32
        %flags = arith.constant 0 : i32
        llvm.call @GOMP_parallel(%task, %frame, %threads32, %flags) : (!llvm.ptr, !llvm.ptr, i32, i32) -> ()
      }
    } else {
      llvm.call @NAME_body(%frame, %nothing, %symbol1) : (!llvm.ptr, i64, i64) -> ()
    }
    %error = llvm.load %errorat : !llvm.ptr -> i64
    llvm.return %error : i64
  }
