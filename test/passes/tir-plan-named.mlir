// RUN: relax-opt %s --tir-plan='target=llvm{vector-bytes=64 caches=32K,512K}' | FileCheck %s

// Upstream's named operations are planned as their loops are: see tir-plan.py.
// CHECK-LABEL: func.func @matmul(
// CHECK: linalg.generic {{.*}} {tir.plan = "start"}
// CHECK: linalg.generic {{.*}} {tir.plan = "order 1 0 2; carried 1; vector 1 x 16; tile 1: 4, 0: 6; panel 1 along 2: 32; rule matmul"}
func.func @matmul(%a: tensor<60x32xf32>, %b: tensor<32x128xf32>, %out: tensor<60x128xf32>) -> tensor<60x128xf32>
    attributes {tir.prim_func, tir.op_pattern = "out_ewise_fusable"} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<60x128xf32>) -> tensor<60x128xf32>
  %1 = linalg.matmul ins(%a, %b : tensor<60x32xf32>, tensor<32x128xf32>) outs(%0 : tensor<60x128xf32>) -> tensor<60x128xf32>
  return %1 : tensor<60x128xf32>
}

// A function that is no PrimFunc stays unchanged.
// CHECK-LABEL: func.func @other(
// CHECK: linalg.fill ins
func.func @other(%x: f32, %out: tensor<64xf32>) -> tensor<64xf32> {
  %0 = linalg.fill ins(%x : f32) outs(%out : tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
