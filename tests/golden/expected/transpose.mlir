  llvm.func internal @NAME_body(%frame: !llvm.ptr, %begin: i64, %end: i64) attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant 32 : i64
    %c2 = arith.constant 23 : i64
    %c3 = arith.constant 512 : i64
    %c4 = arith.constant 19 : i64
    %c5 = arith.constant 8 : i64
    %c6 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi64>
    %c7 = arith.constant dense<0.0> : vector<8xf32>
    %c8 = arith.constant 2 : i64
    %c9 = arith.constant 3 : i64
    %c10 = arith.constant 4 : i64
    %c11 = arith.constant 5 : i64
    %c12 = arith.constant 6 : i64
    %c13 = arith.constant 7 : i64
    %c14 = arith.constant 0 : i64
    %c15 = arith.constant 0x3F800000 : f32
    %c16 = arith.constant 18 : i64
    %slot1n = llvm.mlir.constant(32 : i64) : i64
    %slot1 = llvm.alloca %slot1n x vector<8xf32> {alignment = 64 : i64} : (i64) -> !llvm.ptr
    %buffer0at = llvm.getelementptr %frame[0] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer0 = llvm.load %buffer0at : !llvm.ptr -> !llvm.ptr
    %buffer1at = llvm.getelementptr %frame[1] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer1 = llvm.load %buffer1at : !llvm.ptr -> !llvm.ptr
    scf.for %1 = %begin to %end step %c0 : i64 {
      %2 = arith.divsi %1, %c0 : i64
      %3 = arith.remsi %1, %c0 : i64
      %4 = arith.divsi %3, %c0 : i64
      %5 = arith.remsi %3, %c0 : i64
      %6 = arith.muli %4, %c1 : i64
      %7 = arith.addi %6, %c1 : i64
      %8 = arith.minsi %7, %c2 : i64
      %9 = arith.muli %5, %c3 : i64
      %10 = arith.addi %9, %c3 : i64
      %11 = arith.minsi %10, %c4 : i64
      %12 = arith.subi %11, %9 : i64
      %13 = arith.remsi %12, %c5 : i64
      %14 = arith.subi %12, %13 : i64
      %15 = arith.addi %9, %14 : i64
      scf.for %16 = %9 to %15 step %c5 : i64 {
        scf.for %17 = %6 to %8 step %c5 : i64 {
          %18 = arith.subi %8, %17 : i64
          %19 = vector.broadcast %18 : i64 to vector<8xi64>
          %20 = arith.cmpi slt, %c6, %19 : vector<8xi64>
          %21 = arith.muli %16, %c2 : i64
          %22 = arith.addi %21, %17 : i64
          %23 = llvm.getelementptr %buffer0[%22] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %24 = llvm.intr.masked.load %23, %20, %c7 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %25 = arith.addi %16, %c0 : i64
          %26 = arith.muli %25, %c2 : i64
          %27 = arith.addi %26, %17 : i64
          %28 = llvm.getelementptr %buffer0[%27] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %29 = llvm.intr.masked.load %28, %20, %c7 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %30 = arith.addi %16, %c8 : i64
          %31 = arith.muli %30, %c2 : i64
          %32 = arith.addi %31, %17 : i64
          %33 = llvm.getelementptr %buffer0[%32] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %34 = llvm.intr.masked.load %33, %20, %c7 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %35 = arith.addi %16, %c9 : i64
          %36 = arith.muli %35, %c2 : i64
          %37 = arith.addi %36, %17 : i64
          %38 = llvm.getelementptr %buffer0[%37] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %39 = llvm.intr.masked.load %38, %20, %c7 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %40 = arith.addi %16, %c10 : i64
          %41 = arith.muli %40, %c2 : i64
          %42 = arith.addi %41, %17 : i64
          %43 = llvm.getelementptr %buffer0[%42] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %44 = llvm.intr.masked.load %43, %20, %c7 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %45 = arith.addi %16, %c11 : i64
          %46 = arith.muli %45, %c2 : i64
          %47 = arith.addi %46, %17 : i64
          %48 = llvm.getelementptr %buffer0[%47] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %49 = llvm.intr.masked.load %48, %20, %c7 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %50 = arith.addi %16, %c12 : i64
          %51 = arith.muli %50, %c2 : i64
          %52 = arith.addi %51, %17 : i64
          %53 = llvm.getelementptr %buffer0[%52] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %54 = llvm.intr.masked.load %53, %20, %c7 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %55 = arith.addi %16, %c13 : i64
          %56 = arith.muli %55, %c2 : i64
          %57 = arith.addi %56, %17 : i64
          %58 = llvm.getelementptr %buffer0[%57] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %59 = llvm.intr.masked.load %58, %20, %c7 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %60 = vector.shuffle %24, %44 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %61 = vector.shuffle %24, %44 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %62 = vector.shuffle %29, %49 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %63 = vector.shuffle %29, %49 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %64 = vector.shuffle %34, %54 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %65 = vector.shuffle %34, %54 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %66 = vector.shuffle %39, %59 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %67 = vector.shuffle %39, %59 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %68 = vector.shuffle %60, %64 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %69 = vector.shuffle %60, %64 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %70 = vector.shuffle %61, %65 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %71 = vector.shuffle %61, %65 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %72 = vector.shuffle %62, %66 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %73 = vector.shuffle %62, %66 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %74 = vector.shuffle %63, %67 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %75 = vector.shuffle %63, %67 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %76 = vector.shuffle %68, %72 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %77 = vector.shuffle %68, %72 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %78 = vector.shuffle %69, %73 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %79 = vector.shuffle %69, %73 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %80 = vector.shuffle %70, %74 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %81 = vector.shuffle %70, %74 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %82 = vector.shuffle %71, %75 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %83 = vector.shuffle %71, %75 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %84 = arith.subi %17, %6 : i64
          %85 = arith.addi %84, %c14 : i64
          %86 = llvm.getelementptr %slot1[%85] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %76, %86 : vector<8xf32>, !llvm.ptr
          %87 = arith.subi %17, %6 : i64
          %88 = arith.addi %87, %c0 : i64
          %89 = llvm.getelementptr %slot1[%88] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %77, %89 : vector<8xf32>, !llvm.ptr
          %90 = arith.subi %17, %6 : i64
          %91 = arith.addi %90, %c8 : i64
          %92 = llvm.getelementptr %slot1[%91] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %78, %92 : vector<8xf32>, !llvm.ptr
          %93 = arith.subi %17, %6 : i64
          %94 = arith.addi %93, %c9 : i64
          %95 = llvm.getelementptr %slot1[%94] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %79, %95 : vector<8xf32>, !llvm.ptr
          %96 = arith.subi %17, %6 : i64
          %97 = arith.addi %96, %c10 : i64
          %98 = llvm.getelementptr %slot1[%97] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %80, %98 : vector<8xf32>, !llvm.ptr
          %99 = arith.subi %17, %6 : i64
          %100 = arith.addi %99, %c11 : i64
          %101 = llvm.getelementptr %slot1[%100] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %81, %101 : vector<8xf32>, !llvm.ptr
          %102 = arith.subi %17, %6 : i64
          %103 = arith.addi %102, %c12 : i64
          %104 = llvm.getelementptr %slot1[%103] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %82, %104 : vector<8xf32>, !llvm.ptr
          %105 = arith.subi %17, %6 : i64
          %106 = arith.addi %105, %c13 : i64
          %107 = llvm.getelementptr %slot1[%106] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %83, %107 : vector<8xf32>, !llvm.ptr
        }
        scf.for %108 = %6 to %8 step %c0 : i64 {
          %109 = arith.subi %108, %6 : i64
          %110 = llvm.getelementptr %slot1[%109] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          %111 = llvm.load %110 : !llvm.ptr -> vector<8xf32>
          %112 = vector.broadcast %c15 : f32 to vector<8xf32>
          %113 = arith.addf %111, %112 : vector<8xf32>
          %114 = arith.muli %108, %c4 : i64
          %115 = arith.addi %114, %16 : i64
          %116 = llvm.getelementptr %buffer1[%115] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          llvm.store %113, %116 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
        }
      }
      %117 = arith.cmpi slt, %15, %11 : i64
      scf.if %117 {
        %118 = arith.subi %11, %15 : i64
        %119 = vector.broadcast %118 : i64 to vector<8xi64>
        %120 = arith.cmpi slt, %c6, %119 : vector<8xi64>
        scf.for %121 = %6 to %8 step %c5 : i64 {
          %122 = arith.subi %8, %121 : i64
          %123 = vector.broadcast %122 : i64 to vector<8xi64>
          %124 = arith.cmpi slt, %c6, %123 : vector<8xi64>
          %125 = arith.minsi %15, %c16 : i64
          %126 = arith.muli %125, %c2 : i64
          %127 = arith.addi %126, %121 : i64
          %128 = llvm.getelementptr %buffer0[%127] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %129 = llvm.intr.masked.load %128, %124, %c7 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %130 = arith.addi %15, %c0 : i64
          %131 = arith.minsi %130, %c16 : i64
          %132 = arith.muli %131, %c2 : i64
          %133 = arith.addi %132, %121 : i64
          %134 = llvm.getelementptr %buffer0[%133] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %135 = llvm.intr.masked.load %134, %124, %c7 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %136 = arith.addi %15, %c8 : i64
          %137 = arith.minsi %136, %c16 : i64
          %138 = arith.muli %137, %c2 : i64
          %139 = arith.addi %138, %121 : i64
          %140 = llvm.getelementptr %buffer0[%139] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %141 = llvm.intr.masked.load %140, %124, %c7 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %142 = arith.addi %15, %c9 : i64
          %143 = arith.minsi %142, %c16 : i64
          %144 = arith.muli %143, %c2 : i64
          %145 = arith.addi %144, %121 : i64
          %146 = llvm.getelementptr %buffer0[%145] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %147 = llvm.intr.masked.load %146, %124, %c7 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %148 = arith.addi %15, %c10 : i64
          %149 = arith.minsi %148, %c16 : i64
          %150 = arith.muli %149, %c2 : i64
          %151 = arith.addi %150, %121 : i64
          %152 = llvm.getelementptr %buffer0[%151] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %153 = llvm.intr.masked.load %152, %124, %c7 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %154 = arith.addi %15, %c11 : i64
          %155 = arith.minsi %154, %c16 : i64
          %156 = arith.muli %155, %c2 : i64
          %157 = arith.addi %156, %121 : i64
          %158 = llvm.getelementptr %buffer0[%157] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %159 = llvm.intr.masked.load %158, %124, %c7 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %160 = arith.addi %15, %c12 : i64
          %161 = arith.minsi %160, %c16 : i64
          %162 = arith.muli %161, %c2 : i64
          %163 = arith.addi %162, %121 : i64
          %164 = llvm.getelementptr %buffer0[%163] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %165 = llvm.intr.masked.load %164, %124, %c7 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %166 = arith.addi %15, %c13 : i64
          %167 = arith.minsi %166, %c16 : i64
          %168 = arith.muli %167, %c2 : i64
          %169 = arith.addi %168, %121 : i64
          %170 = llvm.getelementptr %buffer0[%169] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %171 = llvm.intr.masked.load %170, %124, %c7 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %172 = vector.shuffle %129, %153 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %173 = vector.shuffle %129, %153 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %174 = vector.shuffle %135, %159 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %175 = vector.shuffle %135, %159 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %176 = vector.shuffle %141, %165 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %177 = vector.shuffle %141, %165 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %178 = vector.shuffle %147, %171 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %179 = vector.shuffle %147, %171 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %180 = vector.shuffle %172, %176 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %181 = vector.shuffle %172, %176 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %182 = vector.shuffle %173, %177 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %183 = vector.shuffle %173, %177 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %184 = vector.shuffle %174, %178 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %185 = vector.shuffle %174, %178 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %186 = vector.shuffle %175, %179 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %187 = vector.shuffle %175, %179 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %188 = vector.shuffle %180, %184 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %189 = vector.shuffle %180, %184 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %190 = vector.shuffle %181, %185 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %191 = vector.shuffle %181, %185 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %192 = vector.shuffle %182, %186 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %193 = vector.shuffle %182, %186 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %194 = vector.shuffle %183, %187 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %195 = vector.shuffle %183, %187 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %196 = arith.subi %121, %6 : i64
          %197 = arith.addi %196, %c14 : i64
          %198 = llvm.getelementptr %slot1[%197] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %188, %198 : vector<8xf32>, !llvm.ptr
          %199 = arith.subi %121, %6 : i64
          %200 = arith.addi %199, %c0 : i64
          %201 = llvm.getelementptr %slot1[%200] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %189, %201 : vector<8xf32>, !llvm.ptr
          %202 = arith.subi %121, %6 : i64
          %203 = arith.addi %202, %c8 : i64
          %204 = llvm.getelementptr %slot1[%203] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %190, %204 : vector<8xf32>, !llvm.ptr
          %205 = arith.subi %121, %6 : i64
          %206 = arith.addi %205, %c9 : i64
          %207 = llvm.getelementptr %slot1[%206] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %191, %207 : vector<8xf32>, !llvm.ptr
          %208 = arith.subi %121, %6 : i64
          %209 = arith.addi %208, %c10 : i64
          %210 = llvm.getelementptr %slot1[%209] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %192, %210 : vector<8xf32>, !llvm.ptr
          %211 = arith.subi %121, %6 : i64
          %212 = arith.addi %211, %c11 : i64
          %213 = llvm.getelementptr %slot1[%212] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %193, %213 : vector<8xf32>, !llvm.ptr
          %214 = arith.subi %121, %6 : i64
          %215 = arith.addi %214, %c12 : i64
          %216 = llvm.getelementptr %slot1[%215] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %194, %216 : vector<8xf32>, !llvm.ptr
          %217 = arith.subi %121, %6 : i64
          %218 = arith.addi %217, %c13 : i64
          %219 = llvm.getelementptr %slot1[%218] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %195, %219 : vector<8xf32>, !llvm.ptr
        }
        scf.for %220 = %6 to %8 step %c0 : i64 {
          %221 = arith.subi %220, %6 : i64
          %222 = llvm.getelementptr %slot1[%221] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          %223 = llvm.load %222 : !llvm.ptr -> vector<8xf32>
          %224 = vector.broadcast %c15 : f32 to vector<8xf32>
          %225 = arith.addf %223, %224 : vector<8xf32>
          %226 = arith.muli %220, %c4 : i64
          %227 = arith.addi %226, %15 : i64
          %228 = llvm.getelementptr %buffer1[%227] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          llvm.intr.masked.store %225, %228, %120 {alignment = 4 : i32} : vector<8xf32>, vector<8xi1> into !llvm.ptr
        }
      }
    }
    llvm.return
  }
  llvm.func internal @NAME_task(%frame: !llvm.ptr) {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant 32 : i64
    %c2 = arith.constant 23 : i64
    %c3 = arith.constant 512 : i64
    %c4 = arith.constant 19 : i64
    %c5 = arith.constant 8 : i64
    %c6 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi64>
    %c7 = arith.constant dense<0.0> : vector<8xf32>
    %c8 = arith.constant 2 : i64
    %c9 = arith.constant 3 : i64
    %c10 = arith.constant 4 : i64
    %c11 = arith.constant 5 : i64
    %c12 = arith.constant 6 : i64
    %c13 = arith.constant 7 : i64
    %c14 = arith.constant 0 : i64
    %c15 = arith.constant 0x3F800000 : f32
    %c16 = arith.constant 18 : i64
    %c17 = arith.constant 437 : i64
    %229 = arith.muli %c0, %c0 : i64
    %thread32 = llvm.call @omp_get_thread_num() : () -> i32
    %threads32 = llvm.call @omp_get_num_threads() : () -> i32
    %thread = arith.extsi %thread32 : i32 to i64
    %threads = arith.extsi %threads32 : i32 to i64
    %one = arith.constant 1 : i64
    %rounded = arith.addi %229, %threads : i64
    %upper = arith.subi %rounded, %one : i64
    %share = arith.divsi %upper, %threads : i64
    %begin = arith.muli %thread, %share : i64
    %stop = arith.addi %begin, %share : i64
    %end = arith.minsi %stop, %229 : i64
    %some = arith.cmpi slt, %begin, %end : i64
    scf.if %some {
      llvm.call @NAME_body(%frame, %begin, %end) : (!llvm.ptr, i64, i64) -> ()
    }
    llvm.return
  }
  llvm.func internal @NAME(%buffer0: !llvm.ptr, %buffer1: !llvm.ptr) -> i64 attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant 32 : i64
    %c2 = arith.constant 23 : i64
    %c3 = arith.constant 512 : i64
    %c4 = arith.constant 19 : i64
    %c5 = arith.constant 8 : i64
    %c6 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi64>
    %c7 = arith.constant dense<0.0> : vector<8xf32>
    %c8 = arith.constant 2 : i64
    %c9 = arith.constant 3 : i64
    %c10 = arith.constant 4 : i64
    %c11 = arith.constant 5 : i64
    %c12 = arith.constant 6 : i64
    %c13 = arith.constant 7 : i64
    %c14 = arith.constant 0 : i64
    %c15 = arith.constant 0x3F800000 : f32
    %c16 = arith.constant 18 : i64
    %c17 = arith.constant 437 : i64
    %229 = arith.muli %c0, %c0 : i64
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
    %grain = arith.constant 21845 : i64
    %wanted = arith.divsi %c17, %grain : i64
    %useful = arith.minsi %wanted, %229 : i64
    %several = arith.cmpi sgt, %useful, %one : i64
    scf.if %several {
      %most32 = llvm.call @omp_get_max_threads() : () -> i32
      %most = arith.extsi %most32 : i32 to i64
      %threads = arith.minsi %useful, %most : i64
      %alone = arith.cmpi sle, %threads, %one : i64
      scf.if %alone {
        llvm.call @NAME_body(%frame, %nothing, %229) : (!llvm.ptr, i64, i64) -> ()
      } else {
        %task = llvm.mlir.addressof @NAME_task : !llvm.ptr
        %threads32 = arith.trunci %threads : i64 to i32
        %flags = arith.constant 0 : i32
        llvm.call @GOMP_parallel(%task, %frame, %threads32, %flags) : (!llvm.ptr, !llvm.ptr, i32, i32) -> ()
      }
    } else {
      llvm.call @NAME_body(%frame, %nothing, %229) : (!llvm.ptr, i64, i64) -> ()
    }
    %error = llvm.load %errorat : !llvm.ptr -> i64
    llvm.return %error : i64
  }
