// RUN: relax-opt %s --relax-canonicalize | FileCheck %s
// RUN: relax-opt %s --pass-pipeline='builtin.module(func.func(relax-canonicalize))' | FileCheck %s
// RUN: relax-opt %s --relax-canonicalize --relax-canonicalize | FileCheck %s

// The rules have their tests by family: relax-canonicalize-elementwise.mlir, -dimensions.mlir, -shapes.mlir,
// -constants.mlir; and in test/python/passes the proof that results stay the same to the last bit.

// Attributes that equal their defaults say nothing; axis = 1 does.
// CHECK-LABEL: func.func @defaults(
// CHECK-NEXT: "relax.concat"(%arg0, %arg0) : (
// CHECK-NEXT: "relax.concat"(%arg0, %arg0) {axis = 1 : i64} :
// CHECK-NEXT: "relax.nn.conv2d"(%arg1, %arg2) {mynpu.tag = 7 : i64, padding = array<i64: 1, 1, 1, 1>} :
// CHECK-NEXT: "relax.sum"(%arg0) {axis = array<i64: 0>} :
func.func @defaults(%a: tensor<2x2xf32>, %x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>)
    -> (tensor<4x2xf32>, tensor<2x4xf32>, tensor<1x4x8x8xf32>, tensor<2xf32>) {
  %0 = "relax.concat"(%a, %a) {axis = 0 : i64} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %1 = "relax.concat"(%a, %a) {axis = 1 : i64} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x4xf32>
  %2 = "relax.nn.conv2d"(%x, %w) {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>, groups = 1 : i64,
    data_layout = "NCHW", mynpu.tag = 7 : i64} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32>
  %3 = "relax.sum"(%a) {axis = array<i64: 0>, keepdims = false} : (tensor<2x2xf32>) -> tensor<2xf32>
  return %0, %1, %2, %3 : tensor<4x2xf32>, tensor<2x4xf32>, tensor<1x4x8x8xf32>, tensor<2xf32>
}

// What nobody uses goes, but for what has an effect.
// CHECK-LABEL: func.func @dead(
// CHECK-NEXT: "relax.print"(%arg0)
// CHECK-NEXT: return
func.func @dead(%a: tensor<2xf32>) {
  %0 = "relax.exp"(%a) : (tensor<2xf32>) -> tensor<2xf32>
  "relax.print"(%a) : (tensor<2xf32>) -> ()
  return
}

// Rules reach into control flow.
// CHECK-LABEL: func.func @regions(
// CHECK: scf.if
// CHECK-NEXT: scf.yield %arg1
func.func @regions(%c: i1, %a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = scf.if %c -> tensor<2xf32> {
    %1 = "relax.negative"(%a) : (tensor<2xf32>) -> tensor<2xf32>
    %2 = "relax.negative"(%1) : (tensor<2xf32>) -> tensor<2xf32>
    scf.yield %2 : tensor<2xf32>
  } else {
    %3 = "relax.exp"(%a) : (tensor<2xf32>) -> tensor<2xf32>
    scf.yield %3 : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}

// A more precise operand must not change what a result is stated to be.
// CHECK-LABEL: func.func @stated_types(
// CHECK-NEXT: "relax.negative"(%arg0) : (tensor<2xf32>) -> tensor<?xf32>
// CHECK-NEXT: "relax.negative"(%{{.*}}) : (tensor<?xf32>) -> tensor<?xf32>
func.func @stated_types(%a: tensor<2xf32>) -> tensor<?xf32> {
  %0 = "relax.negative"(%a) : (tensor<2xf32>) -> tensor<?xf32>
  %1 = "relax.negative"(%0) : (tensor<?xf32>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}
