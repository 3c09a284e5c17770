  llvm.func internal @NAME_body(%frame: !llvm.ptr, %begin: i64, %end: i64) attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant dense<0x00000000> : vector<8xf32>
    %c2 = arith.constant dense<0x0000000000000000> : vector<8xf64>
    %c3 = arith.constant 0 : i64
    %c4 = arith.constant 19 : i64
    %c5 = arith.constant 8 : i64
    %c6 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi64>
    %c7 = arith.constant dense<0.0> : vector<8xf32>
    %c8 = arith.constant 0x4033000000000000 : f64
    %c9 = arith.constant 0x41980000 : f32
    %c10 = arith.constant 0x4032000000000000 : f64
    %c11 = arith.constant 0x3727C5AC : f32
    %slot1n = llvm.mlir.constant(1 : i64) : i64
    %slot1 = llvm.alloca %slot1n x vector<8xf32> {alignment = 64 : i64} : (i64) -> !llvm.ptr
    %slot2n = llvm.mlir.constant(1 : i64) : i64
    %slot2 = llvm.alloca %slot2n x vector<8xf64> {alignment = 64 : i64} : (i64) -> !llvm.ptr
    %slot3n = llvm.mlir.constant(1 : i64) : i64
    %slot3 = llvm.alloca %slot3n x vector<8xf32> {alignment = 64 : i64} : (i64) -> !llvm.ptr
    %slot4n = llvm.mlir.constant(1 : i64) : i64
    %slot4 = llvm.alloca %slot4n x vector<8xf64> {alignment = 64 : i64} : (i64) -> !llvm.ptr
    %slot5n = llvm.mlir.constant(1 : i64) : i64
    %slot5 = llvm.alloca %slot5n x vector<8xf64> {alignment = 64 : i64} : (i64) -> !llvm.ptr
    %slot6n = llvm.mlir.constant(1 : i64) : i64
    %slot6 = llvm.alloca %slot6n x vector<8xf64> {alignment = 64 : i64} : (i64) -> !llvm.ptr
    %buffer0at = llvm.getelementptr %frame[0] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer0 = llvm.load %buffer0at : !llvm.ptr -> !llvm.ptr
    %buffer1at = llvm.getelementptr %frame[1] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer1 = llvm.load %buffer1at : !llvm.ptr -> !llvm.ptr
    scf.for %1 = %begin to %end step %c0 : i64 {
      llvm.store %c1, %slot1 : vector<8xf32>, !llvm.ptr
      llvm.store %c2, %slot2 : vector<8xf64>, !llvm.ptr
      llvm.store %c1, %slot3 : vector<8xf32>, !llvm.ptr
      llvm.store %c2, %slot4 : vector<8xf64>, !llvm.ptr
      llvm.store %c1, %slot3 : vector<8xf32>, !llvm.ptr
      llvm.store %c2, %slot4 : vector<8xf64>, !llvm.ptr
      %2 = arith.subi %c4, %c3 : i64
      %3 = arith.remsi %2, %c5 : i64
      %4 = arith.subi %2, %3 : i64
      %5 = arith.addi %c3, %4 : i64
      scf.for %6 = %c3 to %5 step %c5 : i64 {
        %7 = llvm.load %slot3 : !llvm.ptr -> vector<8xf32>
        %8 = arith.muli %1, %c4 : i64
        %9 = arith.addi %8, %6 : i64
        %10 = llvm.getelementptr %buffer0[%9] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %11 = llvm.load %10 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
        %12 = arith.addf %7, %11 : vector<8xf32>
        llvm.store %12, %slot3 : vector<8xf32>, !llvm.ptr
        %13 = llvm.load %slot4 : !llvm.ptr -> vector<8xf64>
        %14 = arith.extf %11 : vector<8xf32> to vector<8xf64>
        %15 = arith.addf %13, %14 : vector<8xf64>
        llvm.store %15, %slot4 : vector<8xf64>, !llvm.ptr
      }
      %16 = arith.cmpi slt, %5, %c4 : i64
      scf.if %16 {
        %17 = arith.subi %c4, %5 : i64
        %18 = vector.broadcast %17 : i64 to vector<8xi64>
        %19 = arith.cmpi slt, %c6, %18 : vector<8xi64>
        %20 = llvm.load %slot3 : !llvm.ptr -> vector<8xf32>
        %21 = arith.muli %1, %c4 : i64
        %22 = arith.addi %21, %5 : i64
        %23 = llvm.getelementptr %buffer0[%22] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %24 = llvm.intr.masked.load %23, %19, %c7 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
        %25 = arith.select %19, %24, %c1 : vector<8xi1>, vector<8xf32>
        %26 = arith.addf %20, %25 : vector<8xf32>
        llvm.store %26, %slot3 : vector<8xf32>, !llvm.ptr
        %27 = llvm.load %slot4 : !llvm.ptr -> vector<8xf64>
        %28 = arith.extf %24 : vector<8xf32> to vector<8xf64>
        %29 = arith.select %19, %28, %c2 : vector<8xi1>, vector<8xf64>
        %30 = arith.addf %27, %29 : vector<8xf64>
        llvm.store %30, %slot4 : vector<8xf64>, !llvm.ptr
      }
      %31 = llvm.load %slot3 : !llvm.ptr -> vector<8xf32>
      %32 = llvm.load %slot1 : !llvm.ptr -> vector<8xf32>
      %33 = arith.addf %32, %31 : vector<8xf32>
      llvm.store %33, %slot1 : vector<8xf32>, !llvm.ptr
      %34 = llvm.load %slot4 : !llvm.ptr -> vector<8xf64>
      %35 = llvm.load %slot2 : !llvm.ptr -> vector<8xf64>
      %36 = arith.addf %35, %34 : vector<8xf64>
      llvm.store %36, %slot2 : vector<8xf64>, !llvm.ptr
      %37 = llvm.load %slot1 : !llvm.ptr -> vector<8xf32>
      %38 = vector.extract_strided_slice %37 {offsets = [0], sizes = [4], strides = [1]} : vector<8xf32> to vector<4xf32>
      %39 = vector.extract_strided_slice %37 {offsets = [4], sizes = [4], strides = [1]} : vector<8xf32> to vector<4xf32>
      %40 = arith.addf %38, %39 : vector<4xf32>
      %41 = vector.extract_strided_slice %40 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
      %42 = vector.extract_strided_slice %40 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
      %43 = arith.addf %41, %42 : vector<2xf32>
      %44 = vector.extract %43[0] : f32 from vector<2xf32>
      %45 = vector.extract %43[1] : f32 from vector<2xf32>
      %46 = arith.addf %44, %45 : f32
      %47 = llvm.load %slot2 : !llvm.ptr -> vector<8xf64>
      %48 = vector.extract_strided_slice %47 {offsets = [0], sizes = [4], strides = [1]} : vector<8xf64> to vector<4xf64>
      %49 = vector.extract_strided_slice %47 {offsets = [4], sizes = [4], strides = [1]} : vector<8xf64> to vector<4xf64>
      %50 = arith.addf %48, %49 : vector<4xf64>
      %51 = vector.extract_strided_slice %50 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf64> to vector<2xf64>
      %52 = vector.extract_strided_slice %50 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf64> to vector<2xf64>
      %53 = arith.addf %51, %52 : vector<2xf64>
      %54 = vector.extract %53[0] : f64 from vector<2xf64>
      %55 = vector.extract %53[1] : f64 from vector<2xf64>
      %56 = arith.addf %54, %55 : f64
      llvm.store %c2, %slot5 : vector<8xf64>, !llvm.ptr
      llvm.store %c2, %slot6 : vector<8xf64>, !llvm.ptr
      %57 = arith.divf %56, %c8 : f64
      llvm.store %c2, %slot6 : vector<8xf64>, !llvm.ptr
      %58 = arith.subi %c4, %c3 : i64
      %59 = arith.remsi %58, %c5 : i64
      %60 = arith.subi %58, %59 : i64
      %61 = arith.addi %c3, %60 : i64
      scf.for %62 = %c3 to %61 step %c5 : i64 {
        %63 = llvm.load %slot6 : !llvm.ptr -> vector<8xf64>
        %64 = arith.muli %1, %c4 : i64
        %65 = arith.addi %64, %62 : i64
        %66 = llvm.getelementptr %buffer0[%65] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %67 = llvm.load %66 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
        %68 = arith.extf %67 : vector<8xf32> to vector<8xf64>
        %69 = vector.broadcast %57 : f64 to vector<8xf64>
        %70 = arith.subf %68, %69 : vector<8xf64>
        %71 = arith.mulf %70, %70 : vector<8xf64>
        %72 = arith.addf %63, %71 : vector<8xf64>
        llvm.store %72, %slot6 : vector<8xf64>, !llvm.ptr
      }
      %73 = arith.cmpi slt, %61, %c4 : i64
      scf.if %73 {
        %74 = arith.subi %c4, %61 : i64
        %75 = vector.broadcast %74 : i64 to vector<8xi64>
        %76 = arith.cmpi slt, %c6, %75 : vector<8xi64>
        %77 = llvm.load %slot6 : !llvm.ptr -> vector<8xf64>
        %78 = arith.muli %1, %c4 : i64
        %79 = arith.addi %78, %61 : i64
        %80 = llvm.getelementptr %buffer0[%79] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %81 = llvm.intr.masked.load %80, %76, %c7 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
        %82 = arith.extf %81 : vector<8xf32> to vector<8xf64>
        %83 = vector.broadcast %57 : f64 to vector<8xf64>
        %84 = arith.subf %82, %83 : vector<8xf64>
        %85 = arith.mulf %84, %84 : vector<8xf64>
        %86 = arith.select %76, %85, %c2 : vector<8xi1>, vector<8xf64>
        %87 = arith.addf %77, %86 : vector<8xf64>
        llvm.store %87, %slot6 : vector<8xf64>, !llvm.ptr
      }
      %88 = llvm.load %slot6 : !llvm.ptr -> vector<8xf64>
      %89 = llvm.load %slot5 : !llvm.ptr -> vector<8xf64>
      %90 = arith.addf %89, %88 : vector<8xf64>
      llvm.store %90, %slot5 : vector<8xf64>, !llvm.ptr
      %91 = llvm.load %slot5 : !llvm.ptr -> vector<8xf64>
      %92 = vector.extract_strided_slice %91 {offsets = [0], sizes = [4], strides = [1]} : vector<8xf64> to vector<4xf64>
      %93 = vector.extract_strided_slice %91 {offsets = [4], sizes = [4], strides = [1]} : vector<8xf64> to vector<4xf64>
      %94 = arith.addf %92, %93 : vector<4xf64>
      %95 = vector.extract_strided_slice %94 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf64> to vector<2xf64>
      %96 = vector.extract_strided_slice %94 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf64> to vector<2xf64>
      %97 = arith.addf %95, %96 : vector<2xf64>
      %98 = vector.extract %97[0] : f64 from vector<2xf64>
      %99 = vector.extract %97[1] : f64 from vector<2xf64>
      %100 = arith.addf %98, %99 : f64
      %101 = arith.divf %46, %c9 : f32
      %102 = arith.divf %100, %c10 : f64
      %103 = math.sqrt %102 : f64
      %104 = arith.truncf %103 : f64 to f32
      %105 = arith.addf %104, %c11 : f32
      %106 = arith.subi %c4, %c3 : i64
      %107 = arith.remsi %106, %c5 : i64
      %108 = arith.subi %106, %107 : i64
      %109 = arith.addi %c3, %108 : i64
      scf.for %110 = %c3 to %109 step %c5 : i64 {
        %111 = arith.muli %1, %c4 : i64
        %112 = arith.addi %111, %110 : i64
        %113 = llvm.getelementptr %buffer0[%112] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %114 = llvm.load %113 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
        %115 = vector.broadcast %101 : f32 to vector<8xf32>
        %116 = arith.subf %114, %115 : vector<8xf32>
        %117 = vector.broadcast %105 : f32 to vector<8xf32>
        %118 = arith.divf %116, %117 : vector<8xf32>
        %119 = arith.muli %1, %c4 : i64
        %120 = arith.addi %119, %110 : i64
        %121 = llvm.getelementptr %buffer1[%120] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        llvm.store %118, %121 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
      }
      %122 = arith.cmpi slt, %109, %c4 : i64
      scf.if %122 {
        %123 = arith.subi %c4, %109 : i64
        %124 = vector.broadcast %123 : i64 to vector<8xi64>
        %125 = arith.cmpi slt, %c6, %124 : vector<8xi64>
        %126 = arith.muli %1, %c4 : i64
        %127 = arith.addi %126, %109 : i64
        %128 = llvm.getelementptr %buffer0[%127] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %129 = llvm.intr.masked.load %128, %125, %c7 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
        %130 = vector.broadcast %101 : f32 to vector<8xf32>
        %131 = arith.subf %129, %130 : vector<8xf32>
        %132 = vector.broadcast %105 : f32 to vector<8xf32>
        %133 = arith.divf %131, %132 : vector<8xf32>
        %134 = arith.muli %1, %c4 : i64
        %135 = arith.addi %134, %109 : i64
        %136 = llvm.getelementptr %buffer1[%135] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        llvm.intr.masked.store %133, %136, %125 {alignment = 4 : i32} : vector<8xf32>, vector<8xi1> into !llvm.ptr
      }
    }
    llvm.return
  }
  llvm.func internal @NAME_task(%frame: !llvm.ptr) {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant dense<0x00000000> : vector<8xf32>
    %c2 = arith.constant dense<0x0000000000000000> : vector<8xf64>
    %c3 = arith.constant 0 : i64
    %c4 = arith.constant 19 : i64
    %c5 = arith.constant 8 : i64
    %c6 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi64>
    %c7 = arith.constant dense<0.0> : vector<8xf32>
    %c8 = arith.constant 0x4033000000000000 : f64
    %c9 = arith.constant 0x41980000 : f32
    %c10 = arith.constant 0x4032000000000000 : f64
    %c11 = arith.constant 0x3727C5AC : f32
    %c12 = arith.constant 5 : i64
    %c13 = arith.constant 95 : i64
    %thread32 = llvm.call @omp_get_thread_num() : () -> i32
    %threads32 = llvm.call @omp_get_num_threads() : () -> i32
    %thread = arith.extsi %thread32 : i32 to i64
    %threads = arith.extsi %threads32 : i32 to i64
    %one = arith.constant 1 : i64
    %rounded = arith.addi %c12, %threads : i64
    %upper = arith.subi %rounded, %one : i64
    %share = arith.divsi %upper, %threads : i64
    %begin = arith.muli %thread, %share : i64
    %stop = arith.addi %begin, %share : i64
    %end = arith.minsi %stop, %c12 : i64
    %some = arith.cmpi slt, %begin, %end : i64
    scf.if %some {
      llvm.call @NAME_body(%frame, %begin, %end) : (!llvm.ptr, i64, i64) -> ()
    }
    llvm.return
  }
  llvm.func internal @NAME(%frame: !llvm.ptr) -> i64 attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant dense<0x00000000> : vector<8xf32>
    %c2 = arith.constant dense<0x0000000000000000> : vector<8xf64>
    %c3 = arith.constant 0 : i64
    %c4 = arith.constant 19 : i64
    %c5 = arith.constant 8 : i64
    %c6 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi64>
    %c7 = arith.constant dense<0.0> : vector<8xf32>
    %c8 = arith.constant 0x4033000000000000 : f64
    %c9 = arith.constant 0x41980000 : f32
    %c10 = arith.constant 0x4032000000000000 : f64
    %c11 = arith.constant 0x3727C5AC : f32
    %c12 = arith.constant 5 : i64
    %c13 = arith.constant 95 : i64
    %nothing = arith.constant 0 : i64
    %errorat = llvm.getelementptr %frame[2] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %nothing, %errorat : i64, !llvm.ptr
    %one = arith.constant 1 : i64
    %grain = arith.constant 2048 : i64
    %wanted = arith.divsi %c13, %grain : i64
    %useful = arith.minsi %wanted, %c12 : i64
    %several = arith.cmpi sgt, %useful, %one : i64
    scf.if %several {
      %most32 = llvm.call @omp_get_max_threads() : () -> i32
      %most = arith.extsi %most32 : i32 to i64
      %threads = arith.minsi %useful, %most : i64
      %alone = arith.cmpi sle, %threads, %one : i64
      scf.if %alone {
        llvm.call @NAME_body(%frame, %nothing, %c12) : (!llvm.ptr, i64, i64) -> ()
      } else {
        %task = llvm.mlir.addressof @NAME_task : !llvm.ptr
        %threads32 = arith.trunci %threads : i64 to i32
        %flags = arith.constant 0 : i32
        llvm.call @GOMP_parallel(%task, %frame, %threads32, %flags) : (!llvm.ptr, !llvm.ptr, i32, i32) -> ()
      }
    } else {
      llvm.call @NAME_body(%frame, %nothing, %c12) : (!llvm.ptr, i64, i64) -> ()
    }
    %error = llvm.load %errorat : !llvm.ptr -> i64
    llvm.return %error : i64
  }
