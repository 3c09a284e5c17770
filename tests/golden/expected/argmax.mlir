  llvm.func internal @NAME_body(%frame: !llvm.ptr, %begin: i64, %end: i64) attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant dense<0xFF800000> : vector<16xf32>
    %c2 = arith.constant dense<0> : vector<16xi32>
    %c3 = arith.constant 0 : i64
    %c4 = arith.constant 19 : i64
    %c5 = arith.constant 16 : i64
    %c6 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]> : vector<16xi64>
    %c7 = arith.constant true
    %c8 = arith.constant dense<0.0> : vector<16xf32>
    %slot1n = llvm.mlir.constant(1 : i64) : i64
    %slot1 = llvm.alloca %slot1n x vector<16xf32> {alignment = 64 : i64} : (i64) -> !llvm.ptr
    %slot2n = llvm.mlir.constant(1 : i64) : i64
    %slot2 = llvm.alloca %slot2n x vector<16xi32> {alignment = 64 : i64} : (i64) -> !llvm.ptr
    %buffer0at = llvm.getelementptr %frame[0] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer0 = llvm.load %buffer0at : !llvm.ptr -> !llvm.ptr
    %buffer1at = llvm.getelementptr %frame[1] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer1 = llvm.load %buffer1at : !llvm.ptr -> !llvm.ptr
    scf.for %1 = %begin to %end step %c0 : i64 {
      llvm.store %c1, %slot1 : vector<16xf32>, !llvm.ptr
      llvm.store %c2, %slot2 : vector<16xi32>, !llvm.ptr
      %2 = arith.subi %c4, %c3 : i64
      %3 = arith.remsi %2, %c5 : i64
      %4 = arith.subi %2, %3 : i64
      %5 = arith.addi %c3, %4 : i64
      scf.for %6 = %c3 to %5 step %c5 : i64 {
        %7 = arith.muli %1, %c4 : i64
        %8 = arith.addi %7, %6 : i64
        %9 = llvm.getelementptr %buffer0[%8] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %10 = llvm.load %9 {alignment = 4 : i64} : !llvm.ptr -> vector<16xf32>
        %11 = llvm.load %slot1 : !llvm.ptr -> vector<16xf32>
        %12 = llvm.load %slot2 : !llvm.ptr -> vector<16xi32>
        %13 = arith.trunci %6 : i64 to i32
        %14 = vector.broadcast %13 : i32 to vector<16xi32>
        %15 = arith.trunci %c6 : vector<16xi64> to vector<16xi32>
        %16 = arith.addi %14, %15 : vector<16xi32>
        %17 = arith.cmpf ole, %10, %11 : vector<16xf32>
        %18 = vector.broadcast %c7 : i1 to vector<16xi1>
        %19 = arith.xori %17, %18 : vector<16xi1>
        %20 = arith.cmpf oeq, %11, %11 : vector<16xf32>
        %21 = arith.andi %19, %20 : vector<16xi1>
        %22 = arith.select %21, %10, %11 : vector<16xi1>, vector<16xf32>
        %23 = arith.select %21, %16, %12 : vector<16xi1>, vector<16xi32>
        llvm.store %22, %slot1 : vector<16xf32>, !llvm.ptr
        llvm.store %23, %slot2 : vector<16xi32>, !llvm.ptr
      }
      %24 = arith.cmpi slt, %5, %c4 : i64
      scf.if %24 {
        %25 = arith.subi %c4, %5 : i64
        %26 = vector.broadcast %25 : i64 to vector<16xi64>
        %27 = arith.cmpi slt, %c6, %26 : vector<16xi64>
        %28 = arith.muli %1, %c4 : i64
        %29 = arith.addi %28, %5 : i64
        %30 = llvm.getelementptr %buffer0[%29] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %31 = llvm.intr.masked.load %30, %27, %c8 {alignment = 4 : i32} : (!llvm.ptr, vector<16xi1>, vector<16xf32>) -> vector<16xf32>
        %32 = llvm.load %slot1 : !llvm.ptr -> vector<16xf32>
        %33 = llvm.load %slot2 : !llvm.ptr -> vector<16xi32>
        %34 = arith.trunci %5 : i64 to i32
        %35 = vector.broadcast %34 : i32 to vector<16xi32>
        %36 = arith.trunci %c6 : vector<16xi64> to vector<16xi32>
        %37 = arith.addi %35, %36 : vector<16xi32>
        %38 = arith.select %27, %31, %c1 : vector<16xi1>, vector<16xf32>
        %39 = arith.select %27, %37, %c2 : vector<16xi1>, vector<16xi32>
        %40 = arith.cmpf ole, %38, %32 : vector<16xf32>
        %41 = vector.broadcast %c7 : i1 to vector<16xi1>
        %42 = arith.xori %40, %41 : vector<16xi1>
        %43 = arith.cmpf oeq, %32, %32 : vector<16xf32>
        %44 = arith.andi %42, %43 : vector<16xi1>
        %45 = arith.select %44, %38, %32 : vector<16xi1>, vector<16xf32>
        %46 = arith.select %44, %39, %33 : vector<16xi1>, vector<16xi32>
        llvm.store %45, %slot1 : vector<16xf32>, !llvm.ptr
        llvm.store %46, %slot2 : vector<16xi32>, !llvm.ptr
      }
      %47 = llvm.load %slot1 : !llvm.ptr -> vector<16xf32>
      %48 = llvm.load %slot2 : !llvm.ptr -> vector<16xi32>
      %49 = vector.extract_strided_slice %47 {offsets = [0], sizes = [8], strides = [1]} : vector<16xf32> to vector<8xf32>
      %50 = vector.extract_strided_slice %48 {offsets = [0], sizes = [8], strides = [1]} : vector<16xi32> to vector<8xi32>
      %51 = vector.extract_strided_slice %47 {offsets = [8], sizes = [8], strides = [1]} : vector<16xf32> to vector<8xf32>
      %52 = vector.extract_strided_slice %48 {offsets = [8], sizes = [8], strides = [1]} : vector<16xi32> to vector<8xi32>
      %53 = arith.cmpf ogt, %51, %49 : vector<8xf32>
      %54 = arith.cmpf oeq, %51, %49 : vector<8xf32>
      %55 = arith.cmpf uno, %51, %51 : vector<8xf32>
      %56 = arith.cmpf uno, %49, %49 : vector<8xf32>
      %57 = vector.broadcast %c7 : i1 to vector<8xi1>
      %58 = arith.xori %56, %57 : vector<8xi1>
      %59 = arith.andi %55, %58 : vector<8xi1>
      %60 = arith.ori %53, %59 : vector<8xi1>
      %61 = arith.andi %55, %56 : vector<8xi1>
      %62 = arith.ori %54, %61 : vector<8xi1>
      %63 = arith.cmpi slt, %52, %50 : vector<8xi32>
      %64 = arith.andi %62, %63 : vector<8xi1>
      %65 = arith.ori %60, %64 : vector<8xi1>
      %66 = arith.select %65, %51, %49 : vector<8xi1>, vector<8xf32>
      %67 = arith.select %65, %52, %50 : vector<8xi1>, vector<8xi32>
      %68 = vector.extract_strided_slice %66 {offsets = [0], sizes = [4], strides = [1]} : vector<8xf32> to vector<4xf32>
      %69 = vector.extract_strided_slice %67 {offsets = [0], sizes = [4], strides = [1]} : vector<8xi32> to vector<4xi32>
      %70 = vector.extract_strided_slice %66 {offsets = [4], sizes = [4], strides = [1]} : vector<8xf32> to vector<4xf32>
      %71 = vector.extract_strided_slice %67 {offsets = [4], sizes = [4], strides = [1]} : vector<8xi32> to vector<4xi32>
      %72 = arith.cmpf ogt, %70, %68 : vector<4xf32>
      %73 = arith.cmpf oeq, %70, %68 : vector<4xf32>
      %74 = arith.cmpf uno, %70, %70 : vector<4xf32>
      %75 = arith.cmpf uno, %68, %68 : vector<4xf32>
      %76 = vector.broadcast %c7 : i1 to vector<4xi1>
      %77 = arith.xori %75, %76 : vector<4xi1>
      %78 = arith.andi %74, %77 : vector<4xi1>
      %79 = arith.ori %72, %78 : vector<4xi1>
      %80 = arith.andi %74, %75 : vector<4xi1>
      %81 = arith.ori %73, %80 : vector<4xi1>
      %82 = arith.cmpi slt, %71, %69 : vector<4xi32>
      %83 = arith.andi %81, %82 : vector<4xi1>
      %84 = arith.ori %79, %83 : vector<4xi1>
      %85 = arith.select %84, %70, %68 : vector<4xi1>, vector<4xf32>
      %86 = arith.select %84, %71, %69 : vector<4xi1>, vector<4xi32>
      %87 = vector.extract_strided_slice %85 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
      %88 = vector.extract_strided_slice %86 {offsets = [0], sizes = [2], strides = [1]} : vector<4xi32> to vector<2xi32>
      %89 = vector.extract_strided_slice %85 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
      %90 = vector.extract_strided_slice %86 {offsets = [2], sizes = [2], strides = [1]} : vector<4xi32> to vector<2xi32>
      %91 = arith.cmpf ogt, %89, %87 : vector<2xf32>
      %92 = arith.cmpf oeq, %89, %87 : vector<2xf32>
      %93 = arith.cmpf uno, %89, %89 : vector<2xf32>
      %94 = arith.cmpf uno, %87, %87 : vector<2xf32>
      %95 = vector.broadcast %c7 : i1 to vector<2xi1>
      %96 = arith.xori %94, %95 : vector<2xi1>
      %97 = arith.andi %93, %96 : vector<2xi1>
      %98 = arith.ori %91, %97 : vector<2xi1>
      %99 = arith.andi %93, %94 : vector<2xi1>
      %100 = arith.ori %92, %99 : vector<2xi1>
      %101 = arith.cmpi slt, %90, %88 : vector<2xi32>
      %102 = arith.andi %100, %101 : vector<2xi1>
      %103 = arith.ori %98, %102 : vector<2xi1>
      %104 = arith.select %103, %89, %87 : vector<2xi1>, vector<2xf32>
      %105 = arith.select %103, %90, %88 : vector<2xi1>, vector<2xi32>
      %106 = vector.extract %104[0] : f32 from vector<2xf32>
      %107 = vector.extract %105[0] : i32 from vector<2xi32>
      %108 = vector.extract %104[1] : f32 from vector<2xf32>
      %109 = vector.extract %105[1] : i32 from vector<2xi32>
      %110 = arith.cmpf ogt, %108, %106 : f32
      %111 = arith.cmpf oeq, %108, %106 : f32
      %112 = arith.cmpf uno, %108, %108 : f32
      %113 = arith.cmpf uno, %106, %106 : f32
      %114 = arith.xori %113, %c7 : i1
      %115 = arith.andi %112, %114 : i1
      %116 = arith.ori %110, %115 : i1
      %117 = arith.andi %112, %113 : i1
      %118 = arith.ori %111, %117 : i1
      %119 = arith.cmpi slt, %109, %107 : i32
      %120 = arith.andi %118, %119 : i1
      %121 = arith.ori %116, %120 : i1
      %122 = arith.select %121, %108, %106 : i1, f32
      %123 = arith.select %121, %109, %107 : i1, i32
      %124 = arith.extsi %123 : i32 to i64
      %125 = llvm.getelementptr %buffer1[%1] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      llvm.store %124, %125 {alignment = 8 : i64} : i64, !llvm.ptr
    }
    llvm.return
  }
  llvm.func internal @NAME_task(%frame: !llvm.ptr) {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant dense<0xFF800000> : vector<16xf32>
    %c2 = arith.constant dense<0> : vector<16xi32>
    %c3 = arith.constant 0 : i64
    %c4 = arith.constant 19 : i64
    %c5 = arith.constant 16 : i64
    %c6 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]> : vector<16xi64>
    %c7 = arith.constant true
    %c8 = arith.constant dense<0.0> : vector<16xf32>
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
    %c1 = arith.constant dense<0xFF800000> : vector<16xf32>
    %c2 = arith.constant dense<0> : vector<16xi32>
    %c3 = arith.constant 0 : i64
    %c4 = arith.constant 19 : i64
    %c5 = arith.constant 16 : i64
    %c6 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]> : vector<16xi64>
    %c7 = arith.constant true
    %c8 = arith.constant dense<0.0> : vector<16xf32>
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
