// RUN: relax-opt %s --relax-inline='max-ops=5' --verify-diagnostics
// RUN: relax-opt %s --relax-inline='max-ops=6' | FileCheck %s

// Functions that call each other twice grow by powers of two.
// CHECK-LABEL: func.func @main(
// CHECK-COUNT-2: relax.exp
func.func private @one(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @two(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @one(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @two(%x) : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @+1 {{inlining @two adds too much: more than 5 operations}}
  %1 = call @two(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
