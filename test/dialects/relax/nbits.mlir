// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @matmul_nbits(
// CHECK: "relax.matmul_nbits"({{.*}}) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>}{{.*}} -> tensor<2x?x9xf32, #relax.sym<[2, "n", 9]>>
func.func @matmul_nbits(%x: tensor<2x?x40xf32, #relax.sym<[2, "n", 40]>>, %codes: tensor<9x2x16xui8>, %scale: tensor<9x2xf32>) -> tensor<2x?x9xf32, #relax.sym<[2, "n", 9]>> {
  %r = "relax.matmul_nbits"(%x, %codes, %scale) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>} : (tensor<2x?x40xf32, #relax.sym<[2, "n", 40]>>, tensor<9x2x16xui8>, tensor<9x2xf32>) -> tensor<2x?x9xf32, #relax.sym<[2, "n", 9]>>
  return %r : tensor<2x?x9xf32, #relax.sym<[2, "n", 9]>>
}

// CHECK-LABEL: func.func @all(
// CHECK: "relax.matmul_nbits"({{.*}}) {bits = 8 : i64, block_size = 16 : i64, {{.*}} -> tensor<9xf16>
func.func @all(%x: tensor<40xf16>, %codes: tensor<9x3x16xui8>, %scale: tensor<9x3xf16>, %zero: tensor<9x3xui8>, %bias: tensor<9xf16>) -> tensor<9xf16> {
  %r = "relax.matmul_nbits"(%x, %codes, %scale, %zero, %bias) {bits = 8 : i64, block_size = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0, 0>} : (tensor<40xf16>, tensor<9x3x16xui8>, tensor<9x3xf16>, tensor<9x3xui8>, tensor<9xf16>) -> tensor<9xf16>
  return %r : tensor<9xf16>
}

// CHECK-LABEL: func.func @panels(
// CHECK: "relax.matmul_nbits_panels"({{.*}}) {columns = 9 : i64, lanes = 4 : i64, {{.*}} -> tensor<?x9xf32, #relax.sym<["n", 9]>>
func.func @panels(%x: tensor<?x40xf32, #relax.sym<["n", 40]>>, %codes: tensor<2x8x32xui8>, %scale: tensor<2x2x8xf32>) -> tensor<?x9xf32, #relax.sym<["n", 9]>> {
  %r = "relax.matmul_nbits_panels"(%x, %codes, %scale) {columns = 9 : i64, lanes = 4 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>} : (tensor<?x40xf32, #relax.sym<["n", 40]>>, tensor<2x8x32xui8>, tensor<2x2x8xf32>) -> tensor<?x9xf32, #relax.sym<["n", 9]>>
  return %r : tensor<?x9xf32, #relax.sym<["n", 9]>>
}

// CHECK-LABEL: func.func @rounded(
// CHECK: "relax.matmul_nbits"({{.*}}) {activation_bits = 8 : i64, operandSegmentSizes
func.func @rounded(%x: tensor<3x40xf32>, %codes: tensor<9x2x16xui8>, %scale: tensor<9x2xf32>) -> tensor<3x9xf32> {
  %r = "relax.matmul_nbits"(%x, %codes, %scale) {activation_bits = 8 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>} : (tensor<3x40xf32>, tensor<9x2x16xui8>, tensor<9x2xf32>) -> tensor<3x9xf32>
  return %r : tensor<3x9xf32>
}
