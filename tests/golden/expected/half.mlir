  llvm.func internal @NAME_body(%frame: !llvm.ptr, %begin: i64, %end: i64) attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 2048 : i64
    %c1 = arith.constant 19 : i64
    %c2 = arith.constant 32 : i64
    %c3 = arith.constant 16 : i32
    %c4 = arith.constant 1 : i32
    %c5 = arith.constant 32767 : i32
    %c6 = arith.constant 2143289344 : i32
    %c7 = arith.constant -65536 : i32
    %c8 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : vector<32xi64>
    %c9 = arith.constant dense<0> : vector<32xi16>
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
      %30 = arith.cmpf uno, %21, %21 : vector<32xf32>
      %31 = vector.broadcast %c6 : i32 to vector<32xi32>
      %32 = arith.select %30, %31, %29 : vector<32xi1>, vector<32xi32>
      %33 = vector.broadcast %c7 : i32 to vector<32xi32>
      %34 = arith.andi %32, %33 : vector<32xi32>
      %35 = arith.bitcast %34 : vector<32xi32> to vector<32xf32>
      %36 = arith.mulf %35, %14 : vector<32xf32>
      %37 = arith.bitcast %36 : vector<32xf32> to vector<32xi32>
      %38 = vector.broadcast %c3 : i32 to vector<32xi32>
      %39 = arith.shrui %37, %38 : vector<32xi32>
      %40 = vector.broadcast %c4 : i32 to vector<32xi32>
      %41 = arith.andi %39, %40 : vector<32xi32>
      %42 = vector.broadcast %c5 : i32 to vector<32xi32>
      %43 = arith.addi %37, %42 : vector<32xi32>
      %44 = arith.addi %43, %41 : vector<32xi32>
      %45 = arith.cmpf uno, %36, %36 : vector<32xf32>
      %46 = vector.broadcast %c6 : i32 to vector<32xi32>
      %47 = arith.select %45, %46, %44 : vector<32xi1>, vector<32xi32>
      %48 = vector.broadcast %c7 : i32 to vector<32xi32>
      %49 = arith.andi %47, %48 : vector<32xi32>
      %50 = arith.bitcast %49 : vector<32xi32> to vector<32xf32>
      %51 = llvm.getelementptr %buffer2[%8] : (!llvm.ptr, i64) -> !llvm.ptr, i16
      %52 = arith.bitcast %50 : vector<32xf32> to vector<32xi32>
      %53 = vector.broadcast %c3 : i32 to vector<32xi32>
      %54 = arith.shrui %52, %53 : vector<32xi32>
      %55 = arith.trunci %54 : vector<32xi32> to vector<32xi16>
      llvm.store %55, %51 {alignment = 2 : i64} : vector<32xi16>, !llvm.ptr
    }
    %56 = arith.cmpi slt, %7, %3 : i64
    scf.if %56 {
      %57 = arith.subi %3, %7 : i64
      %58 = vector.broadcast %57 : i64 to vector<32xi64>
      %59 = arith.cmpi slt, %c8, %58 : vector<32xi64>
      %60 = llvm.getelementptr %buffer0[%7] : (!llvm.ptr, i64) -> !llvm.ptr, i16
      %61 = llvm.intr.masked.load %60, %59, %c9 {alignment = 2 : i32} : (!llvm.ptr, vector<32xi1>, vector<32xi16>) -> vector<32xi16>
      %62 = arith.extui %61 : vector<32xi16> to vector<32xi32>
      %63 = vector.broadcast %c3 : i32 to vector<32xi32>
      %64 = arith.shli %62, %63 : vector<32xi32>
      %65 = arith.bitcast %64 : vector<32xi32> to vector<32xf32>
      %66 = llvm.getelementptr %buffer1[%7] : (!llvm.ptr, i64) -> !llvm.ptr, i16
      %67 = llvm.intr.masked.load %66, %59, %c9 {alignment = 2 : i32} : (!llvm.ptr, vector<32xi1>, vector<32xi16>) -> vector<32xi16>
      %68 = arith.extui %67 : vector<32xi16> to vector<32xi32>
      %69 = vector.broadcast %c3 : i32 to vector<32xi32>
      %70 = arith.shli %68, %69 : vector<32xi32>
      %71 = arith.bitcast %70 : vector<32xi32> to vector<32xf32>
      %72 = arith.addf %65, %71 : vector<32xf32>
      %73 = arith.bitcast %72 : vector<32xf32> to vector<32xi32>
      %74 = vector.broadcast %c3 : i32 to vector<32xi32>
      %75 = arith.shrui %73, %74 : vector<32xi32>
      %76 = vector.broadcast %c4 : i32 to vector<32xi32>
      %77 = arith.andi %75, %76 : vector<32xi32>
      %78 = vector.broadcast %c5 : i32 to vector<32xi32>
      %79 = arith.addi %73, %78 : vector<32xi32>
      %80 = arith.addi %79, %77 : vector<32xi32>
      %81 = arith.cmpf uno, %72, %72 : vector<32xf32>
      %82 = vector.broadcast %c6 : i32 to vector<32xi32>
      %83 = arith.select %81, %82, %80 : vector<32xi1>, vector<32xi32>
      %84 = vector.broadcast %c7 : i32 to vector<32xi32>
      %85 = arith.andi %83, %84 : vector<32xi32>
      %86 = arith.bitcast %85 : vector<32xi32> to vector<32xf32>
      %87 = arith.mulf %86, %65 : vector<32xf32>
      %88 = arith.bitcast %87 : vector<32xf32> to vector<32xi32>
      %89 = vector.broadcast %c3 : i32 to vector<32xi32>
      %90 = arith.shrui %88, %89 : vector<32xi32>
      %91 = vector.broadcast %c4 : i32 to vector<32xi32>
      %92 = arith.andi %90, %91 : vector<32xi32>
      %93 = vector.broadcast %c5 : i32 to vector<32xi32>
      %94 = arith.addi %88, %93 : vector<32xi32>
      %95 = arith.addi %94, %92 : vector<32xi32>
      %96 = arith.cmpf uno, %87, %87 : vector<32xf32>
      %97 = vector.broadcast %c6 : i32 to vector<32xi32>
      %98 = arith.select %96, %97, %95 : vector<32xi1>, vector<32xi32>
      %99 = vector.broadcast %c7 : i32 to vector<32xi32>
      %100 = arith.andi %98, %99 : vector<32xi32>
      %101 = arith.bitcast %100 : vector<32xi32> to vector<32xf32>
      %102 = llvm.getelementptr %buffer2[%7] : (!llvm.ptr, i64) -> !llvm.ptr, i16
      %103 = arith.bitcast %101 : vector<32xf32> to vector<32xi32>
      %104 = vector.broadcast %c3 : i32 to vector<32xi32>
      %105 = arith.shrui %103, %104 : vector<32xi32>
      %106 = arith.trunci %105 : vector<32xi32> to vector<32xi16>
      llvm.intr.masked.store %106, %102, %59 {alignment = 2 : i32} : vector<32xi16>, vector<32xi1> into !llvm.ptr
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
    %c6 = arith.constant 2143289344 : i32
    %c7 = arith.constant -65536 : i32
    %c8 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : vector<32xi64>
    %c9 = arith.constant dense<0> : vector<32xi16>
    %c10 = arith.constant 1 : i64
    %c11 = arith.constant 2047 : i64
    %107 = arith.addi %c1, %c11 : i64
    %108 = arith.divsi %107, %c0 : i64
    %109 = arith.muli %c10, %108 : i64
    %thread32 = llvm.call @omp_get_thread_num() : () -> i32
    %threads32 = llvm.call @omp_get_num_threads() : () -> i32
    %thread = arith.extsi %thread32 : i32 to i64
    %threads = arith.extsi %threads32 : i32 to i64
    %one = arith.constant 1 : i64
    %rounded = arith.addi %109, %threads : i64
    %upper = arith.subi %rounded, %one : i64
    %share = arith.divsi %upper, %threads : i64
    %begin = arith.muli %thread, %share : i64
    %stop = arith.addi %begin, %share : i64
    %end = arith.minsi %stop, %109 : i64
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
    %c6 = arith.constant 2143289344 : i32
    %c7 = arith.constant -65536 : i32
    %c8 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : vector<32xi64>
    %c9 = arith.constant dense<0> : vector<32xi16>
    %c10 = arith.constant 1 : i64
    %c11 = arith.constant 2047 : i64
    %107 = arith.addi %c1, %c11 : i64
    %108 = arith.divsi %107, %c0 : i64
    %109 = arith.muli %c10, %108 : i64
    %nothing = arith.constant 0 : i64
    %errorat = llvm.getelementptr %frame[3] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %nothing, %errorat : i64, !llvm.ptr
    %one = arith.constant 1 : i64
    %grain = arith.constant 13107 : i64
    %wanted = arith.divsi %c1, %grain : i64
    %useful = arith.minsi %wanted, %109 : i64
    %several = arith.cmpi sgt, %useful, %one : i64
    scf.if %several {
      %most32 = llvm.call @omp_get_max_threads() : () -> i32
      %most = arith.extsi %most32 : i32 to i64
      %threads = arith.minsi %useful, %most : i64
      %alone = arith.cmpi sle, %threads, %one : i64
      scf.if %alone {
        llvm.call @NAME_body(%frame, %nothing, %109) : (!llvm.ptr, i64, i64) -> ()
      } else {
        %task = llvm.mlir.addressof @NAME_task : !llvm.ptr
        %threads32 = arith.trunci %threads : i64 to i32
        %flags = arith.constant 0 : i32
        llvm.call @GOMP_parallel(%task, %frame, %threads32, %flags) : (!llvm.ptr, !llvm.ptr, i32, i32) -> ()
      }
    } else {
      llvm.call @NAME_body(%frame, %nothing, %109) : (!llvm.ptr, i64, i64) -> ()
    }
    %error = llvm.load %errorat : !llvm.ptr -> i64
    llvm.return %error : i64
  }
