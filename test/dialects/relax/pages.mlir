// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @paged_attention(
// CHECK: "relax.paged_attention"({{.*}}) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0>}{{.*}} -> tensor<?x4x6xf32, #relax.sym<["t", 4, 6]>>
func.func @paged_attention(%q: tensor<?x4x8xf32, #relax.sym<["t", 4, 8]>>, %k: tensor<?x16x2x8xf16, #relax.sym<["p", 16, 2, 8]>>, %v: tensor<?x16x2x6xf16, #relax.sym<["p", 16, 2, 6]>>, %table: tensor<?x?xi32, #relax.sym<["s", "m"]>>, %sequences: tensor<?xi32, #relax.sym<["t"]>>, %lengths: tensor<?xi32, #relax.sym<["t"]>>) -> tensor<?x4x6xf32, #relax.sym<["t", 4, 6]>> {
  %r = "relax.paged_attention"(%q, %k, %v, %table, %sequences, %lengths) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0>} : (tensor<?x4x8xf32, #relax.sym<["t", 4, 8]>>, tensor<?x16x2x8xf16, #relax.sym<["p", 16, 2, 8]>>, tensor<?x16x2x6xf16, #relax.sym<["p", 16, 2, 6]>>, tensor<?x?xi32, #relax.sym<["s", "m"]>>, tensor<?xi32, #relax.sym<["t"]>>, tensor<?xi32, #relax.sym<["t"]>>) -> tensor<?x4x6xf32, #relax.sym<["t", 4, 6]>>
  return %r : tensor<?x4x6xf32, #relax.sym<["t", 4, 6]>>
}

// CHECK-LABEL: func.func @all(
// CHECK: "relax.paged_attention"({{.*}}) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 1, 1>, scale = 5.000000e-01 : f64, softcap = 3.000000e+01 : f64, window_size = 9 : i64}{{.*}} -> tensor<3x4x8xf16>
func.func @all(%q: tensor<3x4x8xf16>, %pages: tensor<5x16x2x8xi8>, %table: tensor<2x3xi32>, %tokens: tensor<3xi32>, %scale: tensor<5x16x2xf32>, %sinks: tensor<4xf32>) -> tensor<3x4x8xf16> {
  %r = "relax.paged_attention"(%q, %pages, %pages, %table, %tokens, %tokens, %scale, %scale, %sinks) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 1, 1>, scale = 0.5 : f64, softcap = 30.0 : f64, window_size = 9 : i64} : (tensor<3x4x8xf16>, tensor<5x16x2x8xi8>, tensor<5x16x2x8xi8>, tensor<2x3xi32>, tensor<3xi32>, tensor<3xi32>, tensor<5x16x2xf32>, tensor<5x16x2xf32>, tensor<4xf32>) -> tensor<3x4x8xf16>
  return %r : tensor<3x4x8xf16>
}

// CHECK-LABEL: func.func @append_pages(
// CHECK: "relax.append_pages"({{.*}}) : {{.*}} -> tensor<?x16x2x8xf16, #relax.sym<["p", 16, 2, 8]>>
func.func @append_pages(%pages: tensor<?x16x2x8xf16, #relax.sym<["p", 16, 2, 8]>>, %rows: tensor<?x2x8xf32, #relax.sym<["t", 2, 8]>>, %slots: tensor<?xi32, #relax.sym<["t"]>>) -> tensor<?x16x2x8xf16, #relax.sym<["p", 16, 2, 8]>> {
  %r = "relax.append_pages"(%pages, %rows, %slots) : (tensor<?x16x2x8xf16, #relax.sym<["p", 16, 2, 8]>>, tensor<?x2x8xf32, #relax.sym<["t", 2, 8]>>, tensor<?xi32, #relax.sym<["t"]>>) -> tensor<?x16x2x8xf16, #relax.sym<["p", 16, 2, 8]>>
  return %r : tensor<?x16x2x8xf16, #relax.sym<["p", 16, 2, 8]>>
}

// CHECK-LABEL: func.func @append_pages_quantized(
// CHECK: "relax.append_pages_quantized"({{.*}}) : {{.*}} -> (tensor<5x16x2x8xi8>, tensor<5x16x2xf32>)
func.func @append_pages_quantized(%pages: tensor<5x16x2x8xi8>, %scales: tensor<5x16x2xf32>, %rows: tensor<3x2x8xbf16>, %slots: tensor<3xi32>) -> (tensor<5x16x2x8xi8>, tensor<5x16x2xf32>) {
  %r:2 = "relax.append_pages_quantized"(%pages, %scales, %rows, %slots) : (tensor<5x16x2x8xi8>, tensor<5x16x2xf32>, tensor<3x2x8xbf16>, tensor<3xi32>) -> (tensor<5x16x2x8xi8>, tensor<5x16x2xf32>)
  return %r#0, %r#1 : tensor<5x16x2x8xi8>, tensor<5x16x2xf32>
}
