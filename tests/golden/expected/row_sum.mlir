  llvm.func internal @NAME_body(%frame: !llvm.ptr, %begin: i64, %end: i64) attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant dense<0x00000000> : vector<32xf32>
    %c2 = arith.constant 0 : i64
    %c3 = arith.constant 19 : i64
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
    scf.for %1 = %begin to %end step %c0 : i64 {
      llvm.store %c1, %slot1 : vector<32xf32>, !llvm.ptr
      llvm.store %c1, %slot2 : vector<32xf32>, !llvm.ptr
      llvm.store %c1, %slot2 : vector<32xf32>, !llvm.ptr
      %2 = arith.cmpi slt, %c2, %c3 : i64
      scf.if %2 {
        %3 = arith.subi %c3, %c2 : i64
        %4 = vector.broadcast %3 : i64 to vector<32xi64>
        %5 = arith.cmpi slt, %c5, %4 : vector<32xi64>
        %6 = llvm.load %slot2 : !llvm.ptr -> vector<32xf32>
        %7 = arith.muli %1, %c3 : i64
        %8 = arith.addi %7, %c2 : i64
        %9 = llvm.getelementptr %buffer0[%8] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %10 = llvm.intr.masked.load %9, %5, %c6 {alignment = 4 : i32} : (!llvm.ptr, vector<32xi1>, vector<32xf32>) -> vector<32xf32>
        %11 = arith.mulf %10, %10 : vector<32xf32>
        %12 = arith.select %5, %11, %c1 : vector<32xi1>, vector<32xf32>
        %13 = arith.addf %6, %12 : vector<32xf32>
        llvm.store %13, %slot2 : vector<32xf32>, !llvm.ptr
      }
      %14 = llvm.load %slot2 : !llvm.ptr -> vector<32xf32>
      %15 = llvm.load %slot1 : !llvm.ptr -> vector<32xf32>
      %16 = arith.addf %15, %14 : vector<32xf32>
      llvm.store %16, %slot1 : vector<32xf32>, !llvm.ptr
      %17 = llvm.load %slot1 : !llvm.ptr -> vector<32xf32>
      %18 = vector.extract_strided_slice %17 {offsets = [0], sizes = [16], strides = [1]} : vector<32xf32> to vector<16xf32>
      %19 = vector.extract_strided_slice %17 {offsets = [16], sizes = [16], strides = [1]} : vector<32xf32> to vector<16xf32>
      %20 = arith.addf %18, %19 : vector<16xf32>
      %21 = vector.extract_strided_slice %20 {offsets = [0], sizes = [8], strides = [1]} : vector<16xf32> to vector<8xf32>
      %22 = vector.extract_strided_slice %20 {offsets = [8], sizes = [8], strides = [1]} : vector<16xf32> to vector<8xf32>
      %23 = arith.addf %21, %22 : vector<8xf32>
      %24 = vector.extract_strided_slice %23 {offsets = [0], sizes = [4], strides = [1]} : vector<8xf32> to vector<4xf32>
      %25 = vector.extract_strided_slice %23 {offsets = [4], sizes = [4], strides = [1]} : vector<8xf32> to vector<4xf32>
      %26 = arith.addf %24, %25 : vector<4xf32>
      %27 = vector.extract_strided_slice %26 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
      %28 = vector.extract_strided_slice %26 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
      %29 = arith.addf %27, %28 : vector<2xf32>
      %30 = vector.extract %29[0] : f32 from vector<2xf32>
      %31 = vector.extract %29[1] : f32 from vector<2xf32>
      %32 = arith.addf %30, %31 : f32
      %33 = llvm.getelementptr %buffer1[%1] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      llvm.store %32, %33 {alignment = 4 : i64} : f32, !llvm.ptr
    }
    llvm.return
  }
  llvm.func internal @NAME_task(%frame: !llvm.ptr) {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant dense<0x00000000> : vector<32xf32>
    %c2 = arith.constant 0 : i64
    %c3 = arith.constant 19 : i64
    %c4 = arith.constant 32 : i64
    %c5 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : vector<32xi64>
    %c6 = arith.constant dense<0.0> : vector<32xf32>
    %c7 = arith.constant 5 : i64
    %c8 = arith.constant 95 : i64
    %thread32 = llvm.call @omp_get_thread_num() : () -> i32
    %threads32 = llvm.call @omp_get_num_threads() : () -> i32
    %thread = arith.extsi %thread32 : i32 to i64
    %threads = arith.extsi %threads32 : i32 to i64
    %one = arith.constant 1 : i64
    %rounded = arith.addi %c7, %threads : i64
    %upper = arith.subi %rounded, %one : i64
    %share = arith.divsi %upper, %threads : i64
    %begin = arith.muli %thread, %share : i64
    %stop = arith.addi %begin, %share : i64
    %end = arith.minsi %stop, %c7 : i64
    %some = arith.cmpi slt, %begin, %end : i64
    scf.if %some {
      llvm.call @NAME_body(%frame, %begin, %end) : (!llvm.ptr, i64, i64) -> ()
    }
    llvm.return
  }
  llvm.func internal @NAME(%frame: !llvm.ptr) -> i64 attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant dense<0x00000000> : vector<32xf32>
    %c2 = arith.constant 0 : i64
    %c3 = arith.constant 19 : i64
    %c4 = arith.constant 32 : i64
    %c5 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : vector<32xi64>
    %c6 = arith.constant dense<0.0> : vector<32xf32>
    %c7 = arith.constant 5 : i64
    %c8 = arith.constant 95 : i64
    %nothing = arith.constant 0 : i64
    %errorat = llvm.getelementptr %frame[2] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %nothing, %errorat : i64, !llvm.ptr
    %one = arith.constant 1 : i64
    %grain = arith.constant 16384 : i64
    %wanted = arith.divsi %c8, %grain : i64
    %useful = arith.minsi %wanted, %c7 : i64
    %several = arith.cmpi sgt, %useful, %one : i64
    scf.if %several {
      %most32 = llvm.call @omp_get_max_threads() : () -> i32
      %most = arith.extsi %most32 : i32 to i64
      %threads = arith.minsi %useful, %most : i64
      %alone = arith.cmpi sle, %threads, %one : i64
      scf.if %alone {
        llvm.call @NAME_body(%frame, %nothing, %c7) : (!llvm.ptr, i64, i64) -> ()
      } else {
        %task = llvm.mlir.addressof @NAME_task : !llvm.ptr
        %threads32 = arith.trunci %threads : i64 to i32
        %flags = arith.constant 0 : i32
        llvm.call @GOMP_parallel(%task, %frame, %threads32, %flags) : (!llvm.ptr, !llvm.ptr, i32, i32) -> ()
      }
    } else {
      llvm.call @NAME_body(%frame, %nothing, %c7) : (!llvm.ptr, i64, i64) -> ()
    }
    %error = llvm.load %errorat : !llvm.ptr -> i64
    llvm.return %error : i64
  }
