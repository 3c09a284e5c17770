  llvm.func internal @NAME_body(%frame: !llvm.ptr, %begin: i64, %end: i64) attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant dense<0x00000000> : vector<32xf32>
    %c2 = arith.constant 0 : i64
    %c3 = arith.constant 2048 : i64
    %c4 = arith.constant 32 : i64
    %c5 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : vector<32xi64>
    %c6 = arith.constant dense<0.0> : vector<32xf32>
    %c7 = arith.constant 0 : i32
    %slot1 = llvm.alloca %c0 x vector<32xf32> {alignment = 64 : i64} : (i64) -> !llvm.ptr
    %slot2 = llvm.alloca %c0 x vector<32xf32> {alignment = 64 : i64} : (i64) -> !llvm.ptr
    %50 = llvm.getelementptr %frame[0] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer0 = llvm.load %50 : !llvm.ptr -> !llvm.ptr
    %51 = llvm.getelementptr %frame[1] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer1 = llvm.load %51 : !llvm.ptr -> !llvm.ptr
    %52 = llvm.getelementptr %frame[2] : (!llvm.ptr) -> !llvm.ptr, i64
    %symbol0 = llvm.load %52 : !llvm.ptr -> i64
    %53 = llvm.getelementptr %frame[3] : (!llvm.ptr) -> !llvm.ptr, i64
    %symbol1 = llvm.load %53 : !llvm.ptr -> i64
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
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant dense<0x00000000> : vector<32xf32>
    %c2 = arith.constant 0 : i64
    %c3 = arith.constant 2048 : i64
    %c4 = arith.constant 32 : i64
    %c5 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : vector<32xi64>
    %c6 = arith.constant dense<0.0> : vector<32xf32>
    %c7 = arith.constant 0 : i32
    %54 = llvm.getelementptr %frame[2] : (!llvm.ptr) -> !llvm.ptr, i64
    %symbol0 = llvm.load %54 : !llvm.ptr -> i64
    %55 = llvm.getelementptr %frame[3] : (!llvm.ptr) -> !llvm.ptr, i64
    %symbol1 = llvm.load %55 : !llvm.ptr -> i64
    %49 = arith.muli %symbol1, %symbol0 : i64
    %56 = llvm.call @omp_get_thread_num() : () -> i32
    %57 = arith.extsi %56 : i32 to i64
    %58 = llvm.call @omp_get_num_threads() : () -> i32
    %59 = arith.extsi %58 : i32 to i64
    %60 = arith.addi %symbol1, %59 : i64
    %61 = arith.subi %60, %c0 : i64
    %62 = arith.divsi %61, %59 : i64
    %63 = arith.muli %57, %62 : i64
    %64 = arith.addi %63, %62 : i64
    %65 = arith.minsi %64, %symbol1 : i64
    %66 = arith.cmpi slt, %63, %65 : i64
    scf.if %66 {
      llvm.call @NAME_body(%frame, %63, %65) : (!llvm.ptr, i64, i64) -> ()
    }
    llvm.return
  }
  llvm.func internal @NAME(%frame: !llvm.ptr) -> i64 attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant dense<0x00000000> : vector<32xf32>
    %c2 = arith.constant 0 : i64
    %c3 = arith.constant 2048 : i64
    %c4 = arith.constant 32 : i64
    %c5 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : vector<32xi64>
    %c6 = arith.constant dense<0.0> : vector<32xf32>
    %c7 = arith.constant 0 : i32
    %c8 = arith.constant 16384 : i64
    %54 = llvm.getelementptr %frame[2] : (!llvm.ptr) -> !llvm.ptr, i64
    %symbol0 = llvm.load %54 : !llvm.ptr -> i64
    %55 = llvm.getelementptr %frame[3] : (!llvm.ptr) -> !llvm.ptr, i64
    %symbol1 = llvm.load %55 : !llvm.ptr -> i64
    %49 = arith.muli %symbol1, %symbol0 : i64
    %56 = llvm.getelementptr %frame[4] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %c2, %56 : i64, !llvm.ptr
    %57 = arith.divsi %49, %c8 : i64
    %58 = arith.minsi %57, %symbol1 : i64
    %59 = arith.cmpi sgt, %58, %c0 : i64
    scf.if %59 {
      %60 = llvm.call @omp_get_max_threads() : () -> i32
      %61 = arith.extsi %60 : i32 to i64
      %62 = arith.minsi %58, %61 : i64
      %63 = arith.cmpi sle, %62, %c0 : i64
      scf.if %63 {
        llvm.call @NAME_body(%frame, %c2, %symbol1) : (!llvm.ptr, i64, i64) -> ()
      } else {
        %64 = arith.trunci %62 : i64 to i32
        %65 = llvm.mlir.addressof @NAME_task : !llvm.ptr
        llvm.call @GOMP_parallel(%65, %frame, %64, %c7) : (!llvm.ptr, !llvm.ptr, i32, i32) -> ()
      }
    } else {
      llvm.call @NAME_body(%frame, %c2, %symbol1) : (!llvm.ptr, i64, i64) -> ()
    }
    %66 = llvm.load %56 : !llvm.ptr -> i64
    llvm.return %66 : i64
  }
