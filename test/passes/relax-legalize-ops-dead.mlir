// RUN: relax-opt %s --pass-pipeline='builtin.module(relax-legalize-ops,canonicalize,cse,symbol-dce)' | FileCheck %s
// RUN: relax-opt %s --pass-pipeline='builtin.module(relax-legalize-ops,relax-fuse-tir,canonicalize,cse,symbol-dce)' | FileCheck %s --check-prefix=FUSED

// PrimFuncs that the compiler makes are the module's own: those that nobody calls go, one written by hand stays.
// CHECK-NOT: @exp(
// CHECK: func.func @by_hand(
// CHECK: func.func private @sin(
// CHECK: func.func private @negative(
// CHECK-NOT: @exp(
// FUSED-NOT: @fused_exp_abs
// FUSED: func.func private @fused_sin_negative(
// FUSED-NOT: @fused_exp_abs
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.abs"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "relax.sin"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = "relax.negative"(%2) : (tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}
func.func @by_hand(%x: tensor<4xf32>, %out: tensor<4xf32>) -> tensor<4xf32> attributes {tir.prim_func} {
  return %x : tensor<4xf32>
}
