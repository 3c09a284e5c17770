  llvm.func internal @NAME_body(%frame: !llvm.ptr, %begin: i64, %end: i64) attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 2048 : i64
    %c1 = arith.constant 7 : i64
    %c2 = arith.constant 8 : i64
    %c3 = arith.constant 0 : i32
    %c4 = arith.constant 1 : i32
    %c5 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi64>
    %c6 = arith.constant dense<0> : vector<8xi32>
    %slot1n = llvm.mlir.constant(1 : i64) : i64
    %slot1 = llvm.alloca %slot1n x i32 {alignment = 64 : i64} : (i64) -> !llvm.ptr
    %buffer0at = llvm.getelementptr %frame[0] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer0 = llvm.load %buffer0at : !llvm.ptr -> !llvm.ptr
    %buffer1at = llvm.getelementptr %frame[1] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer1 = llvm.load %buffer1at : !llvm.ptr -> !llvm.ptr
    %buffer2at = llvm.getelementptr %frame[2] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer2 = llvm.load %buffer2at : !llvm.ptr -> !llvm.ptr
    %slot1z = arith.constant 0 : i32
    llvm.store %slot1z, %slot1 : i32, !llvm.ptr
    %1 = arith.muli %begin, %c0 : i64
    %2 = arith.muli %end, %c0 : i64
    %3 = arith.minsi %2, %c1 : i64
    %4 = arith.subi %3, %1 : i64
    %5 = arith.remsi %4, %c2 : i64
    %6 = arith.subi %4, %5 : i64
    %7 = arith.addi %1, %6 : i64
    scf.for %8 = %1 to %7 step %c2 : i64 {
      %9 = llvm.getelementptr %buffer0[%8] : (!llvm.ptr, i64) -> !llvm.ptr, i32
      %10 = llvm.load %9 {alignment = 4 : i64} : !llvm.ptr -> vector<8xi32>
      %11 = llvm.getelementptr %buffer1[%8] : (!llvm.ptr, i64) -> !llvm.ptr, i32
      %12 = llvm.load %11 {alignment = 4 : i64} : !llvm.ptr -> vector<8xi32>
      %13 = vector.broadcast %c3 : i32 to vector<8xi32>
      %14 = arith.cmpi eq, %12, %13 : vector<8xi32>
      %15 = vector.broadcast %c4 : i32 to vector<8xi32>
      %16 = arith.select %14, %15, %12 : vector<8xi1>, vector<8xi32>
      %17 = arith.sitofp %10 : vector<8xi32> to vector<8xf64>
      %18 = arith.sitofp %16 : vector<8xi32> to vector<8xf64>
      %19 = arith.divf %17, %18 : vector<8xf64>
      %20 = arith.fptosi %19 : vector<8xf64> to vector<8xi32>
      %21 = arith.muli %20, %16 : vector<8xi32>
      %22 = arith.subi %10, %21 : vector<8xi32>
      %23 = vector.broadcast %c3 : i32 to vector<8xi32>
      %24 = arith.cmpi ne, %22, %23 : vector<8xi32>
      %25 = arith.xori %22, %16 : vector<8xi32>
      %26 = vector.broadcast %c3 : i32 to vector<8xi32>
      %27 = arith.cmpi slt, %25, %26 : vector<8xi32>
      %28 = arith.andi %24, %27 : vector<8xi1>
      %29 = vector.broadcast %c4 : i32 to vector<8xi32>
      %30 = arith.subi %20, %29 : vector<8xi32>
      %31 = arith.select %28, %30, %20 : vector<8xi1>, vector<8xi32>
      %32 = llvm.load %slot1 : !llvm.ptr -> i32
      %33 = vector.reduction <or>, %14 : vector<8xi1> into i1
      %34 = arith.extui %33 : i1 to i32
      %35 = arith.ori %32, %34 : i32
      llvm.store %35, %slot1 : i32, !llvm.ptr
      %36 = llvm.getelementptr %buffer2[%8] : (!llvm.ptr, i64) -> !llvm.ptr, i32
      llvm.store %31, %36 {alignment = 4 : i64} : vector<8xi32>, !llvm.ptr
    }
    %37 = arith.cmpi slt, %7, %3 : i64
    scf.if %37 {
      %38 = arith.subi %3, %7 : i64
      %39 = vector.broadcast %38 : i64 to vector<8xi64>
      %40 = arith.cmpi slt, %c5, %39 : vector<8xi64>
      %41 = llvm.getelementptr %buffer0[%7] : (!llvm.ptr, i64) -> !llvm.ptr, i32
      %42 = llvm.intr.masked.load %41, %40, %c6 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xi32>) -> vector<8xi32>
      %43 = llvm.getelementptr %buffer1[%7] : (!llvm.ptr, i64) -> !llvm.ptr, i32
      %44 = llvm.intr.masked.load %43, %40, %c6 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xi32>) -> vector<8xi32>
      %45 = vector.broadcast %c3 : i32 to vector<8xi32>
      %46 = arith.cmpi eq, %44, %45 : vector<8xi32>
      %47 = vector.broadcast %c4 : i32 to vector<8xi32>
      %48 = arith.select %46, %47, %44 : vector<8xi1>, vector<8xi32>
      %49 = arith.sitofp %42 : vector<8xi32> to vector<8xf64>
      %50 = arith.sitofp %48 : vector<8xi32> to vector<8xf64>
      %51 = arith.divf %49, %50 : vector<8xf64>
      %52 = arith.fptosi %51 : vector<8xf64> to vector<8xi32>
      %53 = arith.muli %52, %48 : vector<8xi32>
      %54 = arith.subi %42, %53 : vector<8xi32>
      %55 = vector.broadcast %c3 : i32 to vector<8xi32>
      %56 = arith.cmpi ne, %54, %55 : vector<8xi32>
      %57 = arith.xori %54, %48 : vector<8xi32>
      %58 = vector.broadcast %c3 : i32 to vector<8xi32>
      %59 = arith.cmpi slt, %57, %58 : vector<8xi32>
      %60 = arith.andi %56, %59 : vector<8xi1>
      %61 = vector.broadcast %c4 : i32 to vector<8xi32>
      %62 = arith.subi %52, %61 : vector<8xi32>
      %63 = arith.select %60, %62, %52 : vector<8xi1>, vector<8xi32>
      %64 = arith.andi %46, %40 : vector<8xi1>
      %65 = llvm.load %slot1 : !llvm.ptr -> i32
      %66 = vector.reduction <or>, %64 : vector<8xi1> into i1
      %67 = arith.extui %66 : i1 to i32
      %68 = arith.ori %65, %67 : i32
      llvm.store %68, %slot1 : i32, !llvm.ptr
      %69 = llvm.getelementptr %buffer2[%7] : (!llvm.ptr, i64) -> !llvm.ptr, i32
      llvm.intr.masked.store %63, %69, %40 {alignment = 4 : i32} : vector<8xi32>, vector<8xi1> into !llvm.ptr
    }
    %slot1v = llvm.load %slot1 : !llvm.ptr -> i32
    %slot1c = arith.cmpi ne, %slot1v, %slot1z : i32
    scf.if %slot1c {
      %slot1e = arith.constant 1 : i64
      %slot1p = llvm.getelementptr %frame[3] : (!llvm.ptr) -> !llvm.ptr, i64
      llvm.store %slot1e, %slot1p : i64, !llvm.ptr
    }
    llvm.return
  }
  llvm.func internal @NAME_task(%frame: !llvm.ptr) {
    %c0 = arith.constant 2048 : i64
    %c1 = arith.constant 7 : i64
    %c2 = arith.constant 8 : i64
    %c3 = arith.constant 0 : i32
    %c4 = arith.constant 1 : i32
    %c5 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi64>
    %c6 = arith.constant dense<0> : vector<8xi32>
    %c7 = arith.constant 1 : i64
    %c8 = arith.constant 2047 : i64
    %70 = arith.addi %c1, %c8 : i64
    %71 = arith.divsi %70, %c0 : i64
    %72 = arith.muli %c7, %71 : i64
    %thread32 = llvm.call @omp_get_thread_num() : () -> i32
    %threads32 = llvm.call @omp_get_num_threads() : () -> i32
    %thread = arith.extsi %thread32 : i32 to i64
    %threads = arith.extsi %threads32 : i32 to i64
    %one = arith.constant 1 : i64
    %rounded = arith.addi %72, %threads : i64
    %upper = arith.subi %rounded, %one : i64
    %share = arith.divsi %upper, %threads : i64
    %begin = arith.muli %thread, %share : i64
    %stop = arith.addi %begin, %share : i64
    %end = arith.minsi %stop, %72 : i64
    %some = arith.cmpi slt, %begin, %end : i64
    scf.if %some {
      llvm.call @NAME_body(%frame, %begin, %end) : (!llvm.ptr, i64, i64) -> ()
    }
    llvm.return
  }
  llvm.func internal @NAME(%frame: !llvm.ptr) -> i64 attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 2048 : i64
    %c1 = arith.constant 7 : i64
    %c2 = arith.constant 8 : i64
    %c3 = arith.constant 0 : i32
    %c4 = arith.constant 1 : i32
    %c5 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi64>
    %c6 = arith.constant dense<0> : vector<8xi32>
    %c7 = arith.constant 1 : i64
    %c8 = arith.constant 2047 : i64
    %70 = arith.addi %c1, %c8 : i64
    %71 = arith.divsi %70, %c0 : i64
    %72 = arith.muli %c7, %71 : i64
    %nothing = arith.constant 0 : i64
    %errorat = llvm.getelementptr %frame[3] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %nothing, %errorat : i64, !llvm.ptr
    %one = arith.constant 1 : i64
    %grain = arith.constant 4369 : i64
    %wanted = arith.divsi %c1, %grain : i64
    %useful = arith.minsi %wanted, %72 : i64
    %several = arith.cmpi sgt, %useful, %one : i64
    scf.if %several {
      %most32 = llvm.call @omp_get_max_threads() : () -> i32
      %most = arith.extsi %most32 : i32 to i64
      %threads = arith.minsi %useful, %most : i64
      %alone = arith.cmpi sle, %threads, %one : i64
      scf.if %alone {
        llvm.call @NAME_body(%frame, %nothing, %72) : (!llvm.ptr, i64, i64) -> ()
      } else {
        %task = llvm.mlir.addressof @NAME_task : !llvm.ptr
        %threads32 = arith.trunci %threads : i64 to i32
        %flags = arith.constant 0 : i32
        llvm.call @GOMP_parallel(%task, %frame, %threads32, %flags) : (!llvm.ptr, !llvm.ptr, i32, i32) -> ()
      }
    } else {
      llvm.call @NAME_body(%frame, %nothing, %72) : (!llvm.ptr, i64, i64) -> ()
    }
    %error = llvm.load %errorat : !llvm.ptr -> i64
    llvm.return %error : i64
  }
