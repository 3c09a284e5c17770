  llvm.func internal @NAME_body(%frame: !llvm.ptr, %begin: i64, %end: i64) attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant dense<0xFF800000> : vector<32xf32>
    %c2 = arith.constant 0 : i64
    %c3 = arith.constant 19 : i64
    %c4 = arith.constant 32 : i64
    %c5 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : vector<32xi64>
    %c6 = arith.constant dense<0.0> : vector<32xf32>
    %c7 = arith.constant dense<0x00000000> : vector<32xf32>
    %c8 = arith.constant 0xC2D00000 : f32
    %c9 = arith.constant 0x42B20000 : f32
    %c10 = arith.constant 0x4B400000 : f32
    %c11 = arith.constant 0x3FB8AA3B : f32
    %c12 = arith.constant 0xBF317200 : f32
    %c13 = arith.constant 0xB5BFBE8E : f32
    %c14 = arith.constant 0x3AB55B56 : f32
    %c15 = arith.constant 0x3C091EAE : f32
    %c16 = arith.constant 0x3D2AAC2D : f32
    %c17 = arith.constant 0x3E2AAA46 : f32
    %c18 = arith.constant 0x3EFFFFFE : f32
    %c19 = arith.constant 0x3F800000 : f32
    %c20 = arith.constant 1 : i32
    %c21 = arith.constant 127 : i32
    %c22 = arith.constant 23 : i32
    %slot1n = llvm.mlir.constant(2 : i64) : i64
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
      llvm.store %c1, %slot2 : vector<32xf32>, !llvm.ptr
      %2 = arith.cmpi slt, %c2, %c3 : i64
      scf.if %2 {
        %3 = arith.subi %c3, %c2 : i64
        %4 = vector.broadcast %3 : i64 to vector<32xi64>
        %5 = arith.cmpi slt, %c5, %4 : vector<32xi64>
        %6 = arith.muli %1, %c3 : i64
        %7 = arith.addi %6, %c2 : i64
        %8 = llvm.getelementptr %buffer0[%7] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %9 = llvm.intr.masked.load %8, %5, %c6 {alignment = 4 : i32} : (!llvm.ptr, vector<32xi1>, vector<32xf32>) -> vector<32xf32>
        %10 = llvm.load %slot2 : !llvm.ptr -> vector<32xf32>
        %11 = arith.select %5, %9, %c1 : vector<32xi1>, vector<32xf32>
        %12 = arith.maximumf %10, %11 : vector<32xf32>
        llvm.store %12, %slot2 : vector<32xf32>, !llvm.ptr
      }
      %13 = llvm.load %slot2 : !llvm.ptr -> vector<32xf32>
      %14 = vector.extract_strided_slice %13 {offsets = [0], sizes = [16], strides = [1]} : vector<32xf32> to vector<16xf32>
      %15 = vector.extract_strided_slice %13 {offsets = [16], sizes = [16], strides = [1]} : vector<32xf32> to vector<16xf32>
      %16 = arith.maximumf %14, %15 : vector<16xf32>
      %17 = vector.extract_strided_slice %16 {offsets = [0], sizes = [8], strides = [1]} : vector<16xf32> to vector<8xf32>
      %18 = vector.extract_strided_slice %16 {offsets = [8], sizes = [8], strides = [1]} : vector<16xf32> to vector<8xf32>
      %19 = arith.maximumf %17, %18 : vector<8xf32>
      %20 = vector.extract_strided_slice %19 {offsets = [0], sizes = [4], strides = [1]} : vector<8xf32> to vector<4xf32>
      %21 = vector.extract_strided_slice %19 {offsets = [4], sizes = [4], strides = [1]} : vector<8xf32> to vector<4xf32>
      %22 = arith.maximumf %20, %21 : vector<4xf32>
      %23 = vector.extract_strided_slice %22 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
      %24 = vector.extract_strided_slice %22 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
      %25 = arith.maximumf %23, %24 : vector<2xf32>
      %26 = vector.extract %25[0] : f32 from vector<2xf32>
      %27 = vector.extract %25[1] : f32 from vector<2xf32>
      %28 = arith.maximumf %26, %27 : f32
      llvm.store %c7, %slot3 : vector<32xf32>, !llvm.ptr
      llvm.store %c7, %slot4 : vector<32xf32>, !llvm.ptr
      llvm.store %c7, %slot4 : vector<32xf32>, !llvm.ptr
      %29 = arith.cmpi slt, %c2, %c3 : i64
      scf.if %29 {
        %30 = arith.subi %c3, %c2 : i64
        %31 = vector.broadcast %30 : i64 to vector<32xi64>
        %32 = arith.cmpi slt, %c5, %31 : vector<32xi64>
        %33 = llvm.load %slot4 : !llvm.ptr -> vector<32xf32>
        %34 = arith.muli %1, %c3 : i64
        %35 = arith.addi %34, %c2 : i64
        %36 = llvm.getelementptr %buffer0[%35] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %37 = llvm.intr.masked.load %36, %32, %c6 {alignment = 4 : i32} : (!llvm.ptr, vector<32xi1>, vector<32xf32>) -> vector<32xf32>
        %38 = vector.broadcast %28 : f32 to vector<32xf32>
        %39 = arith.subf %37, %38 : vector<32xf32>
        %40 = vector.broadcast %c8 : f32 to vector<32xf32>
        %41 = arith.cmpf ogt, %40, %39 : vector<32xf32>
        %42 = vector.broadcast %c8 : f32 to vector<32xf32>
        %43 = arith.select %41, %42, %39 : vector<32xi1>, vector<32xf32>
        %44 = vector.broadcast %c9 : f32 to vector<32xf32>
        %45 = arith.cmpf olt, %44, %43 : vector<32xf32>
        %46 = vector.broadcast %c9 : f32 to vector<32xf32>
        %47 = arith.select %45, %46, %43 : vector<32xi1>, vector<32xf32>
        %48 = vector.broadcast %c11 : f32 to vector<32xf32>
        %49 = vector.broadcast %c10 : f32 to vector<32xf32>
        %50 = math.fma %47, %48, %49 : vector<32xf32>
        %51 = arith.bitcast %50 : vector<32xf32> to vector<32xi32>
        %52 = arith.bitcast %c10 : f32 to i32
        %53 = vector.broadcast %52 : i32 to vector<32xi32>
        %54 = arith.subi %51, %53 : vector<32xi32>
        %55 = vector.broadcast %c10 : f32 to vector<32xf32>
        %56 = arith.subf %50, %55 : vector<32xf32>
        %57 = vector.broadcast %c12 : f32 to vector<32xf32>
        %58 = math.fma %56, %57, %47 : vector<32xf32>
        %59 = vector.broadcast %c13 : f32 to vector<32xf32>
        %60 = math.fma %56, %59, %58 : vector<32xf32>
        %61 = vector.broadcast %c14 : f32 to vector<32xf32>
        %62 = vector.broadcast %c15 : f32 to vector<32xf32>
        %63 = math.fma %61, %60, %62 : vector<32xf32>
        %64 = vector.broadcast %c16 : f32 to vector<32xf32>
        %65 = math.fma %63, %60, %64 : vector<32xf32>
        %66 = vector.broadcast %c17 : f32 to vector<32xf32>
        %67 = math.fma %65, %60, %66 : vector<32xf32>
        %68 = vector.broadcast %c18 : f32 to vector<32xf32>
        %69 = math.fma %67, %60, %68 : vector<32xf32>
        %70 = vector.broadcast %c19 : f32 to vector<32xf32>
        %71 = math.fma %69, %60, %70 : vector<32xf32>
        %72 = vector.broadcast %c19 : f32 to vector<32xf32>
        %73 = math.fma %71, %60, %72 : vector<32xf32>
        %74 = vector.broadcast %c20 : i32 to vector<32xi32>
        %75 = arith.shrsi %54, %74 : vector<32xi32>
        %76 = vector.broadcast %c21 : i32 to vector<32xi32>
        %77 = arith.addi %75, %76 : vector<32xi32>
        %78 = vector.broadcast %c22 : i32 to vector<32xi32>
        %79 = arith.shli %77, %78 : vector<32xi32>
        %80 = arith.bitcast %79 : vector<32xi32> to vector<32xf32>
        %81 = arith.mulf %73, %80 : vector<32xf32>
        %82 = arith.subi %54, %75 : vector<32xi32>
        %83 = vector.broadcast %c21 : i32 to vector<32xi32>
        %84 = arith.addi %82, %83 : vector<32xi32>
        %85 = vector.broadcast %c22 : i32 to vector<32xi32>
        %86 = arith.shli %84, %85 : vector<32xi32>
        %87 = arith.bitcast %86 : vector<32xi32> to vector<32xf32>
        %88 = arith.mulf %81, %87 : vector<32xf32>
        %89 = llvm.getelementptr %slot1[%c2] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        llvm.store %88, %89 {alignment = 4 : i64} : vector<32xf32>, !llvm.ptr
        %90 = arith.select %32, %88, %c7 : vector<32xi1>, vector<32xf32>
        %91 = arith.addf %33, %90 : vector<32xf32>
        llvm.store %91, %slot4 : vector<32xf32>, !llvm.ptr
      }
      %92 = llvm.load %slot4 : !llvm.ptr -> vector<32xf32>
      %93 = llvm.load %slot3 : !llvm.ptr -> vector<32xf32>
      %94 = arith.addf %93, %92 : vector<32xf32>
      llvm.store %94, %slot3 : vector<32xf32>, !llvm.ptr
      %95 = llvm.load %slot3 : !llvm.ptr -> vector<32xf32>
      %96 = vector.extract_strided_slice %95 {offsets = [0], sizes = [16], strides = [1]} : vector<32xf32> to vector<16xf32>
      %97 = vector.extract_strided_slice %95 {offsets = [16], sizes = [16], strides = [1]} : vector<32xf32> to vector<16xf32>
      %98 = arith.addf %96, %97 : vector<16xf32>
      %99 = vector.extract_strided_slice %98 {offsets = [0], sizes = [8], strides = [1]} : vector<16xf32> to vector<8xf32>
      %100 = vector.extract_strided_slice %98 {offsets = [8], sizes = [8], strides = [1]} : vector<16xf32> to vector<8xf32>
      %101 = arith.addf %99, %100 : vector<8xf32>
      %102 = vector.extract_strided_slice %101 {offsets = [0], sizes = [4], strides = [1]} : vector<8xf32> to vector<4xf32>
      %103 = vector.extract_strided_slice %101 {offsets = [4], sizes = [4], strides = [1]} : vector<8xf32> to vector<4xf32>
      %104 = arith.addf %102, %103 : vector<4xf32>
      %105 = vector.extract_strided_slice %104 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
      %106 = vector.extract_strided_slice %104 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
      %107 = arith.addf %105, %106 : vector<2xf32>
      %108 = vector.extract %107[0] : f32 from vector<2xf32>
      %109 = vector.extract %107[1] : f32 from vector<2xf32>
      %110 = arith.addf %108, %109 : f32
      %111 = arith.cmpi slt, %c2, %c3 : i64
      scf.if %111 {
        %112 = arith.subi %c3, %c2 : i64
        %113 = vector.broadcast %112 : i64 to vector<32xi64>
        %114 = arith.cmpi slt, %c5, %113 : vector<32xi64>
        %115 = llvm.getelementptr %slot1[%c2] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %116 = llvm.load %115 {alignment = 4 : i64} : !llvm.ptr -> vector<32xf32>
        %117 = vector.broadcast %110 : f32 to vector<32xf32>
        %118 = arith.divf %116, %117 : vector<32xf32>
        %119 = arith.muli %1, %c3 : i64
        %120 = arith.addi %119, %c2 : i64
        %121 = llvm.getelementptr %buffer1[%120] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        llvm.intr.masked.store %118, %121, %114 {alignment = 4 : i32} : vector<32xf32>, vector<32xi1> into !llvm.ptr
      }
    }
    llvm.return
  }
  llvm.func internal @NAME_task(%frame: !llvm.ptr) {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant dense<0xFF800000> : vector<32xf32>
    %c2 = arith.constant 0 : i64
    %c3 = arith.constant 19 : i64
    %c4 = arith.constant 32 : i64
    %c5 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : vector<32xi64>
    %c6 = arith.constant dense<0.0> : vector<32xf32>
    %c7 = arith.constant dense<0x00000000> : vector<32xf32>
    %c8 = arith.constant 0xC2D00000 : f32
    %c9 = arith.constant 0x42B20000 : f32
    %c10 = arith.constant 0x4B400000 : f32
    %c11 = arith.constant 0x3FB8AA3B : f32
    %c12 = arith.constant 0xBF317200 : f32
    %c13 = arith.constant 0xB5BFBE8E : f32
    %c14 = arith.constant 0x3AB55B56 : f32
    %c15 = arith.constant 0x3C091EAE : f32
    %c16 = arith.constant 0x3D2AAC2D : f32
    %c17 = arith.constant 0x3E2AAA46 : f32
    %c18 = arith.constant 0x3EFFFFFE : f32
    %c19 = arith.constant 0x3F800000 : f32
    %c20 = arith.constant 1 : i32
    %c21 = arith.constant 127 : i32
    %c22 = arith.constant 23 : i32
    %c23 = arith.constant 5 : i64
    %c24 = arith.constant 95 : i64
    %thread32 = llvm.call @omp_get_thread_num() : () -> i32
    %threads32 = llvm.call @omp_get_num_threads() : () -> i32
    %thread = arith.extsi %thread32 : i32 to i64
    %threads = arith.extsi %threads32 : i32 to i64
    %one = arith.constant 1 : i64
    %rounded = arith.addi %c23, %threads : i64
    %upper = arith.subi %rounded, %one : i64
    %share = arith.divsi %upper, %threads : i64
    %begin = arith.muli %thread, %share : i64
    %stop = arith.addi %begin, %share : i64
    %end = arith.minsi %stop, %c23 : i64
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
    %c3 = arith.constant 19 : i64
    %c4 = arith.constant 32 : i64
    %c5 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : vector<32xi64>
    %c6 = arith.constant dense<0.0> : vector<32xf32>
    %c7 = arith.constant dense<0x00000000> : vector<32xf32>
    %c8 = arith.constant 0xC2D00000 : f32
    %c9 = arith.constant 0x42B20000 : f32
    %c10 = arith.constant 0x4B400000 : f32
    %c11 = arith.constant 0x3FB8AA3B : f32
    %c12 = arith.constant 0xBF317200 : f32
    %c13 = arith.constant 0xB5BFBE8E : f32
    %c14 = arith.constant 0x3AB55B56 : f32
    %c15 = arith.constant 0x3C091EAE : f32
    %c16 = arith.constant 0x3D2AAC2D : f32
    %c17 = arith.constant 0x3E2AAA46 : f32
    %c18 = arith.constant 0x3EFFFFFE : f32
    %c19 = arith.constant 0x3F800000 : f32
    %c20 = arith.constant 1 : i32
    %c21 = arith.constant 127 : i32
    %c22 = arith.constant 23 : i32
    %c23 = arith.constant 5 : i64
    %c24 = arith.constant 95 : i64
    %nothing = arith.constant 0 : i64
    %errorat = llvm.getelementptr %frame[2] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %nothing, %errorat : i64, !llvm.ptr
    %one = arith.constant 1 : i64
    %grain = arith.constant 3120 : i64
    %wanted = arith.divsi %c24, %grain : i64
    %useful = arith.minsi %wanted, %c23 : i64
    %several = arith.cmpi sgt, %useful, %one : i64
    scf.if %several {
      %most32 = llvm.call @omp_get_max_threads() : () -> i32
      %most = arith.extsi %most32 : i32 to i64
      %threads = arith.minsi %useful, %most : i64
      %alone = arith.cmpi sle, %threads, %one : i64
      scf.if %alone {
        llvm.call @NAME_body(%frame, %nothing, %c23) : (!llvm.ptr, i64, i64) -> ()
      } else {
        %task = llvm.mlir.addressof @NAME_task : !llvm.ptr
        %threads32 = arith.trunci %threads : i64 to i32
        %flags = arith.constant 0 : i32
        llvm.call @GOMP_parallel(%task, %frame, %threads32, %flags) : (!llvm.ptr, !llvm.ptr, i32, i32) -> ()
      }
    } else {
      llvm.call @NAME_body(%frame, %nothing, %c23) : (!llvm.ptr, i64, i64) -> ()
    }
    %error = llvm.load %errorat : !llvm.ptr -> i64
    llvm.return %error : i64
  }
