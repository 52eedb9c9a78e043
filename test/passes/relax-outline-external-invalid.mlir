// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: relax-opt %s --split-input-file --verify-diagnostics --relax-outline-external
// A part within a part has no place.
func.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.codegen = "npu"} {
  return %x : tensor<4xf32>
}
// expected-error @+1 {{@outer is a part of a codegen, and calls @inner, another part}}
func.func private @outer(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.codegen = "npu"} {
  %0 = call @inner(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

module @p attributes {relax.codegen = "npu"} {
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}
func.func private @g(%x: tensor<4xf32>) -> tensor<4xf32>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{@g is no function of an external module (@module::@function)}}
  %0 = "relax.call_external"(%x) {func = @g} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

module @p attributes {relax.codegen = "npu"} {
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}
func.func @main(%x: tensor<5xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{argument #0 (tensor<5xf32>) does not fit that of @p::@f (tensor<4xf32>)}}
  %0 = "relax.call_external"(%x) {func = @p::@f} : (tensor<5xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

module @p attributes {relax.codegen = "npu"} {
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{there is no function @q in the module}}
  %0 = "relax.call_external"(%x) {func = @q::@f} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
