  llvm.func internal @NAME_body(%frame: !llvm.ptr, %begin: i64, %end: i64) attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant dense<0xFF800000> : vector<32xf32>
    %c2 = arith.constant 0 : i64
    %c3 = arith.constant 95 : i64
    %c4 = arith.constant 32 : i64
    %c5 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : vector<32xi64>
    %c6 = arith.constant dense<0.0> : vector<32xf32>
    %slot1n = llvm.mlir.constant(1 : i64) : i64
    %slot1 = llvm.alloca %slot1n x vector<32xf32> {alignment = 64 : i64} : (i64) -> !llvm.ptr
    %buffer0at = llvm.getelementptr %frame[0] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer0 = llvm.load %buffer0at : !llvm.ptr -> !llvm.ptr
    %buffer1at = llvm.getelementptr %frame[1] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer1 = llvm.load %buffer1at : !llvm.ptr -> !llvm.ptr
    scf.for %1 = %begin to %end step %c0 : i64 {
      llvm.store %c1, %slot1 : vector<32xf32>, !llvm.ptr
      %2 = arith.subi %c3, %c2 : i64
      %3 = arith.remsi %2, %c4 : i64
      %4 = arith.subi %2, %3 : i64
      %5 = arith.addi %c2, %4 : i64
      scf.for %6 = %c2 to %5 step %c4 : i64 {
        %7 = llvm.getelementptr %buffer0[%6] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %8 = llvm.load %7 {alignment = 4 : i64} : !llvm.ptr -> vector<32xf32>
        %9 = math.absf %8 : vector<32xf32>
        %10 = llvm.load %slot1 : !llvm.ptr -> vector<32xf32>
        %11 = arith.maximumf %10, %9 : vector<32xf32>
        llvm.store %11, %slot1 : vector<32xf32>, !llvm.ptr
      }
      %12 = arith.cmpi slt, %5, %c3 : i64
      scf.if %12 {
        %13 = arith.subi %c3, %5 : i64
        %14 = vector.broadcast %13 : i64 to vector<32xi64>
        %15 = arith.cmpi slt, %c5, %14 : vector<32xi64>
        %16 = llvm.getelementptr %buffer0[%5] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %17 = llvm.intr.masked.load %16, %15, %c6 {alignment = 4 : i32} : (!llvm.ptr, vector<32xi1>, vector<32xf32>) -> vector<32xf32>
        %18 = math.absf %17 : vector<32xf32>
        %19 = llvm.load %slot1 : !llvm.ptr -> vector<32xf32>
        %20 = arith.select %15, %18, %c1 : vector<32xi1>, vector<32xf32>
        %21 = arith.maximumf %19, %20 : vector<32xf32>
        llvm.store %21, %slot1 : vector<32xf32>, !llvm.ptr
      }
      %22 = llvm.load %slot1 : !llvm.ptr -> vector<32xf32>
      %23 = vector.extract_strided_slice %22 {offsets = [0], sizes = [16], strides = [1]} : vector<32xf32> to vector<16xf32>
      %24 = vector.extract_strided_slice %22 {offsets = [16], sizes = [16], strides = [1]} : vector<32xf32> to vector<16xf32>
      %25 = arith.maximumf %23, %24 : vector<16xf32>
      %26 = vector.extract_strided_slice %25 {offsets = [0], sizes = [8], strides = [1]} : vector<16xf32> to vector<8xf32>
      %27 = vector.extract_strided_slice %25 {offsets = [8], sizes = [8], strides = [1]} : vector<16xf32> to vector<8xf32>
      %28 = arith.maximumf %26, %27 : vector<8xf32>
      %29 = vector.extract_strided_slice %28 {offsets = [0], sizes = [4], strides = [1]} : vector<8xf32> to vector<4xf32>
      %30 = vector.extract_strided_slice %28 {offsets = [4], sizes = [4], strides = [1]} : vector<8xf32> to vector<4xf32>
      %31 = arith.maximumf %29, %30 : vector<4xf32>
      %32 = vector.extract_strided_slice %31 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
      %33 = vector.extract_strided_slice %31 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
      %34 = arith.maximumf %32, %33 : vector<2xf32>
      %35 = vector.extract %34[0] : f32 from vector<2xf32>
      %36 = vector.extract %34[1] : f32 from vector<2xf32>
      %37 = arith.maximumf %35, %36 : f32
      %38 = llvm.getelementptr %buffer1[%c2] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      llvm.store %37, %38 {alignment = 4 : i64} : f32, !llvm.ptr
    }
    llvm.return
  }
  llvm.func internal @NAME_task(%frame: !llvm.ptr) {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant dense<0xFF800000> : vector<32xf32>
    %c2 = arith.constant 0 : i64
    %c3 = arith.constant 95 : i64
    %c4 = arith.constant 32 : i64
    %c5 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : vector<32xi64>
    %c6 = arith.constant dense<0.0> : vector<32xf32>
    %thread32 = llvm.call @omp_get_thread_num() : () -> i32
    %threads32 = llvm.call @omp_get_num_threads() : () -> i32
    %thread = arith.extsi %thread32 : i32 to i64
    %threads = arith.extsi %threads32 : i32 to i64
    %one = arith.constant 1 : i64
    %rounded = arith.addi %c0, %threads : i64
    %upper = arith.subi %rounded, %one : i64
    %share = arith.divsi %upper, %threads : i64
    %begin = arith.muli %thread, %share : i64
    %stop = arith.addi %begin, %share : i64
    %end = arith.minsi %stop, %c0 : i64
    %some = arith.cmpi slt, %begin, %end : i64
    scf.if %some {
      llvm.call @NAME_body(%frame, %begin, %end) : (!llvm.ptr, i64, i64) -> ()
    }
    llvm.return
  }
  llvm.func internal @NAME(%frame: !llvm.ptr) -> i64 attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant dense<0xFF800000> : vector<32xf32>
    %c2 = arith.constant 0 : i64
    %c3 = arith.constant 95 : i64
    %c4 = arith.constant 32 : i64
    %c5 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : vector<32xi64>
    %c6 = arith.constant dense<0.0> : vector<32xf32>
    %nothing = arith.constant 0 : i64
    %errorat = llvm.getelementptr %frame[2] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %nothing, %errorat : i64, !llvm.ptr
    %one = arith.constant 1 : i64
    %grain = arith.constant 16384 : i64
    %wanted = arith.divsi %c3, %grain : i64
    %useful = arith.minsi %wanted, %c0 : i64
    %several = arith.cmpi sgt, %useful, %one : i64
    scf.if %several {
      %most32 = llvm.call @omp_get_max_threads() : () -> i32
      %most = arith.extsi %most32 : i32 to i64
      %threads = arith.minsi %useful, %most : i64
      %alone = arith.cmpi sle, %threads, %one : i64
      scf.if %alone {
        llvm.call @NAME_body(%frame, %nothing, %c0) : (!llvm.ptr, i64, i64) -> ()
      } else {
        %task = llvm.mlir.addressof @NAME_task : !llvm.ptr
        %threads32 = arith.trunci %threads : i64 to i32
        %flags = arith.constant 0 : i32
        llvm.call @GOMP_parallel(%task, %frame, %threads32, %flags) : (!llvm.ptr, !llvm.ptr, i32, i32) -> ()
      }
    } else {
      llvm.call @NAME_body(%frame, %nothing, %c0) : (!llvm.ptr, i64, i64) -> ()
    }
    %error = llvm.load %errorat : !llvm.ptr -> i64
    llvm.return %error : i64
  }
