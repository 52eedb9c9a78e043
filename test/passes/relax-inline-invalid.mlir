// RUN: relax-opt %s --relax-inline --split-input-file --verify-diagnostics
// RUN: relax-opt %s --relax-inline='recursion=leave' --split-input-file | FileCheck %s

// CHECK-LABEL: func.func private @self(
// CHECK: call @self
// CHECK-LABEL: func.func @calls_self(
// CHECK: call @self
func.func private @self(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{cannot inline @self, which is recursive: @self calls @self (recursion=leave keeps it)}}
  %0 = call @self(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @calls_self(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @self(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// In a cycle the call that closes it is kept; the others are inlined.
// CHECK-LABEL: func.func private @even(
// CHECK-NEXT: relax.cos
// CHECK-NEXT: relax.sin
// CHECK-NEXT: call @even
// CHECK-NOT: @odd
func.func private @even(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.cos"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @odd(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @odd(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.sin"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @+1 {{cannot inline @even, which is recursive: @even calls @odd calls @even}}
  %1 = call @even(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
