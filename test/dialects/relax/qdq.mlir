// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @quantize(
// CHECK: "relax.quantize"({{.*}}){{.*}} -> tensor<2x?x4xi8, #relax.sym<[2, "n", 4]>>
func.func @quantize(%a: tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>, %b: tensor<f32>, %c: tensor<i8>) -> tensor<2x?x4xi8, #relax.sym<[2, "n", 4]>> {
  %r = "relax.quantize"(%a, %b, %c) : (tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>, tensor<f32>, tensor<i8>) -> tensor<2x?x4xi8, #relax.sym<[2, "n", 4]>>
  return %r : tensor<2x?x4xi8, #relax.sym<[2, "n", 4]>>
}

// CHECK-LABEL: func.func @quantize_slices(
// CHECK: "relax.quantize"({{.*}}) {axis = 1 : i64, out_dtype = ui4}{{.*}} -> tensor<2x?x4xui4, #relax.sym<[2, "n", 4]>>
func.func @quantize_slices(%a: tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>, %b: tensor<?xf32, #relax.sym<["n"]>>, %c: tensor<?xui4, #relax.sym<["n"]>>) -> tensor<2x?x4xui4, #relax.sym<[2, "n", 4]>> {
  %r = "relax.quantize"(%a, %b, %c) {axis = 1 : i64, out_dtype = ui4} : (tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>, tensor<?xf32, #relax.sym<["n"]>>, tensor<?xui4, #relax.sym<["n"]>>) -> tensor<2x?x4xui4, #relax.sym<[2, "n", 4]>>
  return %r : tensor<2x?x4xui4, #relax.sym<[2, "n", 4]>>
}

// CHECK-LABEL: func.func @dequantize(
// CHECK: "relax.dequantize"({{.*}}){{.*}} -> tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>
func.func @dequantize(%a: tensor<2x?x4xi8, #relax.sym<[2, "n", 4]>>, %b: tensor<4xf32>, %c: tensor<i8>) -> tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>> {
  %r = "relax.dequantize"(%a, %b, %c) : (tensor<2x?x4xi8, #relax.sym<[2, "n", 4]>>, tensor<4xf32>, tensor<i8>) -> tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>
  return %r : tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>
}

// CHECK-LABEL: func.func @dequantize_float8(
// CHECK: "relax.dequantize"({{.*}}) {axis = 0 : i64, out_dtype = f16}{{.*}} -> tensor<?x4xf16, #relax.sym<["n", 4]>>
func.func @dequantize_float8(%a: tensor<?x4xf8E4M3FN, #relax.sym<["n", 4]>>, %b: tensor<f16>, %c: tensor<f16>) -> tensor<?x4xf16, #relax.sym<["n", 4]>> {
  %r = "relax.dequantize"(%a, %b, %c) {axis = 0 : i64, out_dtype = f16} : (tensor<?x4xf8E4M3FN, #relax.sym<["n", 4]>>, tensor<f16>, tensor<f16>) -> tensor<?x4xf16, #relax.sym<["n", 4]>>
  return %r : tensor<?x4xf16, #relax.sym<["n", 4]>>
}

// CHECK-LABEL: func.func @requantize(
// CHECK: "relax.requantize"({{.*}}) {axis = 0 : i64, form = "q31", out_dtype = ui8, rounding = "half_up"}{{.*}} -> tensor<?x4xui8, #relax.sym<["n", 4]>>
func.func @requantize(%a: tensor<?x4xi32, #relax.sym<["n", 4]>>, %b: tensor<?xi32, #relax.sym<["n"]>>, %c: tensor<i32>, %d: tensor<i32>) -> tensor<?x4xui8, #relax.sym<["n", 4]>> {
  %r = "relax.requantize"(%a, %b, %c, %d) {axis = 0 : i64, form = "q31", out_dtype = ui8, rounding = "half_up"} : (tensor<?x4xi32, #relax.sym<["n", 4]>>, tensor<?xi32, #relax.sym<["n"]>>, tensor<i32>, tensor<i32>) -> tensor<?x4xui8, #relax.sym<["n", 4]>>
  return %r : tensor<?x4xui8, #relax.sym<["n", 4]>>
}
