// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each operation on tensors is a PrimFunc, which writes into the memory of its result; dynamic sizes get names.
// RUN: relax-opt %s --split-input-file --relax-outline-tensors | FileCheck %s

// CHECK: func.func private @linalg_matmul(%arg0: tensor<?x8xf32>, %arg1: tensor<8x16xf32>, %arg2: tensor<?x16xf32>)
// CHECK: %[[FILLED:.*]] = linalg.generic {{.*}} outs(%arg2
// CHECK: linalg.generic {{.*}} ins(%arg0, %arg1 {{.*}} outs(%[[FILLED]]
// CHECK: func.func @main(%arg0: tensor<?x8xf32, #relax.sym<["size_0", 8]>>
// CHECK: "relax.call_tir"(%arg0, %arg1) {func = @linalg_matmul} : {{.*}} -> tensor<?x16xf32, #relax.sym<["size_0", 16]>>
func.func @main(%a: tensor<?x8xf32>, %b: tensor<8x16xf32>) -> tensor<?x16xf32> {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %n = tensor.dim %a, %c0 : tensor<?x8xf32>
  %e = tensor.empty(%n) : tensor<?x16xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<?x16xf32>) -> tensor<?x16xf32>
  %r = linalg.matmul ins(%a, %b : tensor<?x8xf32>, tensor<8x16xf32>) outs(%f : tensor<?x16xf32>) -> tensor<?x16xf32>
  return %r : tensor<?x16xf32>
}

// -----

// Tensors that a loop runs over together have the sizes of its result, which is checked; arithmetic on whole tensors is
// a loop, and functions of numbers are tir's.
// CHECK: tir.erf
// CHECK: func.func @main
// CHECK: %[[FITTED:.*]] = "relax.match_cast"(%arg1) : (tensor<?xf32, #relax.sym<["size_1"]>>) -> tensor<?xf32, #relax.sym<["size_0"]>>
// CHECK: "relax.call_tir"(%arg0, %[[FITTED]])
func.func @main(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %a, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %s = linalg.add ins(%a, %b : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %r = math.erf %s : tensor<?xf32>
  return %r : tensor<?xf32>
}

// -----

// Functions of graphs stay.
// CHECK: func.func @main(%arg0: tensor<4xf32>)
// CHECK-NEXT: "relax.exp"(%arg0)
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
