// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @plain(
// CHECK: "relax.nn.conv2d_winograd"({{.*}}) {operandSegmentSizes = array<i32: 1, 1, 0, 0>, padding = [1, 1, 1, 1], rows = 8 : i64, tiles = 16 : i64} {{.*}} -> tensor<?x6x9x?x4xf32, #relax.sym<["n", 6, 9, "w", 4]>>
func.func @plain(%x: tensor<?x2x9x?x4xf32, #relax.sym<["n", 2, 9, "w", 4]>>, %w: tensor<3x36x8x8xf32>) -> tensor<?x6x9x?x4xf32, #relax.sym<["n", 6, 9, "w", 4]>> {
  %r = "relax.nn.conv2d_winograd"(%x, %w) {padding = [1, 1, 1, 1], rows = 8 : i64, tiles = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<?x2x9x?x4xf32, #relax.sym<["n", 2, 9, "w", 4]>>, tensor<3x36x8x8xf32>) -> tensor<?x6x9x?x4xf32, #relax.sym<["n", 6, 9, "w", 4]>>
  return %r : tensor<?x6x9x?x4xf32, #relax.sym<["n", 6, 9, "w", 4]>>
}

// CHECK-LABEL: func.func @all(
// CHECK: "relax.nn.conv2d_winograd"({{.*}}) {operandSegmentSizes = array<i32: 1, 1, 1, 1>, padding = [0, 1, 1, 0], relu = true}{{.*}} -> tensor<1x3x4x5x4xf32>
func.func @all(%x: tensor<1x2x5x6x4xf32>, %w: tensor<3x16x8x4xf32>, %b: tensor<3x4xf32>, %y: tensor<1x3x4x5x4xf32>) -> tensor<1x3x4x5x4xf32> {
  %r = "relax.nn.conv2d_winograd"(%x, %w, %b, %y) {padding = [0, 1, 1, 0], relu = true, operandSegmentSizes = array<i32: 1, 1, 1, 1>} : (tensor<1x2x5x6x4xf32>, tensor<3x16x8x4xf32>, tensor<3x4xf32>, tensor<1x3x4x5x4xf32>) -> tensor<1x3x4x5x4xf32>
  return %r : tensor<1x3x4x5x4xf32>
}
