// RUN: relax-opt %s --relax-lower-calls | FileCheck %s
// Inputs that a call may write to are told: directly, by a view, by a function that is called, inside of a branch.

// CHECK: func.func @main
// CHECK-SAME: relax.written = array<i64: 1, 2, 4>
func.func @main(%w: tensor<4xf32>, %x: tensor<2x2xf32>, %y: tensor<4xf32>, %c: i1, %z: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @inner(%w, %x) : (tensor<4xf32>, tensor<2x2xf32>) -> tensor<4xf32>
  scf.if %c {
    "relax.call_packed"(%y) {func = "f"} : (tensor<4xf32>) -> ()
  }
  %1 = "relax.call_inplace_packed"(%z) {func = "g", inplace_indices = [0]} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// CHECK: func.func private @inner
// CHECK-SAME: relax.written = array<i64: 1>
func.func private @inner(%a: tensor<4xf32>, %b: tensor<2x2xf32>) -> tensor<4xf32> {
  %0 = "relax.flatten"(%b) : (tensor<2x2xf32>) -> tensor<4xf32>
  %1 = "relax.call_tir_inplace"(%0) {func = @double, inplace_indices = [0]} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "relax.call_tir_inplace"(%1) {func = @double, inplace_indices = [0]} : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
// What is only read is not: nor what is written to in memory of the function's own.
// CHECK: func.func @reads
// CHECK-NOT: relax.written
func.func @reads(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.call_tir"(%x) {func = @copy} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.call_tir_inplace"(%0) {func = @double, inplace_indices = [0]} : (tensor<4xf32>) -> tensor<4xf32>
  "relax.call_pure_packed"(%x) {func = "f"} : (tensor<4xf32>) -> ()
  return %1 : tensor<4xf32>
}
func.func private @double(%x: memref<4xf32>) attributes {tir.prim_func} {
  return
}
func.func private @copy(%x: memref<4xf32>, %y: memref<4xf32>) attributes {tir.prim_func} {
  return
}
