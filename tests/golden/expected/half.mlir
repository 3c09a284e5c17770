  llvm.func internal @NAME_body(%frame: !llvm.ptr, %begin: i64, %end: i64) attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 2048 : i64
    %c1 = arith.constant 19 : i64
    %c2 = arith.constant 32 : i64
    %c3 = arith.constant 16 : i32
    %c4 = arith.constant -65536 : i32
    %c5 = arith.constant 1 : i32
    %c6 = arith.constant 32767 : i32
    %c7 = arith.constant dense<[0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31]> : vector<32xi64>
    %c8 = arith.constant dense<0> : vector<32xi16>
    %buffer0at = llvm.getelementptr %frame[0] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer0 = llvm.load %buffer0at : !llvm.ptr -> !llvm.ptr
    %buffer1at = llvm.getelementptr %frame[1] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer1 = llvm.load %buffer1at : !llvm.ptr -> !llvm.ptr
    %buffer2at = llvm.getelementptr %frame[2] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer2 = llvm.load %buffer2at : !llvm.ptr -> !llvm.ptr
    %1 = arith.muli %begin, %c0 : i64
    %2 = arith.muli %end, %c0 : i64
    %3 = arith.minsi %2, %c1 : i64
    %4 = arith.subi %3, %1 : i64
    %5 = arith.remsi %4, %c2 : i64
    %6 = arith.subi %4, %5 : i64
    %7 = arith.addi %1, %6 : i64
    scf.for %8 = %1 to %7 step %c2 : i64 {
      %9 = llvm.getelementptr %buffer0[%8] : (!llvm.ptr, i64) -> !llvm.ptr, i16
      %10 = llvm.load %9 {alignment = 2 : i64} : !llvm.ptr -> vector<32xi16>
      %11 = vector.bitcast %10 : vector<32xi16> to vector<16xi32>
      %12 = vector.broadcast %c3 : i32 to vector<16xi32>
      %13 = arith.shli %11, %12 : vector<16xi32>
      %14 = vector.broadcast %c4 : i32 to vector<16xi32>
      %15 = arith.andi %11, %14 : vector<16xi32>
      %16 = vector.shuffle %13, %15 [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31] : vector<16xi32>, vector<16xi32>
      %17 = arith.bitcast %16 : vector<32xi32> to vector<32xf32>
      %18 = llvm.getelementptr %buffer1[%8] : (!llvm.ptr, i64) -> !llvm.ptr, i16
      %19 = llvm.load %18 {alignment = 2 : i64} : !llvm.ptr -> vector<32xi16>
      %20 = vector.bitcast %19 : vector<32xi16> to vector<16xi32>
      %21 = vector.broadcast %c3 : i32 to vector<16xi32>
      %22 = arith.shli %20, %21 : vector<16xi32>
      %23 = vector.broadcast %c4 : i32 to vector<16xi32>
      %24 = arith.andi %20, %23 : vector<16xi32>
      %25 = vector.shuffle %22, %24 [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31] : vector<16xi32>, vector<16xi32>
      %26 = arith.bitcast %25 : vector<32xi32> to vector<32xf32>
      %27 = arith.addf %17, %26 : vector<32xf32>
      %28 = arith.bitcast %27 : vector<32xf32> to vector<32xi32>
      %29 = vector.broadcast %c3 : i32 to vector<32xi32>
      %30 = arith.shrui %28, %29 : vector<32xi32>
      %31 = vector.broadcast %c5 : i32 to vector<32xi32>
      %32 = arith.andi %30, %31 : vector<32xi32>
      %33 = vector.broadcast %c6 : i32 to vector<32xi32>
      %34 = arith.addi %28, %33 : vector<32xi32>
      %35 = arith.addi %34, %32 : vector<32xi32>
      %36 = vector.broadcast %c4 : i32 to vector<32xi32>
      %37 = arith.andi %35, %36 : vector<32xi32>
      %38 = arith.bitcast %37 : vector<32xi32> to vector<32xf32>
      %39 = arith.mulf %38, %17 : vector<32xf32>
      %40 = arith.bitcast %39 : vector<32xf32> to vector<32xi32>
      %41 = vector.broadcast %c3 : i32 to vector<32xi32>
      %42 = arith.shrui %40, %41 : vector<32xi32>
      %43 = vector.broadcast %c5 : i32 to vector<32xi32>
      %44 = arith.andi %42, %43 : vector<32xi32>
      %45 = vector.broadcast %c6 : i32 to vector<32xi32>
      %46 = arith.addi %40, %45 : vector<32xi32>
      %47 = arith.addi %46, %44 : vector<32xi32>
      %48 = vector.broadcast %c4 : i32 to vector<32xi32>
      %49 = arith.andi %47, %48 : vector<32xi32>
      %50 = arith.bitcast %49 : vector<32xi32> to vector<32xf32>
      %51 = llvm.getelementptr %buffer2[%8] : (!llvm.ptr, i64) -> !llvm.ptr, i16
      %52 = arith.bitcast %50 : vector<32xf32> to vector<32xi32>
      %53 = vector.extract_strided_slice %52 {offsets = [0], sizes = [16], strides = [1]} : vector<32xi32> to vector<16xi32>
      %54 = vector.broadcast %c3 : i32 to vector<16xi32>
      %55 = arith.shrui %53, %54 : vector<16xi32>
      %56 = vector.extract_strided_slice %52 {offsets = [16], sizes = [16], strides = [1]} : vector<32xi32> to vector<16xi32>
      %57 = vector.broadcast %c4 : i32 to vector<16xi32>
      %58 = arith.andi %56, %57 : vector<16xi32>
      %59 = arith.ori %55, %58 : vector<16xi32>
      %60 = vector.bitcast %59 : vector<16xi32> to vector<32xi16>
      llvm.store %60, %51 {alignment = 2 : i64} : vector<32xi16>, !llvm.ptr
    }
    %61 = arith.cmpi slt, %7, %3 : i64
    scf.if %61 {
      %62 = arith.subi %3, %7 : i64
      %63 = vector.broadcast %62 : i64 to vector<32xi64>
      %64 = arith.cmpi slt, %c7, %63 : vector<32xi64>
      %65 = llvm.getelementptr %buffer0[%7] : (!llvm.ptr, i64) -> !llvm.ptr, i16
      %66 = vector.shuffle %64, %64 [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31] : vector<32xi1>, vector<32xi1>
      %67 = llvm.intr.masked.load %65, %66, %c8 {alignment = 2 : i32} : (!llvm.ptr, vector<32xi1>, vector<32xi16>) -> vector<32xi16>
      %68 = vector.bitcast %67 : vector<32xi16> to vector<16xi32>
      %69 = vector.broadcast %c3 : i32 to vector<16xi32>
      %70 = arith.shli %68, %69 : vector<16xi32>
      %71 = vector.broadcast %c4 : i32 to vector<16xi32>
      %72 = arith.andi %68, %71 : vector<16xi32>
      %73 = vector.shuffle %70, %72 [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31] : vector<16xi32>, vector<16xi32>
      %74 = arith.bitcast %73 : vector<32xi32> to vector<32xf32>
      %75 = llvm.getelementptr %buffer1[%7] : (!llvm.ptr, i64) -> !llvm.ptr, i16
      %76 = vector.shuffle %64, %64 [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31] : vector<32xi1>, vector<32xi1>
      %77 = llvm.intr.masked.load %75, %76, %c8 {alignment = 2 : i32} : (!llvm.ptr, vector<32xi1>, vector<32xi16>) -> vector<32xi16>
      %78 = vector.bitcast %77 : vector<32xi16> to vector<16xi32>
      %79 = vector.broadcast %c3 : i32 to vector<16xi32>
      %80 = arith.shli %78, %79 : vector<16xi32>
      %81 = vector.broadcast %c4 : i32 to vector<16xi32>
      %82 = arith.andi %78, %81 : vector<16xi32>
      %83 = vector.shuffle %80, %82 [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31] : vector<16xi32>, vector<16xi32>
      %84 = arith.bitcast %83 : vector<32xi32> to vector<32xf32>
      %85 = arith.addf %74, %84 : vector<32xf32>
      %86 = arith.bitcast %85 : vector<32xf32> to vector<32xi32>
      %87 = vector.broadcast %c3 : i32 to vector<32xi32>
      %88 = arith.shrui %86, %87 : vector<32xi32>
      %89 = vector.broadcast %c5 : i32 to vector<32xi32>
      %90 = arith.andi %88, %89 : vector<32xi32>
      %91 = vector.broadcast %c6 : i32 to vector<32xi32>
      %92 = arith.addi %86, %91 : vector<32xi32>
      %93 = arith.addi %92, %90 : vector<32xi32>
      %94 = vector.broadcast %c4 : i32 to vector<32xi32>
      %95 = arith.andi %93, %94 : vector<32xi32>
      %96 = arith.bitcast %95 : vector<32xi32> to vector<32xf32>
      %97 = arith.mulf %96, %74 : vector<32xf32>
      %98 = arith.bitcast %97 : vector<32xf32> to vector<32xi32>
      %99 = vector.broadcast %c3 : i32 to vector<32xi32>
      %100 = arith.shrui %98, %99 : vector<32xi32>
      %101 = vector.broadcast %c5 : i32 to vector<32xi32>
      %102 = arith.andi %100, %101 : vector<32xi32>
      %103 = vector.broadcast %c6 : i32 to vector<32xi32>
      %104 = arith.addi %98, %103 : vector<32xi32>
      %105 = arith.addi %104, %102 : vector<32xi32>
      %106 = vector.broadcast %c4 : i32 to vector<32xi32>
      %107 = arith.andi %105, %106 : vector<32xi32>
      %108 = arith.bitcast %107 : vector<32xi32> to vector<32xf32>
      %109 = llvm.getelementptr %buffer2[%7] : (!llvm.ptr, i64) -> !llvm.ptr, i16
      %110 = arith.bitcast %108 : vector<32xf32> to vector<32xi32>
      %111 = vector.extract_strided_slice %110 {offsets = [0], sizes = [16], strides = [1]} : vector<32xi32> to vector<16xi32>
      %112 = vector.broadcast %c3 : i32 to vector<16xi32>
      %113 = arith.shrui %111, %112 : vector<16xi32>
      %114 = vector.extract_strided_slice %110 {offsets = [16], sizes = [16], strides = [1]} : vector<32xi32> to vector<16xi32>
      %115 = vector.broadcast %c4 : i32 to vector<16xi32>
      %116 = arith.andi %114, %115 : vector<16xi32>
      %117 = arith.ori %113, %116 : vector<16xi32>
      %118 = vector.bitcast %117 : vector<16xi32> to vector<32xi16>
      %119 = vector.shuffle %64, %64 [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31] : vector<32xi1>, vector<32xi1>
      llvm.intr.masked.store %118, %109, %119 {alignment = 2 : i32} : vector<32xi16>, vector<32xi1> into !llvm.ptr
    }
    llvm.return
  }
  llvm.func internal @NAME_task(%frame: !llvm.ptr) {
    %c0 = arith.constant 2048 : i64
    %c1 = arith.constant 19 : i64
    %c2 = arith.constant 32 : i64
    %c3 = arith.constant 16 : i32
    %c4 = arith.constant -65536 : i32
    %c5 = arith.constant 1 : i32
    %c6 = arith.constant 32767 : i32
    %c7 = arith.constant dense<[0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31]> : vector<32xi64>
    %c8 = arith.constant dense<0> : vector<32xi16>
    %c9 = arith.constant 1 : i64
    %c10 = arith.constant 2047 : i64
    %120 = arith.addi %c1, %c10 : i64
    %121 = arith.divsi %120, %c0 : i64
    %122 = arith.muli %c9, %121 : i64
    %thread32 = llvm.call @omp_get_thread_num() : () -> i32
    %threads32 = llvm.call @omp_get_num_threads() : () -> i32
    %thread = arith.extsi %thread32 : i32 to i64
    %threads = arith.extsi %threads32 : i32 to i64
    %one = arith.constant 1 : i64
    %rounded = arith.addi %122, %threads : i64
    %upper = arith.subi %rounded, %one : i64
    %share = arith.divsi %upper, %threads : i64
    %begin = arith.muli %thread, %share : i64
    %stop = arith.addi %begin, %share : i64
    %end = arith.minsi %stop, %122 : i64
    %some = arith.cmpi slt, %begin, %end : i64
    scf.if %some {
      llvm.call @NAME_body(%frame, %begin, %end) : (!llvm.ptr, i64, i64) -> ()
    }
    llvm.return
  }
  llvm.func internal @NAME(%frame: !llvm.ptr) -> i64 attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 2048 : i64
    %c1 = arith.constant 19 : i64
    %c2 = arith.constant 32 : i64
    %c3 = arith.constant 16 : i32
    %c4 = arith.constant -65536 : i32
    %c5 = arith.constant 1 : i32
    %c6 = arith.constant 32767 : i32
    %c7 = arith.constant dense<[0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31]> : vector<32xi64>
    %c8 = arith.constant dense<0> : vector<32xi16>
    %c9 = arith.constant 1 : i64
    %c10 = arith.constant 2047 : i64
    %120 = arith.addi %c1, %c10 : i64
    %121 = arith.divsi %120, %c0 : i64
    %122 = arith.muli %c9, %121 : i64
    %nothing = arith.constant 0 : i64
    %errorat = llvm.getelementptr %frame[3] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %nothing, %errorat : i64, !llvm.ptr
    %one = arith.constant 1 : i64
    %grain = arith.constant 3855 : i64
    %wanted = arith.divsi %c1, %grain : i64
    %useful = arith.minsi %wanted, %122 : i64
    %several = arith.cmpi sgt, %useful, %one : i64
    scf.if %several {
      %most32 = llvm.call @omp_get_max_threads() : () -> i32
      %most = arith.extsi %most32 : i32 to i64
      %threads = arith.minsi %useful, %most : i64
      %alone = arith.cmpi sle, %threads, %one : i64
      scf.if %alone {
        llvm.call @NAME_body(%frame, %nothing, %122) : (!llvm.ptr, i64, i64) -> ()
      } else {
        %task = llvm.mlir.addressof @NAME_task : !llvm.ptr
        %threads32 = arith.trunci %threads : i64 to i32
        %flags = arith.constant 0 : i32
        llvm.call @GOMP_parallel(%task, %frame, %threads32, %flags) : (!llvm.ptr, !llvm.ptr, i32, i32) -> ()
      }
    } else {
      llvm.call @NAME_body(%frame, %nothing, %122) : (!llvm.ptr, i64, i64) -> ()
    }
    %error = llvm.load %errorat : !llvm.ptr -> i64
    llvm.return %error : i64
  }
