// RUN: relax-opt %s --llvm-lower | FileCheck %s

// Functions, what they need and constants become LLVM's; bf16 is kept as integers.
// CHECK-DAG: llvm.mlir.global private constant @table(dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>)
// CHECK-DAG: llvm.func @erf(f64) -> f64
// CHECK: llvm.func internal @__relax_defined.f(%arg0: f64, %arg1: i64) -> f64
// CHECK: llvm.mlir.addressof @table : !llvm.ptr
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> f32
// CHECK: llvm.call @erf(
memref.global "private" constant @table : memref<2xf32> = dense<[1.0, 2.0]>
func.func private @__relax_defined.f(%x: f64, %i: index) -> f64 attributes {llvm.linkage = #llvm.linkage<internal>} {
  %0 = memref.get_global @table : memref<2xf32>
  %1 = memref.load %0[%i] : memref<2xf32>
  %2 = arith.extf %1 : f32 to f64
  %3 = math.erf %x : f64
  %4 = arith.addf %2, %3 : f64
  return %4 : f64
}

// CHECK-LABEL: llvm.func @narrow(
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> i16
// CHECK-NOT: func.func
func.func @narrow(%x: memref<4xbf16>, %y: memref<4xbf16>, %i: index) {
  %0 = memref.load %x[%i] : memref<4xbf16>
  memref.store %0, %y[%i] : memref<4xbf16>
  return
}
