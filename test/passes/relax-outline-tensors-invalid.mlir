// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: relax-opt %s --split-input-file --verify-diagnostics --relax-outline-tensors
func.func @main(%x: tensor<4xf32>, %c: tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  %t = tensor.extract %c[] : tensor<i1>
  %n = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  // expected-error @+1 {{contains operators of relax among upstream's tensor operations: use separate functions}}
  %r = scf.if %t -> tensor<4xf32> {
    %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %0 : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  return %n, %r : tensor<4xf32>, tensor<4xf32>
}

// -----

func.func @main(%x: tensor<?xf32>, %shape: tensor<2xindex>) -> tensor<?x?xf32> {
  // expected-error @+1 {{'tensor.reshape' op: a size of its result is neither in an argument's type nor computed before}}
  %r = tensor.reshape %x(%shape) : (tensor<?xf32>, tensor<2xindex>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}
