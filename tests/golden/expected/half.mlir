  llvm.func internal @NAME_body(%frame: !llvm.ptr, %begin: i64, %end: i64) attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 2048 : i64
    %c1 = arith.constant 19 : i64
    %c2 = arith.constant 32 : i64
    %c3 = arith.constant 16 : i32
    %c4 = arith.constant 1 : i32
    %c5 = arith.constant 32767 : i32
    %c6 = arith.constant -65536 : i32
    %c7 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : vector<32xi64>
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
      %11 = arith.extui %10 : vector<32xi16> to vector<32xi32>
      %12 = vector.broadcast %c3 : i32 to vector<32xi32>
      %13 = arith.shli %11, %12 : vector<32xi32>
      %14 = arith.bitcast %13 : vector<32xi32> to vector<32xf32>
      %15 = llvm.getelementptr %buffer1[%8] : (!llvm.ptr, i64) -> !llvm.ptr, i16
      %16 = llvm.load %15 {alignment = 2 : i64} : !llvm.ptr -> vector<32xi16>
      %17 = arith.extui %16 : vector<32xi16> to vector<32xi32>
      %18 = vector.broadcast %c3 : i32 to vector<32xi32>
      %19 = arith.shli %17, %18 : vector<32xi32>
      %20 = arith.bitcast %19 : vector<32xi32> to vector<32xf32>
      %21 = arith.addf %14, %20 : vector<32xf32>
      %22 = arith.bitcast %21 : vector<32xf32> to vector<32xi32>
      %23 = vector.broadcast %c3 : i32 to vector<32xi32>
      %24 = arith.shrui %22, %23 : vector<32xi32>
      %25 = vector.broadcast %c4 : i32 to vector<32xi32>
      %26 = arith.andi %24, %25 : vector<32xi32>
      %27 = vector.broadcast %c5 : i32 to vector<32xi32>
      %28 = arith.addi %22, %27 : vector<32xi32>
      %29 = arith.addi %28, %26 : vector<32xi32>
      %30 = vector.broadcast %c6 : i32 to vector<32xi32>
      %31 = arith.andi %29, %30 : vector<32xi32>
      %32 = arith.bitcast %31 : vector<32xi32> to vector<32xf32>
      %33 = arith.mulf %32, %14 : vector<32xf32>
      %34 = arith.bitcast %33 : vector<32xf32> to vector<32xi32>
      %35 = vector.broadcast %c3 : i32 to vector<32xi32>
      %36 = arith.shrui %34, %35 : vector<32xi32>
      %37 = vector.broadcast %c4 : i32 to vector<32xi32>
      %38 = arith.andi %36, %37 : vector<32xi32>
      %39 = vector.broadcast %c5 : i32 to vector<32xi32>
      %40 = arith.addi %34, %39 : vector<32xi32>
      %41 = arith.addi %40, %38 : vector<32xi32>
      %42 = vector.broadcast %c6 : i32 to vector<32xi32>
      %43 = arith.andi %41, %42 : vector<32xi32>
      %44 = arith.bitcast %43 : vector<32xi32> to vector<32xf32>
      %45 = llvm.getelementptr %buffer2[%8] : (!llvm.ptr, i64) -> !llvm.ptr, i16
      %46 = arith.bitcast %44 : vector<32xf32> to vector<32xi32>
      %47 = vector.broadcast %c3 : i32 to vector<32xi32>
      %48 = arith.shrui %46, %47 : vector<32xi32>
      %49 = arith.trunci %48 : vector<32xi32> to vector<32xi16>
      llvm.store %49, %45 {alignment = 2 : i64} : vector<32xi16>, !llvm.ptr
    }
    %50 = arith.cmpi slt, %7, %3 : i64
    scf.if %50 {
      %51 = arith.subi %3, %7 : i64
      %52 = vector.broadcast %51 : i64 to vector<32xi64>
      %53 = arith.cmpi slt, %c7, %52 : vector<32xi64>
      %54 = llvm.getelementptr %buffer0[%7] : (!llvm.ptr, i64) -> !llvm.ptr, i16
      %55 = llvm.intr.masked.load %54, %53, %c8 {alignment = 2 : i32} : (!llvm.ptr, vector<32xi1>, vector<32xi16>) -> vector<32xi16>
      %56 = arith.extui %55 : vector<32xi16> to vector<32xi32>
      %57 = vector.broadcast %c3 : i32 to vector<32xi32>
      %58 = arith.shli %56, %57 : vector<32xi32>
      %59 = arith.bitcast %58 : vector<32xi32> to vector<32xf32>
      %60 = llvm.getelementptr %buffer1[%7] : (!llvm.ptr, i64) -> !llvm.ptr, i16
      %61 = llvm.intr.masked.load %60, %53, %c8 {alignment = 2 : i32} : (!llvm.ptr, vector<32xi1>, vector<32xi16>) -> vector<32xi16>
      %62 = arith.extui %61 : vector<32xi16> to vector<32xi32>
      %63 = vector.broadcast %c3 : i32 to vector<32xi32>
      %64 = arith.shli %62, %63 : vector<32xi32>
      %65 = arith.bitcast %64 : vector<32xi32> to vector<32xf32>
      %66 = arith.addf %59, %65 : vector<32xf32>
      %67 = arith.bitcast %66 : vector<32xf32> to vector<32xi32>
      %68 = vector.broadcast %c3 : i32 to vector<32xi32>
      %69 = arith.shrui %67, %68 : vector<32xi32>
      %70 = vector.broadcast %c4 : i32 to vector<32xi32>
      %71 = arith.andi %69, %70 : vector<32xi32>
      %72 = vector.broadcast %c5 : i32 to vector<32xi32>
      %73 = arith.addi %67, %72 : vector<32xi32>
      %74 = arith.addi %73, %71 : vector<32xi32>
      %75 = vector.broadcast %c6 : i32 to vector<32xi32>
      %76 = arith.andi %74, %75 : vector<32xi32>
      %77 = arith.bitcast %76 : vector<32xi32> to vector<32xf32>
      %78 = arith.mulf %77, %59 : vector<32xf32>
      %79 = arith.bitcast %78 : vector<32xf32> to vector<32xi32>
      %80 = vector.broadcast %c3 : i32 to vector<32xi32>
      %81 = arith.shrui %79, %80 : vector<32xi32>
      %82 = vector.broadcast %c4 : i32 to vector<32xi32>
      %83 = arith.andi %81, %82 : vector<32xi32>
      %84 = vector.broadcast %c5 : i32 to vector<32xi32>
      %85 = arith.addi %79, %84 : vector<32xi32>
      %86 = arith.addi %85, %83 : vector<32xi32>
      %87 = vector.broadcast %c6 : i32 to vector<32xi32>
      %88 = arith.andi %86, %87 : vector<32xi32>
      %89 = arith.bitcast %88 : vector<32xi32> to vector<32xf32>
      %90 = llvm.getelementptr %buffer2[%7] : (!llvm.ptr, i64) -> !llvm.ptr, i16
      %91 = arith.bitcast %89 : vector<32xf32> to vector<32xi32>
      %92 = vector.broadcast %c3 : i32 to vector<32xi32>
      %93 = arith.shrui %91, %92 : vector<32xi32>
      %94 = arith.trunci %93 : vector<32xi32> to vector<32xi16>
      llvm.intr.masked.store %94, %90, %53 {alignment = 2 : i32} : vector<32xi16>, vector<32xi1> into !llvm.ptr
    }
    llvm.return
  }
  llvm.func internal @NAME_task(%frame: !llvm.ptr) {
    %c0 = arith.constant 2048 : i64
    %c1 = arith.constant 19 : i64
    %c2 = arith.constant 32 : i64
    %c3 = arith.constant 16 : i32
    %c4 = arith.constant 1 : i32
    %c5 = arith.constant 32767 : i32
    %c6 = arith.constant -65536 : i32
    %c7 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : vector<32xi64>
    %c8 = arith.constant dense<0> : vector<32xi16>
    %c9 = arith.constant 1 : i64
    %c10 = arith.constant 2047 : i64
    %95 = arith.addi %c1, %c10 : i64
    %96 = arith.divsi %95, %c0 : i64
    %97 = arith.muli %c9, %96 : i64
    %thread32 = llvm.call @omp_get_thread_num() : () -> i32
    %threads32 = llvm.call @omp_get_num_threads() : () -> i32
    %thread = arith.extsi %thread32 : i32 to i64
    %threads = arith.extsi %threads32 : i32 to i64
    %one = arith.constant 1 : i64
    %rounded = arith.addi %97, %threads : i64
    %upper = arith.subi %rounded, %one : i64
    %share = arith.divsi %upper, %threads : i64
    %begin = arith.muli %thread, %share : i64
    %stop = arith.addi %begin, %share : i64
    %end = arith.minsi %stop, %97 : i64
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
    %c4 = arith.constant 1 : i32
    %c5 = arith.constant 32767 : i32
    %c6 = arith.constant -65536 : i32
    %c7 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : vector<32xi64>
    %c8 = arith.constant dense<0> : vector<32xi16>
    %c9 = arith.constant 1 : i64
    %c10 = arith.constant 2047 : i64
    %95 = arith.addi %c1, %c10 : i64
    %96 = arith.divsi %95, %c0 : i64
    %97 = arith.muli %c9, %96 : i64
    %nothing = arith.constant 0 : i64
    %errorat = llvm.getelementptr %frame[3] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %nothing, %errorat : i64, !llvm.ptr
    %one = arith.constant 1 : i64
    %grain = arith.constant 13107 : i64
    %wanted = arith.divsi %c1, %grain : i64
    %useful = arith.minsi %wanted, %97 : i64
    %several = arith.cmpi sgt, %useful, %one : i64
    scf.if %several {
      %most32 = llvm.call @omp_get_max_threads() : () -> i32
      %most = arith.extsi %most32 : i32 to i64
      %threads = arith.minsi %useful, %most : i64
      %alone = arith.cmpi sle, %threads, %one : i64
      scf.if %alone {
        llvm.call @NAME_body(%frame, %nothing, %97) : (!llvm.ptr, i64, i64) -> ()
      } else {
        %task = llvm.mlir.addressof @NAME_task : !llvm.ptr
        %threads32 = arith.trunci %threads : i64 to i32
        %flags = arith.constant 0 : i32
        llvm.call @GOMP_parallel(%task, %frame, %threads32, %flags) : (!llvm.ptr, !llvm.ptr, i32, i32) -> ()
      }
    } else {
      llvm.call @NAME_body(%frame, %nothing, %97) : (!llvm.ptr, i64, i64) -> ()
    }
    %error = llvm.load %errorat : !llvm.ptr -> i64
    llvm.return %error : i64
  }
