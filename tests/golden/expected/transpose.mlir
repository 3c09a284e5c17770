  llvm.func internal @NAME_body(%frame: !llvm.ptr, %begin: i64, %end: i64) attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant 128 : i64
    %c2 = arith.constant 23 : i64
    %c3 = arith.constant 512 : i64
    %c4 = arith.constant 19 : i64
    %c5 = arith.constant 16 : i64
    %c6 = arith.constant 8 : i64
    %c7 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi64>
    %c8 = arith.constant dense<0.0> : vector<8xf32>
    %c9 = arith.constant 2 : i64
    %c10 = arith.constant 3 : i64
    %c11 = arith.constant 4 : i64
    %c12 = arith.constant 5 : i64
    %c13 = arith.constant 6 : i64
    %c14 = arith.constant 7 : i64
    %c15 = arith.constant 0 : i64
    %c16 = arith.constant 9 : i64
    %c17 = arith.constant 10 : i64
    %c18 = arith.constant 11 : i64
    %c19 = arith.constant 12 : i64
    %c20 = arith.constant 13 : i64
    %c21 = arith.constant 14 : i64
    %c22 = arith.constant 15 : i64
    %c23 = arith.constant 0x3F800000 : f32
    %c24 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]> : vector<16xi64>
    %c25 = arith.constant 18 : i64
    %slot1n = llvm.mlir.constant(128 : i64) : i64
    %slot1 = llvm.alloca %slot1n x vector<16xf32> {alignment = 64 : i64} : (i64) -> !llvm.ptr
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
        scf.for %17 = %6 to %8 step %c6 : i64 {
          %18 = arith.subi %8, %17 : i64
          %19 = vector.broadcast %18 : i64 to vector<8xi64>
          %20 = arith.cmpi slt, %c7, %19 : vector<8xi64>
          %21 = arith.muli %16, %c2 : i64
          %22 = arith.addi %21, %17 : i64
          %23 = llvm.getelementptr %buffer0[%22] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %24 = llvm.intr.masked.load %23, %20, %c8 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %25 = arith.addi %16, %c0 : i64
          %26 = arith.muli %25, %c2 : i64
          %27 = arith.addi %26, %17 : i64
          %28 = llvm.getelementptr %buffer0[%27] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %29 = llvm.intr.masked.load %28, %20, %c8 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %30 = arith.addi %16, %c9 : i64
          %31 = arith.muli %30, %c2 : i64
          %32 = arith.addi %31, %17 : i64
          %33 = llvm.getelementptr %buffer0[%32] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %34 = llvm.intr.masked.load %33, %20, %c8 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %35 = arith.addi %16, %c10 : i64
          %36 = arith.muli %35, %c2 : i64
          %37 = arith.addi %36, %17 : i64
          %38 = llvm.getelementptr %buffer0[%37] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %39 = llvm.intr.masked.load %38, %20, %c8 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %40 = arith.addi %16, %c11 : i64
          %41 = arith.muli %40, %c2 : i64
          %42 = arith.addi %41, %17 : i64
          %43 = llvm.getelementptr %buffer0[%42] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %44 = llvm.intr.masked.load %43, %20, %c8 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %45 = arith.addi %16, %c12 : i64
          %46 = arith.muli %45, %c2 : i64
          %47 = arith.addi %46, %17 : i64
          %48 = llvm.getelementptr %buffer0[%47] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %49 = llvm.intr.masked.load %48, %20, %c8 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %50 = arith.addi %16, %c13 : i64
          %51 = arith.muli %50, %c2 : i64
          %52 = arith.addi %51, %17 : i64
          %53 = llvm.getelementptr %buffer0[%52] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %54 = llvm.intr.masked.load %53, %20, %c8 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %55 = arith.addi %16, %c14 : i64
          %56 = arith.muli %55, %c2 : i64
          %57 = arith.addi %56, %17 : i64
          %58 = llvm.getelementptr %buffer0[%57] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %59 = llvm.intr.masked.load %58, %20, %c8 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
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
          %85 = arith.addi %84, %c15 : i64
          %86 = llvm.getelementptr %slot1[%85] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %76, %86 : vector<8xf32>, !llvm.ptr
          %87 = arith.subi %17, %6 : i64
          %88 = arith.addi %87, %c0 : i64
          %89 = llvm.getelementptr %slot1[%88] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %77, %89 : vector<8xf32>, !llvm.ptr
          %90 = arith.subi %17, %6 : i64
          %91 = arith.addi %90, %c9 : i64
          %92 = llvm.getelementptr %slot1[%91] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %78, %92 : vector<8xf32>, !llvm.ptr
          %93 = arith.subi %17, %6 : i64
          %94 = arith.addi %93, %c10 : i64
          %95 = llvm.getelementptr %slot1[%94] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %79, %95 : vector<8xf32>, !llvm.ptr
          %96 = arith.subi %17, %6 : i64
          %97 = arith.addi %96, %c11 : i64
          %98 = llvm.getelementptr %slot1[%97] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %80, %98 : vector<8xf32>, !llvm.ptr
          %99 = arith.subi %17, %6 : i64
          %100 = arith.addi %99, %c12 : i64
          %101 = llvm.getelementptr %slot1[%100] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %81, %101 : vector<8xf32>, !llvm.ptr
          %102 = arith.subi %17, %6 : i64
          %103 = arith.addi %102, %c13 : i64
          %104 = llvm.getelementptr %slot1[%103] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %82, %104 : vector<8xf32>, !llvm.ptr
          %105 = arith.subi %17, %6 : i64
          %106 = arith.addi %105, %c14 : i64
          %107 = llvm.getelementptr %slot1[%106] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %83, %107 : vector<8xf32>, !llvm.ptr
          %108 = arith.addi %16, %c6 : i64
          %109 = arith.muli %108, %c2 : i64
          %110 = arith.addi %109, %17 : i64
          %111 = llvm.getelementptr %buffer0[%110] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %112 = llvm.intr.masked.load %111, %20, %c8 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %113 = arith.addi %16, %c16 : i64
          %114 = arith.muli %113, %c2 : i64
          %115 = arith.addi %114, %17 : i64
          %116 = llvm.getelementptr %buffer0[%115] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %117 = llvm.intr.masked.load %116, %20, %c8 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %118 = arith.addi %16, %c17 : i64
          %119 = arith.muli %118, %c2 : i64
          %120 = arith.addi %119, %17 : i64
          %121 = llvm.getelementptr %buffer0[%120] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %122 = llvm.intr.masked.load %121, %20, %c8 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %123 = arith.addi %16, %c18 : i64
          %124 = arith.muli %123, %c2 : i64
          %125 = arith.addi %124, %17 : i64
          %126 = llvm.getelementptr %buffer0[%125] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %127 = llvm.intr.masked.load %126, %20, %c8 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %128 = arith.addi %16, %c19 : i64
          %129 = arith.muli %128, %c2 : i64
          %130 = arith.addi %129, %17 : i64
          %131 = llvm.getelementptr %buffer0[%130] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %132 = llvm.intr.masked.load %131, %20, %c8 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %133 = arith.addi %16, %c20 : i64
          %134 = arith.muli %133, %c2 : i64
          %135 = arith.addi %134, %17 : i64
          %136 = llvm.getelementptr %buffer0[%135] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %137 = llvm.intr.masked.load %136, %20, %c8 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %138 = arith.addi %16, %c21 : i64
          %139 = arith.muli %138, %c2 : i64
          %140 = arith.addi %139, %17 : i64
          %141 = llvm.getelementptr %buffer0[%140] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %142 = llvm.intr.masked.load %141, %20, %c8 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %143 = arith.addi %16, %c22 : i64
          %144 = arith.muli %143, %c2 : i64
          %145 = arith.addi %144, %17 : i64
          %146 = llvm.getelementptr %buffer0[%145] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %147 = llvm.intr.masked.load %146, %20, %c8 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %148 = vector.shuffle %112, %132 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %149 = vector.shuffle %112, %132 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %150 = vector.shuffle %117, %137 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %151 = vector.shuffle %117, %137 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %152 = vector.shuffle %122, %142 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %153 = vector.shuffle %122, %142 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %154 = vector.shuffle %127, %147 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %155 = vector.shuffle %127, %147 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %156 = vector.shuffle %148, %152 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %157 = vector.shuffle %148, %152 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %158 = vector.shuffle %149, %153 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %159 = vector.shuffle %149, %153 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %160 = vector.shuffle %150, %154 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %161 = vector.shuffle %150, %154 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %162 = vector.shuffle %151, %155 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %163 = vector.shuffle %151, %155 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %164 = vector.shuffle %156, %160 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %165 = vector.shuffle %156, %160 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %166 = vector.shuffle %157, %161 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %167 = vector.shuffle %157, %161 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %168 = vector.shuffle %158, %162 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %169 = vector.shuffle %158, %162 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %170 = vector.shuffle %159, %163 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %171 = vector.shuffle %159, %163 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %172 = arith.subi %17, %6 : i64
          %173 = arith.addi %172, %c15 : i64
          %174 = llvm.getelementptr %slot1[%173] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %175 = llvm.getelementptr %174[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %164, %175 : vector<8xf32>, !llvm.ptr
          %176 = arith.subi %17, %6 : i64
          %177 = arith.addi %176, %c0 : i64
          %178 = llvm.getelementptr %slot1[%177] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %179 = llvm.getelementptr %178[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %165, %179 : vector<8xf32>, !llvm.ptr
          %180 = arith.subi %17, %6 : i64
          %181 = arith.addi %180, %c9 : i64
          %182 = llvm.getelementptr %slot1[%181] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %183 = llvm.getelementptr %182[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %166, %183 : vector<8xf32>, !llvm.ptr
          %184 = arith.subi %17, %6 : i64
          %185 = arith.addi %184, %c10 : i64
          %186 = llvm.getelementptr %slot1[%185] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %187 = llvm.getelementptr %186[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %167, %187 : vector<8xf32>, !llvm.ptr
          %188 = arith.subi %17, %6 : i64
          %189 = arith.addi %188, %c11 : i64
          %190 = llvm.getelementptr %slot1[%189] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %191 = llvm.getelementptr %190[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %168, %191 : vector<8xf32>, !llvm.ptr
          %192 = arith.subi %17, %6 : i64
          %193 = arith.addi %192, %c12 : i64
          %194 = llvm.getelementptr %slot1[%193] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %195 = llvm.getelementptr %194[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %169, %195 : vector<8xf32>, !llvm.ptr
          %196 = arith.subi %17, %6 : i64
          %197 = arith.addi %196, %c13 : i64
          %198 = llvm.getelementptr %slot1[%197] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %199 = llvm.getelementptr %198[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %170, %199 : vector<8xf32>, !llvm.ptr
          %200 = arith.subi %17, %6 : i64
          %201 = arith.addi %200, %c14 : i64
          %202 = llvm.getelementptr %slot1[%201] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %203 = llvm.getelementptr %202[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %171, %203 : vector<8xf32>, !llvm.ptr
        }
        scf.for %204 = %6 to %8 step %c0 : i64 {
          %205 = arith.subi %204, %6 : i64
          %206 = llvm.getelementptr %slot1[%205] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %207 = llvm.load %206 : !llvm.ptr -> vector<16xf32>
          %208 = vector.broadcast %c23 : f32 to vector<16xf32>
          %209 = arith.addf %207, %208 : vector<16xf32>
          %210 = arith.muli %204, %c4 : i64
          %211 = arith.addi %210, %16 : i64
          %212 = llvm.getelementptr %buffer1[%211] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          llvm.store %209, %212 {alignment = 4 : i64} : vector<16xf32>, !llvm.ptr
        }
      }
      %213 = arith.cmpi slt, %15, %11 : i64
      scf.if %213 {
        %214 = arith.subi %11, %15 : i64
        %215 = vector.broadcast %214 : i64 to vector<16xi64>
        %216 = arith.cmpi slt, %c24, %215 : vector<16xi64>
        scf.for %217 = %6 to %8 step %c6 : i64 {
          %218 = arith.subi %8, %217 : i64
          %219 = vector.broadcast %218 : i64 to vector<8xi64>
          %220 = arith.cmpi slt, %c7, %219 : vector<8xi64>
          %221 = arith.minsi %15, %c25 : i64
          %222 = arith.muli %221, %c2 : i64
          %223 = arith.addi %222, %217 : i64
          %224 = llvm.getelementptr %buffer0[%223] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %225 = llvm.intr.masked.load %224, %220, %c8 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %226 = arith.addi %15, %c0 : i64
          %227 = arith.minsi %226, %c25 : i64
          %228 = arith.muli %227, %c2 : i64
          %229 = arith.addi %228, %217 : i64
          %230 = llvm.getelementptr %buffer0[%229] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %231 = llvm.intr.masked.load %230, %220, %c8 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %232 = arith.addi %15, %c9 : i64
          %233 = arith.minsi %232, %c25 : i64
          %234 = arith.muli %233, %c2 : i64
          %235 = arith.addi %234, %217 : i64
          %236 = llvm.getelementptr %buffer0[%235] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %237 = llvm.intr.masked.load %236, %220, %c8 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %238 = arith.addi %15, %c10 : i64
          %239 = arith.minsi %238, %c25 : i64
          %240 = arith.muli %239, %c2 : i64
          %241 = arith.addi %240, %217 : i64
          %242 = llvm.getelementptr %buffer0[%241] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %243 = llvm.intr.masked.load %242, %220, %c8 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %244 = arith.addi %15, %c11 : i64
          %245 = arith.minsi %244, %c25 : i64
          %246 = arith.muli %245, %c2 : i64
          %247 = arith.addi %246, %217 : i64
          %248 = llvm.getelementptr %buffer0[%247] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %249 = llvm.intr.masked.load %248, %220, %c8 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %250 = arith.addi %15, %c12 : i64
          %251 = arith.minsi %250, %c25 : i64
          %252 = arith.muli %251, %c2 : i64
          %253 = arith.addi %252, %217 : i64
          %254 = llvm.getelementptr %buffer0[%253] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %255 = llvm.intr.masked.load %254, %220, %c8 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %256 = arith.addi %15, %c13 : i64
          %257 = arith.minsi %256, %c25 : i64
          %258 = arith.muli %257, %c2 : i64
          %259 = arith.addi %258, %217 : i64
          %260 = llvm.getelementptr %buffer0[%259] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %261 = llvm.intr.masked.load %260, %220, %c8 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %262 = arith.addi %15, %c14 : i64
          %263 = arith.minsi %262, %c25 : i64
          %264 = arith.muli %263, %c2 : i64
          %265 = arith.addi %264, %217 : i64
          %266 = llvm.getelementptr %buffer0[%265] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %267 = llvm.intr.masked.load %266, %220, %c8 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %268 = vector.shuffle %225, %249 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %269 = vector.shuffle %225, %249 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %270 = vector.shuffle %231, %255 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %271 = vector.shuffle %231, %255 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %272 = vector.shuffle %237, %261 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %273 = vector.shuffle %237, %261 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %274 = vector.shuffle %243, %267 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %275 = vector.shuffle %243, %267 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %276 = vector.shuffle %268, %272 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %277 = vector.shuffle %268, %272 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %278 = vector.shuffle %269, %273 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %279 = vector.shuffle %269, %273 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %280 = vector.shuffle %270, %274 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %281 = vector.shuffle %270, %274 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %282 = vector.shuffle %271, %275 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %283 = vector.shuffle %271, %275 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %284 = vector.shuffle %276, %280 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %285 = vector.shuffle %276, %280 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %286 = vector.shuffle %277, %281 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %287 = vector.shuffle %277, %281 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %288 = vector.shuffle %278, %282 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %289 = vector.shuffle %278, %282 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %290 = vector.shuffle %279, %283 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %291 = vector.shuffle %279, %283 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %292 = arith.subi %217, %6 : i64
          %293 = arith.addi %292, %c15 : i64
          %294 = llvm.getelementptr %slot1[%293] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %284, %294 : vector<8xf32>, !llvm.ptr
          %295 = arith.subi %217, %6 : i64
          %296 = arith.addi %295, %c0 : i64
          %297 = llvm.getelementptr %slot1[%296] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %285, %297 : vector<8xf32>, !llvm.ptr
          %298 = arith.subi %217, %6 : i64
          %299 = arith.addi %298, %c9 : i64
          %300 = llvm.getelementptr %slot1[%299] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %286, %300 : vector<8xf32>, !llvm.ptr
          %301 = arith.subi %217, %6 : i64
          %302 = arith.addi %301, %c10 : i64
          %303 = llvm.getelementptr %slot1[%302] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %287, %303 : vector<8xf32>, !llvm.ptr
          %304 = arith.subi %217, %6 : i64
          %305 = arith.addi %304, %c11 : i64
          %306 = llvm.getelementptr %slot1[%305] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %288, %306 : vector<8xf32>, !llvm.ptr
          %307 = arith.subi %217, %6 : i64
          %308 = arith.addi %307, %c12 : i64
          %309 = llvm.getelementptr %slot1[%308] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %289, %309 : vector<8xf32>, !llvm.ptr
          %310 = arith.subi %217, %6 : i64
          %311 = arith.addi %310, %c13 : i64
          %312 = llvm.getelementptr %slot1[%311] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %290, %312 : vector<8xf32>, !llvm.ptr
          %313 = arith.subi %217, %6 : i64
          %314 = arith.addi %313, %c14 : i64
          %315 = llvm.getelementptr %slot1[%314] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %291, %315 : vector<8xf32>, !llvm.ptr
          %316 = arith.addi %15, %c6 : i64
          %317 = arith.minsi %316, %c25 : i64
          %318 = arith.muli %317, %c2 : i64
          %319 = arith.addi %318, %217 : i64
          %320 = llvm.getelementptr %buffer0[%319] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %321 = llvm.intr.masked.load %320, %220, %c8 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %322 = arith.addi %15, %c16 : i64
          %323 = arith.minsi %322, %c25 : i64
          %324 = arith.muli %323, %c2 : i64
          %325 = arith.addi %324, %217 : i64
          %326 = llvm.getelementptr %buffer0[%325] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %327 = llvm.intr.masked.load %326, %220, %c8 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %328 = arith.addi %15, %c17 : i64
          %329 = arith.minsi %328, %c25 : i64
          %330 = arith.muli %329, %c2 : i64
          %331 = arith.addi %330, %217 : i64
          %332 = llvm.getelementptr %buffer0[%331] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %333 = llvm.intr.masked.load %332, %220, %c8 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %334 = arith.addi %15, %c18 : i64
          %335 = arith.minsi %334, %c25 : i64
          %336 = arith.muli %335, %c2 : i64
          %337 = arith.addi %336, %217 : i64
          %338 = llvm.getelementptr %buffer0[%337] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %339 = llvm.intr.masked.load %338, %220, %c8 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %340 = arith.addi %15, %c19 : i64
          %341 = arith.minsi %340, %c25 : i64
          %342 = arith.muli %341, %c2 : i64
          %343 = arith.addi %342, %217 : i64
          %344 = llvm.getelementptr %buffer0[%343] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %345 = llvm.intr.masked.load %344, %220, %c8 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %346 = arith.addi %15, %c20 : i64
          %347 = arith.minsi %346, %c25 : i64
          %348 = arith.muli %347, %c2 : i64
          %349 = arith.addi %348, %217 : i64
          %350 = llvm.getelementptr %buffer0[%349] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %351 = llvm.intr.masked.load %350, %220, %c8 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %352 = arith.addi %15, %c21 : i64
          %353 = arith.minsi %352, %c25 : i64
          %354 = arith.muli %353, %c2 : i64
          %355 = arith.addi %354, %217 : i64
          %356 = llvm.getelementptr %buffer0[%355] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %357 = llvm.intr.masked.load %356, %220, %c8 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %358 = arith.addi %15, %c22 : i64
          %359 = arith.minsi %358, %c25 : i64
          %360 = arith.muli %359, %c2 : i64
          %361 = arith.addi %360, %217 : i64
          %362 = llvm.getelementptr %buffer0[%361] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %363 = llvm.intr.masked.load %362, %220, %c8 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %364 = vector.shuffle %321, %345 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %365 = vector.shuffle %321, %345 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %366 = vector.shuffle %327, %351 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %367 = vector.shuffle %327, %351 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %368 = vector.shuffle %333, %357 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %369 = vector.shuffle %333, %357 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %370 = vector.shuffle %339, %363 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %371 = vector.shuffle %339, %363 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %372 = vector.shuffle %364, %368 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %373 = vector.shuffle %364, %368 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %374 = vector.shuffle %365, %369 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %375 = vector.shuffle %365, %369 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %376 = vector.shuffle %366, %370 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %377 = vector.shuffle %366, %370 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %378 = vector.shuffle %367, %371 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %379 = vector.shuffle %367, %371 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %380 = vector.shuffle %372, %376 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %381 = vector.shuffle %372, %376 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %382 = vector.shuffle %373, %377 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %383 = vector.shuffle %373, %377 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %384 = vector.shuffle %374, %378 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %385 = vector.shuffle %374, %378 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %386 = vector.shuffle %375, %379 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %387 = vector.shuffle %375, %379 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %388 = arith.subi %217, %6 : i64
          %389 = arith.addi %388, %c15 : i64
          %390 = llvm.getelementptr %slot1[%389] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %391 = llvm.getelementptr %390[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %380, %391 : vector<8xf32>, !llvm.ptr
          %392 = arith.subi %217, %6 : i64
          %393 = arith.addi %392, %c0 : i64
          %394 = llvm.getelementptr %slot1[%393] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %395 = llvm.getelementptr %394[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %381, %395 : vector<8xf32>, !llvm.ptr
          %396 = arith.subi %217, %6 : i64
          %397 = arith.addi %396, %c9 : i64
          %398 = llvm.getelementptr %slot1[%397] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %399 = llvm.getelementptr %398[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %382, %399 : vector<8xf32>, !llvm.ptr
          %400 = arith.subi %217, %6 : i64
          %401 = arith.addi %400, %c10 : i64
          %402 = llvm.getelementptr %slot1[%401] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %403 = llvm.getelementptr %402[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %383, %403 : vector<8xf32>, !llvm.ptr
          %404 = arith.subi %217, %6 : i64
          %405 = arith.addi %404, %c11 : i64
          %406 = llvm.getelementptr %slot1[%405] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %407 = llvm.getelementptr %406[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %384, %407 : vector<8xf32>, !llvm.ptr
          %408 = arith.subi %217, %6 : i64
          %409 = arith.addi %408, %c12 : i64
          %410 = llvm.getelementptr %slot1[%409] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %411 = llvm.getelementptr %410[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %385, %411 : vector<8xf32>, !llvm.ptr
          %412 = arith.subi %217, %6 : i64
          %413 = arith.addi %412, %c13 : i64
          %414 = llvm.getelementptr %slot1[%413] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %415 = llvm.getelementptr %414[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %386, %415 : vector<8xf32>, !llvm.ptr
          %416 = arith.subi %217, %6 : i64
          %417 = arith.addi %416, %c14 : i64
          %418 = llvm.getelementptr %slot1[%417] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %419 = llvm.getelementptr %418[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %387, %419 : vector<8xf32>, !llvm.ptr
        }
        scf.for %420 = %6 to %8 step %c0 : i64 {
          %421 = arith.subi %420, %6 : i64
          %422 = llvm.getelementptr %slot1[%421] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %423 = llvm.load %422 : !llvm.ptr -> vector<16xf32>
          %424 = vector.broadcast %c23 : f32 to vector<16xf32>
          %425 = arith.addf %423, %424 : vector<16xf32>
          %426 = arith.muli %420, %c4 : i64
          %427 = arith.addi %426, %15 : i64
          %428 = llvm.getelementptr %buffer1[%427] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          llvm.intr.masked.store %425, %428, %216 {alignment = 4 : i32} : vector<16xf32>, vector<16xi1> into !llvm.ptr
        }
      }
    }
    llvm.return
  }
  llvm.func internal @NAME_task(%frame: !llvm.ptr) {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant 128 : i64
    %c2 = arith.constant 23 : i64
    %c3 = arith.constant 512 : i64
    %c4 = arith.constant 19 : i64
    %c5 = arith.constant 16 : i64
    %c6 = arith.constant 8 : i64
    %c7 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi64>
    %c8 = arith.constant dense<0.0> : vector<8xf32>
    %c9 = arith.constant 2 : i64
    %c10 = arith.constant 3 : i64
    %c11 = arith.constant 4 : i64
    %c12 = arith.constant 5 : i64
    %c13 = arith.constant 6 : i64
    %c14 = arith.constant 7 : i64
    %c15 = arith.constant 0 : i64
    %c16 = arith.constant 9 : i64
    %c17 = arith.constant 10 : i64
    %c18 = arith.constant 11 : i64
    %c19 = arith.constant 12 : i64
    %c20 = arith.constant 13 : i64
    %c21 = arith.constant 14 : i64
    %c22 = arith.constant 15 : i64
    %c23 = arith.constant 0x3F800000 : f32
    %c24 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]> : vector<16xi64>
    %c25 = arith.constant 18 : i64
    %c26 = arith.constant 437 : i64
    %429 = arith.muli %c0, %c0 : i64
    %thread32 = llvm.call @omp_get_thread_num() : () -> i32
    %threads32 = llvm.call @omp_get_num_threads() : () -> i32
    %thread = arith.extsi %thread32 : i32 to i64
    %threads = arith.extsi %threads32 : i32 to i64
    %one = arith.constant 1 : i64
    %rounded = arith.addi %429, %threads : i64
    %upper = arith.subi %rounded, %one : i64
    %share = arith.divsi %upper, %threads : i64
    %begin = arith.muli %thread, %share : i64
    %stop = arith.addi %begin, %share : i64
    %end = arith.minsi %stop, %429 : i64
    %some = arith.cmpi slt, %begin, %end : i64
    scf.if %some {
      llvm.call @NAME_body(%frame, %begin, %end) : (!llvm.ptr, i64, i64) -> ()
    }
    llvm.return
  }
  llvm.func internal @NAME(%frame: !llvm.ptr) -> i64 attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant 128 : i64
    %c2 = arith.constant 23 : i64
    %c3 = arith.constant 512 : i64
    %c4 = arith.constant 19 : i64
    %c5 = arith.constant 16 : i64
    %c6 = arith.constant 8 : i64
    %c7 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi64>
    %c8 = arith.constant dense<0.0> : vector<8xf32>
    %c9 = arith.constant 2 : i64
    %c10 = arith.constant 3 : i64
    %c11 = arith.constant 4 : i64
    %c12 = arith.constant 5 : i64
    %c13 = arith.constant 6 : i64
    %c14 = arith.constant 7 : i64
    %c15 = arith.constant 0 : i64
    %c16 = arith.constant 9 : i64
    %c17 = arith.constant 10 : i64
    %c18 = arith.constant 11 : i64
    %c19 = arith.constant 12 : i64
    %c20 = arith.constant 13 : i64
    %c21 = arith.constant 14 : i64
    %c22 = arith.constant 15 : i64
    %c23 = arith.constant 0x3F800000 : f32
    %c24 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]> : vector<16xi64>
    %c25 = arith.constant 18 : i64
    %c26 = arith.constant 437 : i64
    %429 = arith.muli %c0, %c0 : i64
    %nothing = arith.constant 0 : i64
    %errorat = llvm.getelementptr %frame[2] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %nothing, %errorat : i64, !llvm.ptr
    %one = arith.constant 1 : i64
    %grain = arith.constant 21845 : i64
    %wanted = arith.divsi %c26, %grain : i64
    %useful = arith.minsi %wanted, %429 : i64
    %several = arith.cmpi sgt, %useful, %one : i64
    scf.if %several {
      %most32 = llvm.call @omp_get_max_threads() : () -> i32
      %most = arith.extsi %most32 : i32 to i64
      %threads = arith.minsi %useful, %most : i64
      %alone = arith.cmpi sle, %threads, %one : i64
      scf.if %alone {
        llvm.call @NAME_body(%frame, %nothing, %429) : (!llvm.ptr, i64, i64) -> ()
      } else {
        %task = llvm.mlir.addressof @NAME_task : !llvm.ptr
        %threads32 = arith.trunci %threads : i64 to i32
        %flags = arith.constant 0 : i32
        llvm.call @GOMP_parallel(%task, %frame, %threads32, %flags) : (!llvm.ptr, !llvm.ptr, i32, i32) -> ()
      }
    } else {
      llvm.call @NAME_body(%frame, %nothing, %429) : (!llvm.ptr, i64, i64) -> ()
    }
    %error = llvm.load %errorat : !llvm.ptr -> i64
    llvm.return %error : i64
  }
