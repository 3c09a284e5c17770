  llvm.func internal @NAME_body(%frame: !llvm.ptr, %begin: i64, %end: i64) attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant 32 : i64
    %c2 = arith.constant 23 : i64
    %c3 = arith.constant 19 : i64
    %c4 = arith.constant 16 : i64
    %c5 = arith.constant 8 : i64
    %c6 = arith.constant 2 : i64
    %c7 = arith.constant 3 : i64
    %c8 = arith.constant 4 : i64
    %c9 = arith.constant 5 : i64
    %c10 = arith.constant 6 : i64
    %c11 = arith.constant 7 : i64
    %c12 = arith.constant 0 : i64
    %c13 = arith.constant 9 : i64
    %c14 = arith.constant 10 : i64
    %c15 = arith.constant 11 : i64
    %c16 = arith.constant 12 : i64
    %c17 = arith.constant 13 : i64
    %c18 = arith.constant 14 : i64
    %c19 = arith.constant 15 : i64
    %c20 = arith.constant 0x3F800000 : f32
    %c21 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi64>
    %c22 = arith.constant dense<0.0> : vector<8xf32>
    %c23 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]> : vector<16xi64>
    %c24 = arith.constant 18 : i64
    %slot1n = llvm.mlir.constant(8 : i64) : i64
    %slot1 = llvm.alloca %slot1n x vector<16xf32> {alignment = 64 : i64} : (i64) -> !llvm.ptr
    %buffer0at = llvm.getelementptr %frame[0] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer0 = llvm.load %buffer0at : !llvm.ptr -> !llvm.ptr
    %buffer1at = llvm.getelementptr %frame[1] : (!llvm.ptr) -> !llvm.ptr, i64
    %buffer1 = llvm.load %buffer1at : !llvm.ptr -> !llvm.ptr
    scf.for %1 = %begin to %end step %c0 : i64 {
      %2 = arith.divsi %1, %c0 : i64
      %3 = arith.remsi %1, %c0 : i64
      %4 = arith.divsi %3, %c0 : i64
      %5 = arith.muli %4, %c1 : i64
      %6 = arith.addi %5, %c1 : i64
      %7 = arith.minsi %6, %c2 : i64
      %8 = arith.remsi %3, %c0 : i64
      %9 = arith.muli %8, %c1 : i64
      %10 = arith.addi %9, %c1 : i64
      %11 = arith.minsi %10, %c3 : i64
      %12 = arith.subi %11, %9 : i64
      %13 = arith.remsi %12, %c4 : i64
      %14 = arith.subi %12, %13 : i64
      %15 = arith.addi %9, %14 : i64
      scf.for %16 = %9 to %15 step %c4 : i64 {
        %17 = arith.subi %7, %5 : i64
        %18 = arith.remsi %17, %c5 : i64
        %19 = arith.subi %7, %18 : i64
        scf.for %20 = %5 to %19 step %c5 : i64 {
          %21 = arith.muli %16, %c2 : i64
          %22 = arith.addi %21, %20 : i64
          %23 = llvm.getelementptr %buffer0[%22] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %24 = llvm.load %23 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
          %25 = arith.addi %16, %c0 : i64
          %26 = arith.muli %25, %c2 : i64
          %27 = arith.addi %26, %20 : i64
          %28 = llvm.getelementptr %buffer0[%27] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %29 = llvm.load %28 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
          %30 = arith.addi %16, %c6 : i64
          %31 = arith.muli %30, %c2 : i64
          %32 = arith.addi %31, %20 : i64
          %33 = llvm.getelementptr %buffer0[%32] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %34 = llvm.load %33 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
          %35 = arith.addi %16, %c7 : i64
          %36 = arith.muli %35, %c2 : i64
          %37 = arith.addi %36, %20 : i64
          %38 = llvm.getelementptr %buffer0[%37] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %39 = llvm.load %38 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
          %40 = arith.addi %16, %c8 : i64
          %41 = arith.muli %40, %c2 : i64
          %42 = arith.addi %41, %20 : i64
          %43 = llvm.getelementptr %buffer0[%42] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %44 = llvm.load %43 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
          %45 = arith.addi %16, %c9 : i64
          %46 = arith.muli %45, %c2 : i64
          %47 = arith.addi %46, %20 : i64
          %48 = llvm.getelementptr %buffer0[%47] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %49 = llvm.load %48 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
          %50 = arith.addi %16, %c10 : i64
          %51 = arith.muli %50, %c2 : i64
          %52 = arith.addi %51, %20 : i64
          %53 = llvm.getelementptr %buffer0[%52] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %54 = llvm.load %53 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
          %55 = arith.addi %16, %c11 : i64
          %56 = arith.muli %55, %c2 : i64
          %57 = arith.addi %56, %20 : i64
          %58 = llvm.getelementptr %buffer0[%57] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %59 = llvm.load %58 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
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
          %84 = llvm.getelementptr %slot1[%c12] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %76, %84 : vector<8xf32>, !llvm.ptr
          %85 = llvm.getelementptr %slot1[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %77, %85 : vector<8xf32>, !llvm.ptr
          %86 = llvm.getelementptr %slot1[%c6] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %78, %86 : vector<8xf32>, !llvm.ptr
          %87 = llvm.getelementptr %slot1[%c7] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %79, %87 : vector<8xf32>, !llvm.ptr
          %88 = llvm.getelementptr %slot1[%c8] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %80, %88 : vector<8xf32>, !llvm.ptr
          %89 = llvm.getelementptr %slot1[%c9] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %81, %89 : vector<8xf32>, !llvm.ptr
          %90 = llvm.getelementptr %slot1[%c10] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %82, %90 : vector<8xf32>, !llvm.ptr
          %91 = llvm.getelementptr %slot1[%c11] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %83, %91 : vector<8xf32>, !llvm.ptr
          %92 = arith.addi %16, %c5 : i64
          %93 = arith.muli %92, %c2 : i64
          %94 = arith.addi %93, %20 : i64
          %95 = llvm.getelementptr %buffer0[%94] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %96 = llvm.load %95 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
          %97 = arith.addi %16, %c13 : i64
          %98 = arith.muli %97, %c2 : i64
          %99 = arith.addi %98, %20 : i64
          %100 = llvm.getelementptr %buffer0[%99] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %101 = llvm.load %100 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
          %102 = arith.addi %16, %c14 : i64
          %103 = arith.muli %102, %c2 : i64
          %104 = arith.addi %103, %20 : i64
          %105 = llvm.getelementptr %buffer0[%104] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %106 = llvm.load %105 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
          %107 = arith.addi %16, %c15 : i64
          %108 = arith.muli %107, %c2 : i64
          %109 = arith.addi %108, %20 : i64
          %110 = llvm.getelementptr %buffer0[%109] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %111 = llvm.load %110 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
          %112 = arith.addi %16, %c16 : i64
          %113 = arith.muli %112, %c2 : i64
          %114 = arith.addi %113, %20 : i64
          %115 = llvm.getelementptr %buffer0[%114] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %116 = llvm.load %115 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
          %117 = arith.addi %16, %c17 : i64
          %118 = arith.muli %117, %c2 : i64
          %119 = arith.addi %118, %20 : i64
          %120 = llvm.getelementptr %buffer0[%119] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %121 = llvm.load %120 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
          %122 = arith.addi %16, %c18 : i64
          %123 = arith.muli %122, %c2 : i64
          %124 = arith.addi %123, %20 : i64
          %125 = llvm.getelementptr %buffer0[%124] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %126 = llvm.load %125 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
          %127 = arith.addi %16, %c19 : i64
          %128 = arith.muli %127, %c2 : i64
          %129 = arith.addi %128, %20 : i64
          %130 = llvm.getelementptr %buffer0[%129] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %131 = llvm.load %130 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
          %132 = vector.shuffle %96, %116 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %133 = vector.shuffle %96, %116 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %134 = vector.shuffle %101, %121 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %135 = vector.shuffle %101, %121 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %136 = vector.shuffle %106, %126 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %137 = vector.shuffle %106, %126 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %138 = vector.shuffle %111, %131 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %139 = vector.shuffle %111, %131 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %140 = vector.shuffle %132, %136 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %141 = vector.shuffle %132, %136 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %142 = vector.shuffle %133, %137 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %143 = vector.shuffle %133, %137 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %144 = vector.shuffle %134, %138 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %145 = vector.shuffle %134, %138 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %146 = vector.shuffle %135, %139 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %147 = vector.shuffle %135, %139 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %148 = vector.shuffle %140, %144 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %149 = vector.shuffle %140, %144 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %150 = vector.shuffle %141, %145 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %151 = vector.shuffle %141, %145 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %152 = vector.shuffle %142, %146 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %153 = vector.shuffle %142, %146 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %154 = vector.shuffle %143, %147 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %155 = vector.shuffle %143, %147 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %156 = llvm.getelementptr %slot1[%c12] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %157 = llvm.getelementptr %156[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %148, %157 : vector<8xf32>, !llvm.ptr
          %158 = llvm.getelementptr %slot1[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %159 = llvm.getelementptr %158[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %149, %159 : vector<8xf32>, !llvm.ptr
          %160 = llvm.getelementptr %slot1[%c6] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %161 = llvm.getelementptr %160[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %150, %161 : vector<8xf32>, !llvm.ptr
          %162 = llvm.getelementptr %slot1[%c7] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %163 = llvm.getelementptr %162[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %151, %163 : vector<8xf32>, !llvm.ptr
          %164 = llvm.getelementptr %slot1[%c8] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %165 = llvm.getelementptr %164[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %152, %165 : vector<8xf32>, !llvm.ptr
          %166 = llvm.getelementptr %slot1[%c9] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %167 = llvm.getelementptr %166[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %153, %167 : vector<8xf32>, !llvm.ptr
          %168 = llvm.getelementptr %slot1[%c10] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %169 = llvm.getelementptr %168[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %154, %169 : vector<8xf32>, !llvm.ptr
          %170 = llvm.getelementptr %slot1[%c11] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %171 = llvm.getelementptr %170[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %155, %171 : vector<8xf32>, !llvm.ptr
          %172 = arith.addi %20, %c5 : i64
          scf.for %173 = %20 to %172 step %c0 : i64 {
            %174 = arith.subi %173, %20 : i64
            %175 = llvm.getelementptr %slot1[%174] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
            %176 = llvm.load %175 : !llvm.ptr -> vector<16xf32>
            %177 = vector.broadcast %c20 : f32 to vector<16xf32>
            %178 = arith.addf %176, %177 : vector<16xf32>
            %179 = arith.muli %173, %c3 : i64
            %180 = arith.addi %179, %16 : i64
            %181 = llvm.getelementptr %buffer1[%180] : (!llvm.ptr, i64) -> !llvm.ptr, f32
            llvm.store %178, %181 {alignment = 4 : i64} : vector<16xf32>, !llvm.ptr
          }
        }
        %182 = vector.broadcast %18 : i64 to vector<8xi64>
        %183 = arith.cmpi slt, %c21, %182 : vector<8xi64>
        scf.for %184 = %19 to %7 step %c5 : i64 {
          %185 = arith.muli %16, %c2 : i64
          %186 = arith.addi %185, %184 : i64
          %187 = llvm.getelementptr %buffer0[%186] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %188 = llvm.intr.masked.load %187, %183, %c22 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %189 = arith.addi %16, %c0 : i64
          %190 = arith.muli %189, %c2 : i64
          %191 = arith.addi %190, %184 : i64
          %192 = llvm.getelementptr %buffer0[%191] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %193 = llvm.intr.masked.load %192, %183, %c22 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %194 = arith.addi %16, %c6 : i64
          %195 = arith.muli %194, %c2 : i64
          %196 = arith.addi %195, %184 : i64
          %197 = llvm.getelementptr %buffer0[%196] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %198 = llvm.intr.masked.load %197, %183, %c22 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %199 = arith.addi %16, %c7 : i64
          %200 = arith.muli %199, %c2 : i64
          %201 = arith.addi %200, %184 : i64
          %202 = llvm.getelementptr %buffer0[%201] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %203 = llvm.intr.masked.load %202, %183, %c22 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %204 = arith.addi %16, %c8 : i64
          %205 = arith.muli %204, %c2 : i64
          %206 = arith.addi %205, %184 : i64
          %207 = llvm.getelementptr %buffer0[%206] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %208 = llvm.intr.masked.load %207, %183, %c22 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %209 = arith.addi %16, %c9 : i64
          %210 = arith.muli %209, %c2 : i64
          %211 = arith.addi %210, %184 : i64
          %212 = llvm.getelementptr %buffer0[%211] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %213 = llvm.intr.masked.load %212, %183, %c22 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %214 = arith.addi %16, %c10 : i64
          %215 = arith.muli %214, %c2 : i64
          %216 = arith.addi %215, %184 : i64
          %217 = llvm.getelementptr %buffer0[%216] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %218 = llvm.intr.masked.load %217, %183, %c22 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %219 = arith.addi %16, %c11 : i64
          %220 = arith.muli %219, %c2 : i64
          %221 = arith.addi %220, %184 : i64
          %222 = llvm.getelementptr %buffer0[%221] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %223 = llvm.intr.masked.load %222, %183, %c22 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %224 = vector.shuffle %188, %208 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %225 = vector.shuffle %188, %208 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %226 = vector.shuffle %193, %213 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %227 = vector.shuffle %193, %213 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %228 = vector.shuffle %198, %218 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %229 = vector.shuffle %198, %218 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %230 = vector.shuffle %203, %223 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %231 = vector.shuffle %203, %223 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %232 = vector.shuffle %224, %228 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %233 = vector.shuffle %224, %228 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %234 = vector.shuffle %225, %229 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %235 = vector.shuffle %225, %229 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %236 = vector.shuffle %226, %230 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %237 = vector.shuffle %226, %230 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %238 = vector.shuffle %227, %231 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %239 = vector.shuffle %227, %231 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %240 = vector.shuffle %232, %236 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %241 = vector.shuffle %232, %236 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %242 = vector.shuffle %233, %237 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %243 = vector.shuffle %233, %237 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %244 = vector.shuffle %234, %238 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %245 = vector.shuffle %234, %238 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %246 = vector.shuffle %235, %239 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %247 = vector.shuffle %235, %239 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %248 = llvm.getelementptr %slot1[%c12] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %240, %248 : vector<8xf32>, !llvm.ptr
          %249 = llvm.getelementptr %slot1[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %241, %249 : vector<8xf32>, !llvm.ptr
          %250 = llvm.getelementptr %slot1[%c6] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %242, %250 : vector<8xf32>, !llvm.ptr
          %251 = llvm.getelementptr %slot1[%c7] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %243, %251 : vector<8xf32>, !llvm.ptr
          %252 = llvm.getelementptr %slot1[%c8] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %244, %252 : vector<8xf32>, !llvm.ptr
          %253 = llvm.getelementptr %slot1[%c9] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %245, %253 : vector<8xf32>, !llvm.ptr
          %254 = llvm.getelementptr %slot1[%c10] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %246, %254 : vector<8xf32>, !llvm.ptr
          %255 = llvm.getelementptr %slot1[%c11] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %247, %255 : vector<8xf32>, !llvm.ptr
          %256 = arith.addi %16, %c5 : i64
          %257 = arith.muli %256, %c2 : i64
          %258 = arith.addi %257, %184 : i64
          %259 = llvm.getelementptr %buffer0[%258] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %260 = llvm.intr.masked.load %259, %183, %c22 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %261 = arith.addi %16, %c13 : i64
          %262 = arith.muli %261, %c2 : i64
          %263 = arith.addi %262, %184 : i64
          %264 = llvm.getelementptr %buffer0[%263] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %265 = llvm.intr.masked.load %264, %183, %c22 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %266 = arith.addi %16, %c14 : i64
          %267 = arith.muli %266, %c2 : i64
          %268 = arith.addi %267, %184 : i64
          %269 = llvm.getelementptr %buffer0[%268] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %270 = llvm.intr.masked.load %269, %183, %c22 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %271 = arith.addi %16, %c15 : i64
          %272 = arith.muli %271, %c2 : i64
          %273 = arith.addi %272, %184 : i64
          %274 = llvm.getelementptr %buffer0[%273] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %275 = llvm.intr.masked.load %274, %183, %c22 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %276 = arith.addi %16, %c16 : i64
          %277 = arith.muli %276, %c2 : i64
          %278 = arith.addi %277, %184 : i64
          %279 = llvm.getelementptr %buffer0[%278] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %280 = llvm.intr.masked.load %279, %183, %c22 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %281 = arith.addi %16, %c17 : i64
          %282 = arith.muli %281, %c2 : i64
          %283 = arith.addi %282, %184 : i64
          %284 = llvm.getelementptr %buffer0[%283] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %285 = llvm.intr.masked.load %284, %183, %c22 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %286 = arith.addi %16, %c18 : i64
          %287 = arith.muli %286, %c2 : i64
          %288 = arith.addi %287, %184 : i64
          %289 = llvm.getelementptr %buffer0[%288] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %290 = llvm.intr.masked.load %289, %183, %c22 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %291 = arith.addi %16, %c19 : i64
          %292 = arith.muli %291, %c2 : i64
          %293 = arith.addi %292, %184 : i64
          %294 = llvm.getelementptr %buffer0[%293] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %295 = llvm.intr.masked.load %294, %183, %c22 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %296 = vector.shuffle %260, %280 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %297 = vector.shuffle %260, %280 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %298 = vector.shuffle %265, %285 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %299 = vector.shuffle %265, %285 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %300 = vector.shuffle %270, %290 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %301 = vector.shuffle %270, %290 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %302 = vector.shuffle %275, %295 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %303 = vector.shuffle %275, %295 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %304 = vector.shuffle %296, %300 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %305 = vector.shuffle %296, %300 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %306 = vector.shuffle %297, %301 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %307 = vector.shuffle %297, %301 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %308 = vector.shuffle %298, %302 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %309 = vector.shuffle %298, %302 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %310 = vector.shuffle %299, %303 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %311 = vector.shuffle %299, %303 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %312 = vector.shuffle %304, %308 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %313 = vector.shuffle %304, %308 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %314 = vector.shuffle %305, %309 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %315 = vector.shuffle %305, %309 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %316 = vector.shuffle %306, %310 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %317 = vector.shuffle %306, %310 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %318 = vector.shuffle %307, %311 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %319 = vector.shuffle %307, %311 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %320 = llvm.getelementptr %slot1[%c12] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %321 = llvm.getelementptr %320[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %312, %321 : vector<8xf32>, !llvm.ptr
          %322 = llvm.getelementptr %slot1[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %323 = llvm.getelementptr %322[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %313, %323 : vector<8xf32>, !llvm.ptr
          %324 = llvm.getelementptr %slot1[%c6] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %325 = llvm.getelementptr %324[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %314, %325 : vector<8xf32>, !llvm.ptr
          %326 = llvm.getelementptr %slot1[%c7] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %327 = llvm.getelementptr %326[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %315, %327 : vector<8xf32>, !llvm.ptr
          %328 = llvm.getelementptr %slot1[%c8] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %329 = llvm.getelementptr %328[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %316, %329 : vector<8xf32>, !llvm.ptr
          %330 = llvm.getelementptr %slot1[%c9] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %331 = llvm.getelementptr %330[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %317, %331 : vector<8xf32>, !llvm.ptr
          %332 = llvm.getelementptr %slot1[%c10] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %333 = llvm.getelementptr %332[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %318, %333 : vector<8xf32>, !llvm.ptr
          %334 = llvm.getelementptr %slot1[%c11] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %335 = llvm.getelementptr %334[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %319, %335 : vector<8xf32>, !llvm.ptr
          %336 = arith.addi %184, %18 : i64
          scf.for %337 = %184 to %336 step %c0 : i64 {
            %338 = arith.subi %337, %184 : i64
            %339 = llvm.getelementptr %slot1[%338] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
            %340 = llvm.load %339 : !llvm.ptr -> vector<16xf32>
            %341 = vector.broadcast %c20 : f32 to vector<16xf32>
            %342 = arith.addf %340, %341 : vector<16xf32>
            %343 = arith.muli %337, %c3 : i64
            %344 = arith.addi %343, %16 : i64
            %345 = llvm.getelementptr %buffer1[%344] : (!llvm.ptr, i64) -> !llvm.ptr, f32
            llvm.store %342, %345 {alignment = 4 : i64} : vector<16xf32>, !llvm.ptr
          }
        }
      }
      %346 = arith.cmpi slt, %15, %11 : i64
      scf.if %346 {
        %347 = arith.subi %11, %15 : i64
        %348 = vector.broadcast %347 : i64 to vector<16xi64>
        %349 = arith.cmpi slt, %c23, %348 : vector<16xi64>
        %350 = arith.subi %7, %5 : i64
        %351 = arith.remsi %350, %c5 : i64
        %352 = arith.subi %7, %351 : i64
        scf.for %353 = %5 to %352 step %c5 : i64 {
          %354 = arith.minsi %15, %c24 : i64
          %355 = arith.muli %354, %c2 : i64
          %356 = arith.addi %355, %353 : i64
          %357 = llvm.getelementptr %buffer0[%356] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %358 = llvm.load %357 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
          %359 = arith.addi %15, %c0 : i64
          %360 = arith.minsi %359, %c24 : i64
          %361 = arith.muli %360, %c2 : i64
          %362 = arith.addi %361, %353 : i64
          %363 = llvm.getelementptr %buffer0[%362] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %364 = llvm.load %363 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
          %365 = arith.addi %15, %c6 : i64
          %366 = arith.minsi %365, %c24 : i64
          %367 = arith.muli %366, %c2 : i64
          %368 = arith.addi %367, %353 : i64
          %369 = llvm.getelementptr %buffer0[%368] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %370 = llvm.load %369 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
          %371 = arith.addi %15, %c7 : i64
          %372 = arith.minsi %371, %c24 : i64
          %373 = arith.muli %372, %c2 : i64
          %374 = arith.addi %373, %353 : i64
          %375 = llvm.getelementptr %buffer0[%374] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %376 = llvm.load %375 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
          %377 = arith.addi %15, %c8 : i64
          %378 = arith.minsi %377, %c24 : i64
          %379 = arith.muli %378, %c2 : i64
          %380 = arith.addi %379, %353 : i64
          %381 = llvm.getelementptr %buffer0[%380] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %382 = llvm.load %381 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
          %383 = arith.addi %15, %c9 : i64
          %384 = arith.minsi %383, %c24 : i64
          %385 = arith.muli %384, %c2 : i64
          %386 = arith.addi %385, %353 : i64
          %387 = llvm.getelementptr %buffer0[%386] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %388 = llvm.load %387 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
          %389 = arith.addi %15, %c10 : i64
          %390 = arith.minsi %389, %c24 : i64
          %391 = arith.muli %390, %c2 : i64
          %392 = arith.addi %391, %353 : i64
          %393 = llvm.getelementptr %buffer0[%392] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %394 = llvm.load %393 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
          %395 = arith.addi %15, %c11 : i64
          %396 = arith.minsi %395, %c24 : i64
          %397 = arith.muli %396, %c2 : i64
          %398 = arith.addi %397, %353 : i64
          %399 = llvm.getelementptr %buffer0[%398] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %400 = llvm.load %399 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
          %401 = vector.shuffle %358, %382 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %402 = vector.shuffle %358, %382 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %403 = vector.shuffle %364, %388 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %404 = vector.shuffle %364, %388 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %405 = vector.shuffle %370, %394 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %406 = vector.shuffle %370, %394 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %407 = vector.shuffle %376, %400 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %408 = vector.shuffle %376, %400 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %409 = vector.shuffle %401, %405 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %410 = vector.shuffle %401, %405 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %411 = vector.shuffle %402, %406 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %412 = vector.shuffle %402, %406 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %413 = vector.shuffle %403, %407 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %414 = vector.shuffle %403, %407 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %415 = vector.shuffle %404, %408 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %416 = vector.shuffle %404, %408 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %417 = vector.shuffle %409, %413 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %418 = vector.shuffle %409, %413 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %419 = vector.shuffle %410, %414 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %420 = vector.shuffle %410, %414 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %421 = vector.shuffle %411, %415 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %422 = vector.shuffle %411, %415 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %423 = vector.shuffle %412, %416 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %424 = vector.shuffle %412, %416 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %425 = llvm.getelementptr %slot1[%c12] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %417, %425 : vector<8xf32>, !llvm.ptr
          %426 = llvm.getelementptr %slot1[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %418, %426 : vector<8xf32>, !llvm.ptr
          %427 = llvm.getelementptr %slot1[%c6] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %419, %427 : vector<8xf32>, !llvm.ptr
          %428 = llvm.getelementptr %slot1[%c7] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %420, %428 : vector<8xf32>, !llvm.ptr
          %429 = llvm.getelementptr %slot1[%c8] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %421, %429 : vector<8xf32>, !llvm.ptr
          %430 = llvm.getelementptr %slot1[%c9] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %422, %430 : vector<8xf32>, !llvm.ptr
          %431 = llvm.getelementptr %slot1[%c10] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %423, %431 : vector<8xf32>, !llvm.ptr
          %432 = llvm.getelementptr %slot1[%c11] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %424, %432 : vector<8xf32>, !llvm.ptr
          %433 = arith.addi %15, %c5 : i64
          %434 = arith.minsi %433, %c24 : i64
          %435 = arith.muli %434, %c2 : i64
          %436 = arith.addi %435, %353 : i64
          %437 = llvm.getelementptr %buffer0[%436] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %438 = llvm.load %437 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
          %439 = arith.addi %15, %c13 : i64
          %440 = arith.minsi %439, %c24 : i64
          %441 = arith.muli %440, %c2 : i64
          %442 = arith.addi %441, %353 : i64
          %443 = llvm.getelementptr %buffer0[%442] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %444 = llvm.load %443 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
          %445 = arith.addi %15, %c14 : i64
          %446 = arith.minsi %445, %c24 : i64
          %447 = arith.muli %446, %c2 : i64
          %448 = arith.addi %447, %353 : i64
          %449 = llvm.getelementptr %buffer0[%448] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %450 = llvm.load %449 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
          %451 = arith.addi %15, %c15 : i64
          %452 = arith.minsi %451, %c24 : i64
          %453 = arith.muli %452, %c2 : i64
          %454 = arith.addi %453, %353 : i64
          %455 = llvm.getelementptr %buffer0[%454] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %456 = llvm.load %455 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
          %457 = arith.addi %15, %c16 : i64
          %458 = arith.minsi %457, %c24 : i64
          %459 = arith.muli %458, %c2 : i64
          %460 = arith.addi %459, %353 : i64
          %461 = llvm.getelementptr %buffer0[%460] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %462 = llvm.load %461 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
          %463 = arith.addi %15, %c17 : i64
          %464 = arith.minsi %463, %c24 : i64
          %465 = arith.muli %464, %c2 : i64
          %466 = arith.addi %465, %353 : i64
          %467 = llvm.getelementptr %buffer0[%466] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %468 = llvm.load %467 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
          %469 = arith.addi %15, %c18 : i64
          %470 = arith.minsi %469, %c24 : i64
          %471 = arith.muli %470, %c2 : i64
          %472 = arith.addi %471, %353 : i64
          %473 = llvm.getelementptr %buffer0[%472] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %474 = llvm.load %473 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
          %475 = arith.addi %15, %c19 : i64
          %476 = arith.minsi %475, %c24 : i64
          %477 = arith.muli %476, %c2 : i64
          %478 = arith.addi %477, %353 : i64
          %479 = llvm.getelementptr %buffer0[%478] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %480 = llvm.load %479 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
          %481 = vector.shuffle %438, %462 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %482 = vector.shuffle %438, %462 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %483 = vector.shuffle %444, %468 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %484 = vector.shuffle %444, %468 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %485 = vector.shuffle %450, %474 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %486 = vector.shuffle %450, %474 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %487 = vector.shuffle %456, %480 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %488 = vector.shuffle %456, %480 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %489 = vector.shuffle %481, %485 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %490 = vector.shuffle %481, %485 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %491 = vector.shuffle %482, %486 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %492 = vector.shuffle %482, %486 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %493 = vector.shuffle %483, %487 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %494 = vector.shuffle %483, %487 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %495 = vector.shuffle %484, %488 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %496 = vector.shuffle %484, %488 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %497 = vector.shuffle %489, %493 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %498 = vector.shuffle %489, %493 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %499 = vector.shuffle %490, %494 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %500 = vector.shuffle %490, %494 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %501 = vector.shuffle %491, %495 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %502 = vector.shuffle %491, %495 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %503 = vector.shuffle %492, %496 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %504 = vector.shuffle %492, %496 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %505 = llvm.getelementptr %slot1[%c12] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %506 = llvm.getelementptr %505[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %497, %506 : vector<8xf32>, !llvm.ptr
          %507 = llvm.getelementptr %slot1[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %508 = llvm.getelementptr %507[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %498, %508 : vector<8xf32>, !llvm.ptr
          %509 = llvm.getelementptr %slot1[%c6] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %510 = llvm.getelementptr %509[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %499, %510 : vector<8xf32>, !llvm.ptr
          %511 = llvm.getelementptr %slot1[%c7] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %512 = llvm.getelementptr %511[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %500, %512 : vector<8xf32>, !llvm.ptr
          %513 = llvm.getelementptr %slot1[%c8] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %514 = llvm.getelementptr %513[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %501, %514 : vector<8xf32>, !llvm.ptr
          %515 = llvm.getelementptr %slot1[%c9] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %516 = llvm.getelementptr %515[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %502, %516 : vector<8xf32>, !llvm.ptr
          %517 = llvm.getelementptr %slot1[%c10] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %518 = llvm.getelementptr %517[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %503, %518 : vector<8xf32>, !llvm.ptr
          %519 = llvm.getelementptr %slot1[%c11] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %520 = llvm.getelementptr %519[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %504, %520 : vector<8xf32>, !llvm.ptr
          %521 = arith.addi %353, %c5 : i64
          scf.for %522 = %353 to %521 step %c0 : i64 {
            %523 = arith.subi %522, %353 : i64
            %524 = llvm.getelementptr %slot1[%523] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
            %525 = llvm.load %524 : !llvm.ptr -> vector<16xf32>
            %526 = vector.broadcast %c20 : f32 to vector<16xf32>
            %527 = arith.addf %525, %526 : vector<16xf32>
            %528 = arith.muli %522, %c3 : i64
            %529 = arith.addi %528, %15 : i64
            %530 = llvm.getelementptr %buffer1[%529] : (!llvm.ptr, i64) -> !llvm.ptr, f32
            llvm.intr.masked.store %527, %530, %349 {alignment = 4 : i32} : vector<16xf32>, vector<16xi1> into !llvm.ptr
          }
        }
        %531 = vector.broadcast %351 : i64 to vector<8xi64>
        %532 = arith.cmpi slt, %c21, %531 : vector<8xi64>
        scf.for %533 = %352 to %7 step %c5 : i64 {
          %534 = arith.minsi %15, %c24 : i64
          %535 = arith.muli %534, %c2 : i64
          %536 = arith.addi %535, %533 : i64
          %537 = llvm.getelementptr %buffer0[%536] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %538 = llvm.intr.masked.load %537, %532, %c22 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %539 = arith.addi %15, %c0 : i64
          %540 = arith.minsi %539, %c24 : i64
          %541 = arith.muli %540, %c2 : i64
          %542 = arith.addi %541, %533 : i64
          %543 = llvm.getelementptr %buffer0[%542] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %544 = llvm.intr.masked.load %543, %532, %c22 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %545 = arith.addi %15, %c6 : i64
          %546 = arith.minsi %545, %c24 : i64
          %547 = arith.muli %546, %c2 : i64
          %548 = arith.addi %547, %533 : i64
          %549 = llvm.getelementptr %buffer0[%548] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %550 = llvm.intr.masked.load %549, %532, %c22 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %551 = arith.addi %15, %c7 : i64
          %552 = arith.minsi %551, %c24 : i64
          %553 = arith.muli %552, %c2 : i64
          %554 = arith.addi %553, %533 : i64
          %555 = llvm.getelementptr %buffer0[%554] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %556 = llvm.intr.masked.load %555, %532, %c22 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %557 = arith.addi %15, %c8 : i64
          %558 = arith.minsi %557, %c24 : i64
          %559 = arith.muli %558, %c2 : i64
          %560 = arith.addi %559, %533 : i64
          %561 = llvm.getelementptr %buffer0[%560] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %562 = llvm.intr.masked.load %561, %532, %c22 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %563 = arith.addi %15, %c9 : i64
          %564 = arith.minsi %563, %c24 : i64
          %565 = arith.muli %564, %c2 : i64
          %566 = arith.addi %565, %533 : i64
          %567 = llvm.getelementptr %buffer0[%566] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %568 = llvm.intr.masked.load %567, %532, %c22 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %569 = arith.addi %15, %c10 : i64
          %570 = arith.minsi %569, %c24 : i64
          %571 = arith.muli %570, %c2 : i64
          %572 = arith.addi %571, %533 : i64
          %573 = llvm.getelementptr %buffer0[%572] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %574 = llvm.intr.masked.load %573, %532, %c22 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %575 = arith.addi %15, %c11 : i64
          %576 = arith.minsi %575, %c24 : i64
          %577 = arith.muli %576, %c2 : i64
          %578 = arith.addi %577, %533 : i64
          %579 = llvm.getelementptr %buffer0[%578] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %580 = llvm.intr.masked.load %579, %532, %c22 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %581 = vector.shuffle %538, %562 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %582 = vector.shuffle %538, %562 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %583 = vector.shuffle %544, %568 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %584 = vector.shuffle %544, %568 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %585 = vector.shuffle %550, %574 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %586 = vector.shuffle %550, %574 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %587 = vector.shuffle %556, %580 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %588 = vector.shuffle %556, %580 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %589 = vector.shuffle %581, %585 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %590 = vector.shuffle %581, %585 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %591 = vector.shuffle %582, %586 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %592 = vector.shuffle %582, %586 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %593 = vector.shuffle %583, %587 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %594 = vector.shuffle %583, %587 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %595 = vector.shuffle %584, %588 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %596 = vector.shuffle %584, %588 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %597 = vector.shuffle %589, %593 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %598 = vector.shuffle %589, %593 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %599 = vector.shuffle %590, %594 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %600 = vector.shuffle %590, %594 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %601 = vector.shuffle %591, %595 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %602 = vector.shuffle %591, %595 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %603 = vector.shuffle %592, %596 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %604 = vector.shuffle %592, %596 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %605 = llvm.getelementptr %slot1[%c12] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %597, %605 : vector<8xf32>, !llvm.ptr
          %606 = llvm.getelementptr %slot1[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %598, %606 : vector<8xf32>, !llvm.ptr
          %607 = llvm.getelementptr %slot1[%c6] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %599, %607 : vector<8xf32>, !llvm.ptr
          %608 = llvm.getelementptr %slot1[%c7] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %600, %608 : vector<8xf32>, !llvm.ptr
          %609 = llvm.getelementptr %slot1[%c8] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %601, %609 : vector<8xf32>, !llvm.ptr
          %610 = llvm.getelementptr %slot1[%c9] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %602, %610 : vector<8xf32>, !llvm.ptr
          %611 = llvm.getelementptr %slot1[%c10] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %603, %611 : vector<8xf32>, !llvm.ptr
          %612 = llvm.getelementptr %slot1[%c11] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          llvm.store %604, %612 : vector<8xf32>, !llvm.ptr
          %613 = arith.addi %15, %c5 : i64
          %614 = arith.minsi %613, %c24 : i64
          %615 = arith.muli %614, %c2 : i64
          %616 = arith.addi %615, %533 : i64
          %617 = llvm.getelementptr %buffer0[%616] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %618 = llvm.intr.masked.load %617, %532, %c22 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %619 = arith.addi %15, %c13 : i64
          %620 = arith.minsi %619, %c24 : i64
          %621 = arith.muli %620, %c2 : i64
          %622 = arith.addi %621, %533 : i64
          %623 = llvm.getelementptr %buffer0[%622] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %624 = llvm.intr.masked.load %623, %532, %c22 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %625 = arith.addi %15, %c14 : i64
          %626 = arith.minsi %625, %c24 : i64
          %627 = arith.muli %626, %c2 : i64
          %628 = arith.addi %627, %533 : i64
          %629 = llvm.getelementptr %buffer0[%628] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %630 = llvm.intr.masked.load %629, %532, %c22 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %631 = arith.addi %15, %c15 : i64
          %632 = arith.minsi %631, %c24 : i64
          %633 = arith.muli %632, %c2 : i64
          %634 = arith.addi %633, %533 : i64
          %635 = llvm.getelementptr %buffer0[%634] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %636 = llvm.intr.masked.load %635, %532, %c22 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %637 = arith.addi %15, %c16 : i64
          %638 = arith.minsi %637, %c24 : i64
          %639 = arith.muli %638, %c2 : i64
          %640 = arith.addi %639, %533 : i64
          %641 = llvm.getelementptr %buffer0[%640] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %642 = llvm.intr.masked.load %641, %532, %c22 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %643 = arith.addi %15, %c17 : i64
          %644 = arith.minsi %643, %c24 : i64
          %645 = arith.muli %644, %c2 : i64
          %646 = arith.addi %645, %533 : i64
          %647 = llvm.getelementptr %buffer0[%646] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %648 = llvm.intr.masked.load %647, %532, %c22 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %649 = arith.addi %15, %c18 : i64
          %650 = arith.minsi %649, %c24 : i64
          %651 = arith.muli %650, %c2 : i64
          %652 = arith.addi %651, %533 : i64
          %653 = llvm.getelementptr %buffer0[%652] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %654 = llvm.intr.masked.load %653, %532, %c22 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %655 = arith.addi %15, %c19 : i64
          %656 = arith.minsi %655, %c24 : i64
          %657 = arith.muli %656, %c2 : i64
          %658 = arith.addi %657, %533 : i64
          %659 = llvm.getelementptr %buffer0[%658] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %660 = llvm.intr.masked.load %659, %532, %c22 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
          %661 = vector.shuffle %618, %642 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %662 = vector.shuffle %618, %642 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %663 = vector.shuffle %624, %648 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %664 = vector.shuffle %624, %648 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %665 = vector.shuffle %630, %654 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %666 = vector.shuffle %630, %654 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %667 = vector.shuffle %636, %660 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %668 = vector.shuffle %636, %660 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %669 = vector.shuffle %661, %665 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %670 = vector.shuffle %661, %665 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %671 = vector.shuffle %662, %666 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %672 = vector.shuffle %662, %666 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %673 = vector.shuffle %663, %667 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %674 = vector.shuffle %663, %667 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %675 = vector.shuffle %664, %668 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %676 = vector.shuffle %664, %668 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %677 = vector.shuffle %669, %673 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %678 = vector.shuffle %669, %673 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %679 = vector.shuffle %670, %674 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %680 = vector.shuffle %670, %674 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %681 = vector.shuffle %671, %675 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %682 = vector.shuffle %671, %675 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %683 = vector.shuffle %672, %676 [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
          %684 = vector.shuffle %672, %676 [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
          %685 = llvm.getelementptr %slot1[%c12] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %686 = llvm.getelementptr %685[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %677, %686 : vector<8xf32>, !llvm.ptr
          %687 = llvm.getelementptr %slot1[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %688 = llvm.getelementptr %687[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %678, %688 : vector<8xf32>, !llvm.ptr
          %689 = llvm.getelementptr %slot1[%c6] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %690 = llvm.getelementptr %689[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %679, %690 : vector<8xf32>, !llvm.ptr
          %691 = llvm.getelementptr %slot1[%c7] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %692 = llvm.getelementptr %691[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %680, %692 : vector<8xf32>, !llvm.ptr
          %693 = llvm.getelementptr %slot1[%c8] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %694 = llvm.getelementptr %693[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %681, %694 : vector<8xf32>, !llvm.ptr
          %695 = llvm.getelementptr %slot1[%c9] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %696 = llvm.getelementptr %695[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %682, %696 : vector<8xf32>, !llvm.ptr
          %697 = llvm.getelementptr %slot1[%c10] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %698 = llvm.getelementptr %697[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %683, %698 : vector<8xf32>, !llvm.ptr
          %699 = llvm.getelementptr %slot1[%c11] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
          %700 = llvm.getelementptr %699[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, vector<8xf32>
          llvm.store %684, %700 : vector<8xf32>, !llvm.ptr
          %701 = arith.addi %533, %351 : i64
          scf.for %702 = %533 to %701 step %c0 : i64 {
            %703 = arith.subi %702, %533 : i64
            %704 = llvm.getelementptr %slot1[%703] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
            %705 = llvm.load %704 : !llvm.ptr -> vector<16xf32>
            %706 = vector.broadcast %c20 : f32 to vector<16xf32>
            %707 = arith.addf %705, %706 : vector<16xf32>
            %708 = arith.muli %702, %c3 : i64
            %709 = arith.addi %708, %15 : i64
            %710 = llvm.getelementptr %buffer1[%709] : (!llvm.ptr, i64) -> !llvm.ptr, f32
            llvm.intr.masked.store %707, %710, %349 {alignment = 4 : i32} : vector<16xf32>, vector<16xi1> into !llvm.ptr
          }
        }
      }
    }
    llvm.return
  }
  llvm.func internal @NAME_task(%frame: !llvm.ptr) {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant 32 : i64
    %c2 = arith.constant 23 : i64
    %c3 = arith.constant 19 : i64
    %c4 = arith.constant 16 : i64
    %c5 = arith.constant 8 : i64
    %c6 = arith.constant 2 : i64
    %c7 = arith.constant 3 : i64
    %c8 = arith.constant 4 : i64
    %c9 = arith.constant 5 : i64
    %c10 = arith.constant 6 : i64
    %c11 = arith.constant 7 : i64
    %c12 = arith.constant 0 : i64
    %c13 = arith.constant 9 : i64
    %c14 = arith.constant 10 : i64
    %c15 = arith.constant 11 : i64
    %c16 = arith.constant 12 : i64
    %c17 = arith.constant 13 : i64
    %c18 = arith.constant 14 : i64
    %c19 = arith.constant 15 : i64
    %c20 = arith.constant 0x3F800000 : f32
    %c21 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi64>
    %c22 = arith.constant dense<0.0> : vector<8xf32>
    %c23 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]> : vector<16xi64>
    %c24 = arith.constant 18 : i64
    %c25 = arith.constant 437 : i64
    %711 = arith.muli %c0, %c0 : i64
    %thread32 = llvm.call @omp_get_thread_num() : () -> i32
    %threads32 = llvm.call @omp_get_num_threads() : () -> i32
    %thread = arith.extsi %thread32 : i32 to i64
    %threads = arith.extsi %threads32 : i32 to i64
    %one = arith.constant 1 : i64
    %rounded = arith.addi %711, %threads : i64
    %upper = arith.subi %rounded, %one : i64
    %share = arith.divsi %upper, %threads : i64
    %begin = arith.muli %thread, %share : i64
    %stop = arith.addi %begin, %share : i64
    %end = arith.minsi %stop, %711 : i64
    %some = arith.cmpi slt, %begin, %end : i64
    scf.if %some {
      llvm.call @NAME_body(%frame, %begin, %end) : (!llvm.ptr, i64, i64) -> ()
    }
    llvm.return
  }
  llvm.func internal @NAME(%frame: !llvm.ptr) -> i64 attributes {passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]} {
    %c0 = arith.constant 1 : i64
    %c1 = arith.constant 32 : i64
    %c2 = arith.constant 23 : i64
    %c3 = arith.constant 19 : i64
    %c4 = arith.constant 16 : i64
    %c5 = arith.constant 8 : i64
    %c6 = arith.constant 2 : i64
    %c7 = arith.constant 3 : i64
    %c8 = arith.constant 4 : i64
    %c9 = arith.constant 5 : i64
    %c10 = arith.constant 6 : i64
    %c11 = arith.constant 7 : i64
    %c12 = arith.constant 0 : i64
    %c13 = arith.constant 9 : i64
    %c14 = arith.constant 10 : i64
    %c15 = arith.constant 11 : i64
    %c16 = arith.constant 12 : i64
    %c17 = arith.constant 13 : i64
    %c18 = arith.constant 14 : i64
    %c19 = arith.constant 15 : i64
    %c20 = arith.constant 0x3F800000 : f32
    %c21 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi64>
    %c22 = arith.constant dense<0.0> : vector<8xf32>
    %c23 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]> : vector<16xi64>
    %c24 = arith.constant 18 : i64
    %c25 = arith.constant 437 : i64
    %711 = arith.muli %c0, %c0 : i64
    %nothing = arith.constant 0 : i64
    %errorat = llvm.getelementptr %frame[2] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %nothing, %errorat : i64, !llvm.ptr
    %one = arith.constant 1 : i64
    %grain = arith.constant 21845 : i64
    %wanted = arith.divsi %c25, %grain : i64
    %useful = arith.minsi %wanted, %711 : i64
    %several = arith.cmpi sgt, %useful, %one : i64
    scf.if %several {
      %most32 = llvm.call @omp_get_max_threads() : () -> i32
      %most = arith.extsi %most32 : i32 to i64
      %threads = arith.minsi %useful, %most : i64
      %alone = arith.cmpi sle, %threads, %one : i64
      scf.if %alone {
        llvm.call @NAME_body(%frame, %nothing, %711) : (!llvm.ptr, i64, i64) -> ()
      } else {
        %task = llvm.mlir.addressof @NAME_task : !llvm.ptr
        %threads32 = arith.trunci %threads : i64 to i32
        %flags = arith.constant 0 : i32
        llvm.call @GOMP_parallel(%task, %frame, %threads32, %flags) : (!llvm.ptr, !llvm.ptr, i32, i32) -> ()
      }
    } else {
      llvm.call @NAME_body(%frame, %nothing, %711) : (!llvm.ptr, i64, i64) -> ()
    }
    %error = llvm.load %errorat : !llvm.ptr -> i64
    llvm.return %error : i64
  }
