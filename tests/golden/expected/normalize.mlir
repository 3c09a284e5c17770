  llvm.func internal @NAME_body(%frame: !llvm.ptr, %begin: i64, %end: i64) attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant dense<0x00000000> : vector<32xf32>
    %c2 = arith.constant 0 : i64
    %c3 = arith.constant 19 : i64
    %c4 = arith.constant 32 : i64
    %c5 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : vector<32xi64>
    %c6 = arith.constant dense<0.0> : vector<32xf32>
    %c7 = arith.constant 0x41980000 : f32
    %c8 = arith.constant 0x41900000 : f32
    %c9 = arith.constant 0x3727C5AC : f32
    %slot1n = llvm.mlir.constant(1 : i64) : i64
    %slot1 = llvm.alloca %slot1n x vector<32xf32> {alignment = 64 : i64} : (i64) -> !llvm.ptr
    %slot2n = llvm.mlir.constant(1 : i64) : i64
    %slot2 = llvm.alloca %slot2n x vector<32xf32> {alignment = 64 : i64} : (i64) -> !llvm.ptr
    %slot3n = llvm.mlir.constant(1 : i64) : i64
    %slot3 = llvm.alloca %slot3n x vector<32xf32> {alignment = 64 : i64} : (i64) -> !llvm.ptr
    %slot4n = llvm.mlir.constant(1 : i64) : i64
    %slot4 = llvm.alloca %slot4n x vector<32xf32> {alignment = 64 : i64} : (i64) -> !llvm.ptr
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
        %11 = arith.select %5, %10, %c1 : vector<32xi1>, vector<32xf32>
        %12 = arith.addf %6, %11 : vector<32xf32>
        llvm.store %12, %slot2 : vector<32xf32>, !llvm.ptr
      }
      %13 = llvm.load %slot2 : !llvm.ptr -> vector<32xf32>
      %14 = llvm.load %slot1 : !llvm.ptr -> vector<32xf32>
      %15 = arith.addf %14, %13 : vector<32xf32>
      llvm.store %15, %slot1 : vector<32xf32>, !llvm.ptr
      %16 = llvm.load %slot1 : !llvm.ptr -> vector<32xf32>
      %17 = vector.extract_strided_slice %16 {offsets = [0], sizes = [16], strides = [1]} : vector<32xf32> to vector<16xf32>
      %18 = vector.extract_strided_slice %16 {offsets = [16], sizes = [16], strides = [1]} : vector<32xf32> to vector<16xf32>
      %19 = arith.addf %17, %18 : vector<16xf32>
      %20 = vector.extract_strided_slice %19 {offsets = [0], sizes = [8], strides = [1]} : vector<16xf32> to vector<8xf32>
      %21 = vector.extract_strided_slice %19 {offsets = [8], sizes = [8], strides = [1]} : vector<16xf32> to vector<8xf32>
      %22 = arith.addf %20, %21 : vector<8xf32>
      %23 = vector.extract_strided_slice %22 {offsets = [0], sizes = [4], strides = [1]} : vector<8xf32> to vector<4xf32>
      %24 = vector.extract_strided_slice %22 {offsets = [4], sizes = [4], strides = [1]} : vector<8xf32> to vector<4xf32>
      %25 = arith.addf %23, %24 : vector<4xf32>
      %26 = vector.extract_strided_slice %25 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
      %27 = vector.extract_strided_slice %25 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
      %28 = arith.addf %26, %27 : vector<2xf32>
      %29 = vector.extract %28[0] : f32 from vector<2xf32>
      %30 = vector.extract %28[1] : f32 from vector<2xf32>
      %31 = arith.addf %29, %30 : f32
      llvm.store %c1, %slot3 : vector<32xf32>, !llvm.ptr
      llvm.store %c1, %slot4 : vector<32xf32>, !llvm.ptr
      %32 = arith.divf %31, %c7 : f32
      llvm.store %c1, %slot4 : vector<32xf32>, !llvm.ptr
      %33 = arith.cmpi slt, %c2, %c3 : i64
      scf.if %33 {
        %34 = arith.subi %c3, %c2 : i64
        %35 = vector.broadcast %34 : i64 to vector<32xi64>
        %36 = arith.cmpi slt, %c5, %35 : vector<32xi64>
        %37 = llvm.load %slot4 : !llvm.ptr -> vector<32xf32>
        %38 = arith.muli %1, %c3 : i64
        %39 = arith.addi %38, %c2 : i64
        %40 = llvm.getelementptr %buffer0[%39] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %41 = llvm.intr.masked.load %40, %36, %c6 {alignment = 4 : i32} : (!llvm.ptr, vector<32xi1>, vector<32xf32>) -> vector<32xf32>
        %42 = vector.broadcast %32 : f32 to vector<32xf32>
        %43 = arith.subf %41, %42 : vector<32xf32>
        %44 = arith.mulf %43, %43 : vector<32xf32>
        %45 = arith.select %36, %44, %c1 : vector<32xi1>, vector<32xf32>
        %46 = arith.addf %37, %45 : vector<32xf32>
        llvm.store %46, %slot4 : vector<32xf32>, !llvm.ptr
      }
      %47 = llvm.load %slot4 : !llvm.ptr -> vector<32xf32>
      %48 = llvm.load %slot3 : !llvm.ptr -> vector<32xf32>
      %49 = arith.addf %48, %47 : vector<32xf32>
      llvm.store %49, %slot3 : vector<32xf32>, !llvm.ptr
      %50 = llvm.load %slot3 : !llvm.ptr -> vector<32xf32>
      %51 = vector.extract_strided_slice %50 {offsets = [0], sizes = [16], strides = [1]} : vector<32xf32> to vector<16xf32>
      %52 = vector.extract_strided_slice %50 {offsets = [16], sizes = [16], strides = [1]} : vector<32xf32> to vector<16xf32>
      %53 = arith.addf %51, %52 : vector<16xf32>
      %54 = vector.extract_strided_slice %53 {offsets = [0], sizes = [8], strides = [1]} : vector<16xf32> to vector<8xf32>
      %55 = vector.extract_strided_slice %53 {offsets = [8], sizes = [8], strides = [1]} : vector<16xf32> to vector<8xf32>
      %56 = arith.addf %54, %55 : vector<8xf32>
      %57 = vector.extract_strided_slice %56 {offsets = [0], sizes = [4], strides = [1]} : vector<8xf32> to vector<4xf32>
      %58 = vector.extract_strided_slice %56 {offsets = [4], sizes = [4], strides = [1]} : vector<8xf32> to vector<4xf32>
      %59 = arith.addf %57, %58 : vector<4xf32>
      %60 = vector.extract_strided_slice %59 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
      %61 = vector.extract_strided_slice %59 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
      %62 = arith.addf %60, %61 : vector<2xf32>
      %63 = vector.extract %62[0] : f32 from vector<2xf32>
      %64 = vector.extract %62[1] : f32 from vector<2xf32>
      %65 = arith.addf %63, %64 : f32
      %66 = arith.divf %65, %c8 : f32
      %67 = math.sqrt %66 : f32
      %68 = arith.addf %67, %c9 : f32
      %69 = arith.cmpi slt, %c2, %c3 : i64
      scf.if %69 {
        %70 = arith.subi %c3, %c2 : i64
        %71 = vector.broadcast %70 : i64 to vector<32xi64>
        %72 = arith.cmpi slt, %c5, %71 : vector<32xi64>
        %73 = arith.muli %1, %c3 : i64
        %74 = arith.addi %73, %c2 : i64
        %75 = llvm.getelementptr %buffer0[%74] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %76 = llvm.intr.masked.load %75, %72, %c6 {alignment = 4 : i32} : (!llvm.ptr, vector<32xi1>, vector<32xf32>) -> vector<32xf32>
        %77 = vector.broadcast %32 : f32 to vector<32xf32>
        %78 = arith.subf %76, %77 : vector<32xf32>
        %79 = vector.broadcast %68 : f32 to vector<32xf32>
        %80 = arith.divf %78, %79 : vector<32xf32>
        %81 = arith.muli %1, %c3 : i64
        %82 = arith.addi %81, %c2 : i64
        %83 = llvm.getelementptr %buffer1[%82] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        llvm.intr.masked.store %80, %83, %72 {alignment = 4 : i32} : vector<32xf32>, vector<32xi1> into !llvm.ptr
      }
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
    %c7 = arith.constant 0x41980000 : f32
    %c8 = arith.constant 0x41900000 : f32
    %c9 = arith.constant 0x3727C5AC : f32
    %c10 = arith.constant 5 : i64
    %c11 = arith.constant 95 : i64
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
  llvm.func internal @NAME(%buffer0: !llvm.ptr, %buffer1: !llvm.ptr) -> i64 attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant dense<0x00000000> : vector<32xf32>
    %c2 = arith.constant 0 : i64
    %c3 = arith.constant 19 : i64
    %c4 = arith.constant 32 : i64
    %c5 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : vector<32xi64>
    %c6 = arith.constant dense<0.0> : vector<32xf32>
    %c7 = arith.constant 0x41980000 : f32
    %c8 = arith.constant 0x41900000 : f32
    %c9 = arith.constant 0x3727C5AC : f32
    %c10 = arith.constant 5 : i64
    %c11 = arith.constant 95 : i64
    %framesize = llvm.mlir.constant(4 : i64) : i64
    %frame = llvm.alloca %framesize x i64 : (i64) -> !llvm.ptr
    %f0 = llvm.getelementptr %frame[0] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %buffer0, %f0 : !llvm.ptr, !llvm.ptr
    %f1 = llvm.getelementptr %frame[1] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %buffer1, %f1 : !llvm.ptr, !llvm.ptr
    %nothing = arith.constant 0 : i64
    %errorat = llvm.getelementptr %frame[2] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %nothing, %errorat : i64, !llvm.ptr
    %one = arith.constant 1 : i64
    %grain = arith.constant 2730 : i64
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
