  llvm.func internal @NAME_body(%frame: !llvm.ptr, %begin: i64, %end: i64) attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant dense<0xFF800000> : vector<32xf32>
    %c2 = arith.constant dense<0> : vector<32xi32>
    %c3 = arith.constant 0 : i64
    %c4 = arith.constant 19 : i64
    %c5 = arith.constant 32 : i64
    %c6 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : vector<32xi64>
    %c7 = arith.constant dense<0.0> : vector<32xf32>
    %c8 = arith.constant true
    %slot1n = llvm.mlir.constant(1 : i64) : i64
    %slot1 = llvm.alloca %slot1n x vector<32xf32> {alignment = 64 : i64} : (i64) -> !llvm.ptr
    %slot2n = llvm.mlir.constant(1 : i64) : i64
    %slot2 = llvm.alloca %slot2n x vector<32xi32> {alignment = 64 : i64} : (i64) -> !llvm.ptr
    %buffer0at = llvm.getelementptr %frame[0] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer0 = llvm.load %buffer0at : !llvm.ptr -> !llvm.ptr
    %buffer1at = llvm.getelementptr %frame[1] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer1 = llvm.load %buffer1at : !llvm.ptr -> !llvm.ptr
    scf.for %1 = %begin to %end step %c0 : i64 {
      llvm.store %c1, %slot1 : vector<32xf32>, !llvm.ptr
      llvm.store %c2, %slot2 : vector<32xi32>, !llvm.ptr
      %2 = arith.cmpi slt, %c3, %c4 : i64
      scf.if %2 {
        %3 = arith.subi %c4, %c3 : i64
        %4 = vector.broadcast %3 : i64 to vector<32xi64>
        %5 = arith.cmpi slt, %c6, %4 : vector<32xi64>
        %6 = arith.muli %1, %c4 : i64
        %7 = arith.addi %6, %c3 : i64
        %8 = llvm.getelementptr %buffer0[%7] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %9 = llvm.intr.masked.load %8, %5, %c7 {alignment = 4 : i32} : (!llvm.ptr, vector<32xi1>, vector<32xf32>) -> vector<32xf32>
        %10 = llvm.load %slot1 : !llvm.ptr -> vector<32xf32>
        %11 = llvm.load %slot2 : !llvm.ptr -> vector<32xi32>
        %12 = arith.trunci %c3 : i64 to i32
        %13 = vector.broadcast %12 : i32 to vector<32xi32>
        %14 = arith.trunci %c6 : vector<32xi64> to vector<32xi32>
        %15 = arith.addi %13, %14 : vector<32xi32>
        %16 = arith.select %5, %9, %c1 : vector<32xi1>, vector<32xf32>
        %17 = arith.select %5, %15, %c2 : vector<32xi1>, vector<32xi32>
        %18 = arith.cmpf ole, %16, %10 : vector<32xf32>
        %19 = vector.broadcast %c8 : i1 to vector<32xi1>
        %20 = arith.xori %18, %19 : vector<32xi1>
        %21 = arith.cmpf oeq, %10, %10 : vector<32xf32>
        %22 = arith.andi %20, %21 : vector<32xi1>
        %23 = arith.select %22, %16, %10 : vector<32xi1>, vector<32xf32>
        %24 = arith.select %22, %17, %11 : vector<32xi1>, vector<32xi32>
        llvm.store %23, %slot1 : vector<32xf32>, !llvm.ptr
        llvm.store %24, %slot2 : vector<32xi32>, !llvm.ptr
      }
      %25 = llvm.load %slot1 : !llvm.ptr -> vector<32xf32>
      %26 = llvm.load %slot2 : !llvm.ptr -> vector<32xi32>
      %27 = vector.extract_strided_slice %25 {offsets = [0], sizes = [16], strides = [1]} : vector<32xf32> to vector<16xf32>
      %28 = vector.extract_strided_slice %26 {offsets = [0], sizes = [16], strides = [1]} : vector<32xi32> to vector<16xi32>
      %29 = vector.extract_strided_slice %25 {offsets = [16], sizes = [16], strides = [1]} : vector<32xf32> to vector<16xf32>
      %30 = vector.extract_strided_slice %26 {offsets = [16], sizes = [16], strides = [1]} : vector<32xi32> to vector<16xi32>
      %31 = arith.cmpf ogt, %29, %27 : vector<16xf32>
      %32 = arith.cmpf oeq, %29, %27 : vector<16xf32>
      %33 = arith.cmpf uno, %29, %29 : vector<16xf32>
      %34 = arith.cmpf uno, %27, %27 : vector<16xf32>
      %35 = vector.broadcast %c8 : i1 to vector<16xi1>
      %36 = arith.xori %34, %35 : vector<16xi1>
      %37 = arith.andi %33, %36 : vector<16xi1>
      %38 = arith.ori %31, %37 : vector<16xi1>
      %39 = arith.andi %33, %34 : vector<16xi1>
      %40 = arith.ori %32, %39 : vector<16xi1>
      %41 = arith.cmpi slt, %30, %28 : vector<16xi32>
      %42 = arith.andi %40, %41 : vector<16xi1>
      %43 = arith.ori %38, %42 : vector<16xi1>
      %44 = arith.select %43, %29, %27 : vector<16xi1>, vector<16xf32>
      %45 = arith.select %43, %30, %28 : vector<16xi1>, vector<16xi32>
      %46 = vector.extract_strided_slice %44 {offsets = [0], sizes = [8], strides = [1]} : vector<16xf32> to vector<8xf32>
      %47 = vector.extract_strided_slice %45 {offsets = [0], sizes = [8], strides = [1]} : vector<16xi32> to vector<8xi32>
      %48 = vector.extract_strided_slice %44 {offsets = [8], sizes = [8], strides = [1]} : vector<16xf32> to vector<8xf32>
      %49 = vector.extract_strided_slice %45 {offsets = [8], sizes = [8], strides = [1]} : vector<16xi32> to vector<8xi32>
      %50 = arith.cmpf ogt, %48, %46 : vector<8xf32>
      %51 = arith.cmpf oeq, %48, %46 : vector<8xf32>
      %52 = arith.cmpf uno, %48, %48 : vector<8xf32>
      %53 = arith.cmpf uno, %46, %46 : vector<8xf32>
      %54 = vector.broadcast %c8 : i1 to vector<8xi1>
      %55 = arith.xori %53, %54 : vector<8xi1>
      %56 = arith.andi %52, %55 : vector<8xi1>
      %57 = arith.ori %50, %56 : vector<8xi1>
      %58 = arith.andi %52, %53 : vector<8xi1>
      %59 = arith.ori %51, %58 : vector<8xi1>
      %60 = arith.cmpi slt, %49, %47 : vector<8xi32>
      %61 = arith.andi %59, %60 : vector<8xi1>
      %62 = arith.ori %57, %61 : vector<8xi1>
      %63 = arith.select %62, %48, %46 : vector<8xi1>, vector<8xf32>
      %64 = arith.select %62, %49, %47 : vector<8xi1>, vector<8xi32>
      %65 = vector.extract_strided_slice %63 {offsets = [0], sizes = [4], strides = [1]} : vector<8xf32> to vector<4xf32>
      %66 = vector.extract_strided_slice %64 {offsets = [0], sizes = [4], strides = [1]} : vector<8xi32> to vector<4xi32>
      %67 = vector.extract_strided_slice %63 {offsets = [4], sizes = [4], strides = [1]} : vector<8xf32> to vector<4xf32>
      %68 = vector.extract_strided_slice %64 {offsets = [4], sizes = [4], strides = [1]} : vector<8xi32> to vector<4xi32>
      %69 = arith.cmpf ogt, %67, %65 : vector<4xf32>
      %70 = arith.cmpf oeq, %67, %65 : vector<4xf32>
      %71 = arith.cmpf uno, %67, %67 : vector<4xf32>
      %72 = arith.cmpf uno, %65, %65 : vector<4xf32>
      %73 = vector.broadcast %c8 : i1 to vector<4xi1>
      %74 = arith.xori %72, %73 : vector<4xi1>
      %75 = arith.andi %71, %74 : vector<4xi1>
      %76 = arith.ori %69, %75 : vector<4xi1>
      %77 = arith.andi %71, %72 : vector<4xi1>
      %78 = arith.ori %70, %77 : vector<4xi1>
      %79 = arith.cmpi slt, %68, %66 : vector<4xi32>
      %80 = arith.andi %78, %79 : vector<4xi1>
      %81 = arith.ori %76, %80 : vector<4xi1>
      %82 = arith.select %81, %67, %65 : vector<4xi1>, vector<4xf32>
      %83 = arith.select %81, %68, %66 : vector<4xi1>, vector<4xi32>
      %84 = vector.extract_strided_slice %82 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
      %85 = vector.extract_strided_slice %83 {offsets = [0], sizes = [2], strides = [1]} : vector<4xi32> to vector<2xi32>
      %86 = vector.extract_strided_slice %82 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
      %87 = vector.extract_strided_slice %83 {offsets = [2], sizes = [2], strides = [1]} : vector<4xi32> to vector<2xi32>
      %88 = arith.cmpf ogt, %86, %84 : vector<2xf32>
      %89 = arith.cmpf oeq, %86, %84 : vector<2xf32>
      %90 = arith.cmpf uno, %86, %86 : vector<2xf32>
      %91 = arith.cmpf uno, %84, %84 : vector<2xf32>
      %92 = vector.broadcast %c8 : i1 to vector<2xi1>
      %93 = arith.xori %91, %92 : vector<2xi1>
      %94 = arith.andi %90, %93 : vector<2xi1>
      %95 = arith.ori %88, %94 : vector<2xi1>
      %96 = arith.andi %90, %91 : vector<2xi1>
      %97 = arith.ori %89, %96 : vector<2xi1>
      %98 = arith.cmpi slt, %87, %85 : vector<2xi32>
      %99 = arith.andi %97, %98 : vector<2xi1>
      %100 = arith.ori %95, %99 : vector<2xi1>
      %101 = arith.select %100, %86, %84 : vector<2xi1>, vector<2xf32>
      %102 = arith.select %100, %87, %85 : vector<2xi1>, vector<2xi32>
      %103 = vector.extract %101[0] : f32 from vector<2xf32>
      %104 = vector.extract %102[0] : i32 from vector<2xi32>
      %105 = vector.extract %101[1] : f32 from vector<2xf32>
      %106 = vector.extract %102[1] : i32 from vector<2xi32>
      %107 = arith.cmpf ogt, %105, %103 : f32
      %108 = arith.cmpf oeq, %105, %103 : f32
      %109 = arith.cmpf uno, %105, %105 : f32
      %110 = arith.cmpf uno, %103, %103 : f32
      %111 = arith.xori %110, %c8 : i1
      %112 = arith.andi %109, %111 : i1
      %113 = arith.ori %107, %112 : i1
      %114 = arith.andi %109, %110 : i1
      %115 = arith.ori %108, %114 : i1
      %116 = arith.cmpi slt, %106, %104 : i32
      %117 = arith.andi %115, %116 : i1
      %118 = arith.ori %113, %117 : i1
      %119 = arith.select %118, %105, %103 : i1, f32
      %120 = arith.select %118, %106, %104 : i1, i32
      %121 = arith.extsi %120 : i32 to i64
      %122 = llvm.getelementptr %buffer1[%1] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      llvm.store %121, %122 {alignment = 8 : i64} : i64, !llvm.ptr
    }
    llvm.return
  }
  llvm.func internal @NAME_task(%frame: !llvm.ptr) {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant dense<0xFF800000> : vector<32xf32>
    %c2 = arith.constant dense<0> : vector<32xi32>
    %c3 = arith.constant 0 : i64
    %c4 = arith.constant 19 : i64
    %c5 = arith.constant 32 : i64
    %c6 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : vector<32xi64>
    %c7 = arith.constant dense<0.0> : vector<32xf32>
    %c8 = arith.constant true
    %c9 = arith.constant 5 : i64
    %c10 = arith.constant 95 : i64
    %thread32 = llvm.call @omp_get_thread_num() : () -> i32
    %threads32 = llvm.call @omp_get_num_threads() : () -> i32
    %thread = arith.extsi %thread32 : i32 to i64
    %threads = arith.extsi %threads32 : i32 to i64
    %one = arith.constant 1 : i64
    %rounded = arith.addi %c9, %threads : i64
    %upper = arith.subi %rounded, %one : i64
    %share = arith.divsi %upper, %threads : i64
    %begin = arith.muli %thread, %share : i64
    %stop = arith.addi %begin, %share : i64
    %end = arith.minsi %stop, %c9 : i64
    %some = arith.cmpi slt, %begin, %end : i64
    scf.if %some {
      llvm.call @NAME_body(%frame, %begin, %end) : (!llvm.ptr, i64, i64) -> ()
    }
    llvm.return
  }
  llvm.func internal @NAME(%frame: !llvm.ptr) -> i64 attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant dense<0xFF800000> : vector<32xf32>
    %c2 = arith.constant dense<0> : vector<32xi32>
    %c3 = arith.constant 0 : i64
    %c4 = arith.constant 19 : i64
    %c5 = arith.constant 32 : i64
    %c6 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : vector<32xi64>
    %c7 = arith.constant dense<0.0> : vector<32xf32>
    %c8 = arith.constant true
    %c9 = arith.constant 5 : i64
    %c10 = arith.constant 95 : i64
    %nothing = arith.constant 0 : i64
    %errorat = llvm.getelementptr %frame[2] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %nothing, %errorat : i64, !llvm.ptr
    %one = arith.constant 1 : i64
    %grain = arith.constant 21845 : i64
    %wanted = arith.divsi %c10, %grain : i64
    %useful = arith.minsi %wanted, %c9 : i64
    %several = arith.cmpi sgt, %useful, %one : i64
    scf.if %several {
      %most32 = llvm.call @omp_get_max_threads() : () -> i32
      %most = arith.extsi %most32 : i32 to i64
      %threads = arith.minsi %useful, %most : i64
      %alone = arith.cmpi sle, %threads, %one : i64
      scf.if %alone {
        llvm.call @NAME_body(%frame, %nothing, %c9) : (!llvm.ptr, i64, i64) -> ()
      } else {
        %task = llvm.mlir.addressof @NAME_task : !llvm.ptr
        %threads32 = arith.trunci %threads : i64 to i32
        %flags = arith.constant 0 : i32
        llvm.call @GOMP_parallel(%task, %frame, %threads32, %flags) : (!llvm.ptr, !llvm.ptr, i32, i32) -> ()
      }
    } else {
      llvm.call @NAME_body(%frame, %nothing, %c9) : (!llvm.ptr, i64, i64) -> ()
    }
    %error = llvm.load %errorat : !llvm.ptr -> i64
    llvm.return %error : i64
  }
