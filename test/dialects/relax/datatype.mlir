// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @astype(
// CHECK: "relax.astype"({{.*}}) {dtype = f16}{{.*}} -> tensor<2x?x4xf16, #relax.sym<[2, "n", 4]>>
func.func @astype(%a: tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> tensor<2x?x4xf16, #relax.sym<[2, "n", 4]>> {
  %r = "relax.astype"(%a) {dtype = f16} : (tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> tensor<2x?x4xf16, #relax.sym<[2, "n", 4]>>
  return %r : tensor<2x?x4xf16, #relax.sym<[2, "n", 4]>>
}

// CHECK-LABEL: func.func @astype_float8(
// CHECK: "relax.astype"({{.*}}) {dtype = f8E4M3FN}{{.*}} -> tensor<*xf8E4M3FN>
func.func @astype_float8(%a: tensor<*xi8>) -> tensor<*xf8E4M3FN> {
  %r = "relax.astype"(%a) {dtype = f8E4M3FN} : (tensor<*xi8>) -> tensor<*xf8E4M3FN>
  return %r : tensor<*xf8E4M3FN>
}

// CHECK-LABEL: func.func @bitcast(
// CHECK: "relax.bitcast"({{.*}}) {dtype = i32}{{.*}} -> tensor<?x4xi32, #relax.sym<["n", 4]>>
func.func @bitcast(%a: tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xi32, #relax.sym<["n", 4]>> {
  %r = "relax.bitcast"(%a) {dtype = i32} : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xi32, #relax.sym<["n", 4]>>
  return %r : tensor<?x4xi32, #relax.sym<["n", 4]>>
}
