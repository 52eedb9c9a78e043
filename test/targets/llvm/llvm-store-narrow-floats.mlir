// RUN: relax-opt %s --llvm-store-narrow-floats | FileCheck %s

// CHECK-LABEL: llvm.func @f
// CHECK: %[[PASSED:.*]] = llvm.bitcast %arg2 : vector<8xbf16> to vector<8xi16>
// CHECK: %[[LOADED:.*]] = llvm.intr.masked.load %arg0, %arg1, %[[PASSED]] {alignment = 2 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xi16>) -> vector<8xi16>
// CHECK: llvm.intr.masked.store %[[LOADED]], %arg0, %arg1 {alignment = 2 : i32} : vector<8xi16>, vector<8xi1> into !llvm.ptr
// CHECK: llvm.intr.masked.store %arg3, %arg0, %arg1 {alignment = 4 : i32} : vector<8xf32>
llvm.func @f(%p: !llvm.ptr, %m: vector<8xi1>, %v: vector<8xbf16>, %w: vector<8xf32>) {
  %0 = llvm.intr.masked.load %p, %m, %v {alignment = 2 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xbf16>) -> vector<8xbf16>
  llvm.intr.masked.store %0, %p, %m {alignment = 2 : i32} : vector<8xbf16>, vector<8xi1> into !llvm.ptr
  llvm.intr.masked.store %w, %p, %m {alignment = 4 : i32} : vector<8xf32>, vector<8xi1> into !llvm.ptr
  llvm.return
}

// CHECK-LABEL: llvm.func @put
// CHECK-DAG: %[[VECTOR:.*]] = llvm.bitcast %arg0 : vector<8xf16> to vector<8xi16>
// CHECK-DAG: %[[ELEMENT:.*]] = llvm.bitcast %arg1 : f16 to i16
// CHECK: %[[FILLED:.*]] = llvm.insertelement %[[ELEMENT]], %[[VECTOR]][%arg4 : i64] : vector<8xi16>
// CHECK: llvm.shufflevector %{{.*}}, %{{.*}} [1, 0, 3, 2, 5, 4, 7, 6] : vector<8xi16>
// CHECK: llvm.insertelement %arg3, %arg2[%arg4 : i64] : vector<8xf32>
llvm.func @put(%v: vector<8xf16>, %x: f16, %w: vector<8xf32>, %y: f32, %i: i64) -> vector<8xf16> {
  %0 = llvm.insertelement %x, %v[%i : i64] : vector<8xf16>
  %1 = llvm.shufflevector %0, %0 [1, 0, 3, 2, 5, 4, 7, 6] : vector<8xf16>
  %2 = llvm.insertelement %y, %w[%i : i64] : vector<8xf32>
  llvm.return %1 : vector<8xf16>
}

// CHECK-LABEL: llvm.func @keep
// CHECK: %[[FLOATS:.*]] = llvm.mlir.constant(1.500000e+00 : bf16) : bf16
// CHECK: %[[CONSTANT:.*]] = llvm.bitcast %[[FLOATS]] : bf16 to i16
// CHECK: %[[LOADED:.*]] = llvm.load %arg0 : !llvm.ptr -> i16
// CHECK: llvm.cond_br %arg1, ^bb1(%[[LOADED]] : i16), ^bb1(%[[CONSTANT]] : i16)
// CHECK: ^bb1(%[[CHOSEN:.*]]: i16):
// CHECK: llvm.bitcast %[[CHOSEN]] : i16 to i16
llvm.func @keep(%p: !llvm.ptr, %c: i1) -> i16 {
  %0 = llvm.mlir.constant(1.5 : bf16) : bf16
  %1 = llvm.load %p : !llvm.ptr -> bf16
  llvm.cond_br %c, ^bb1(%1 : bf16), ^bb1(%0 : bf16)
^bb1(%2: bf16):
  %3 = llvm.bitcast %2 : bf16 to i16
  llvm.return %3 : i16
}

// A constant by itself.
// CHECK-LABEL: llvm.func @clear
// CHECK: %[[BITS:.*]] = llvm.bitcast %{{.*}} : bf16 to i16
// CHECK: llvm.store %[[BITS]], %arg0 : i16, !llvm.ptr
llvm.func @clear(%p: !llvm.ptr) {
  %0 = llvm.mlir.constant(0.0 : bf16) : bf16
  llvm.store %0, %p : bf16, !llvm.ptr
  llvm.return
}

// CHECK-LABEL: llvm.func @compute
// CHECK: %[[LOADED:.*]] = llvm.load %arg0 : !llvm.ptr -> i16
// CHECK: %[[FLOAT:.*]] = llvm.bitcast %[[LOADED]] : i16 to bf16
// CHECK: %[[WIDE:.*]] = llvm.fpext %[[FLOAT]] : bf16 to f64
// CHECK: %[[ROUNDED:.*]] = llvm.fptrunc %[[WIDE]] : f64 to bf16
// CHECK: %[[BITS:.*]] = llvm.bitcast %[[ROUNDED]] : bf16 to i16
// CHECK: llvm.store %[[BITS]], %arg0 : i16, !llvm.ptr
llvm.func @compute(%p: !llvm.ptr) {
  %0 = llvm.load %p : !llvm.ptr -> bf16
  %1 = llvm.fpext %0 : bf16 to f64
  %2 = llvm.fptrunc %1 : f64 to bf16
  llvm.store %2, %p : bf16, !llvm.ptr
  llvm.return
}
