// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @where(
// CHECK: "relax.where"({{.*}}){{.*}} -> tensor<?x4xf32, #relax.sym<["n", 4]>>
func.func @where(%a: tensor<?x1xi1, #relax.sym<["n", 1]>>, %b: tensor<4xf32>, %c: tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>> {
  %r = "relax.where"(%a, %b, %c) : (tensor<?x1xi1, #relax.sym<["n", 1]>>, tensor<4xf32>, tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  return %r : tensor<?x4xf32, #relax.sym<["n", 4]>>
}

// CHECK-LABEL: func.func @clip(
// CHECK: "relax.clip"({{.*}}){{.*}} -> tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>
func.func @clip(%a: tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>> {
  %c1 = arith.constant 0 : i64
  %c2 = arith.constant 6.0 : f64
  %r = "relax.clip"(%a, %c1, %c2) : (tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>, i64, f64) -> tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>
  return %r : tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>
}

// CHECK-LABEL: func.func @sort(
// CHECK: "relax.sort"({{.*}}) {axis = 1 : i64, descending = true}{{.*}} -> tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>
func.func @sort(%a: tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>> {
  %r = "relax.sort"(%a) {axis = 1 : i64, descending = true} : (tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>
  return %r : tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>
}

// CHECK-LABEL: func.func @argsort(
// CHECK: "relax.argsort"({{.*}}) {dtype = i64}{{.*}} -> tensor<2x?x4xi64, #relax.sym<[2, "n", 4]>>
func.func @argsort(%a: tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> tensor<2x?x4xi64, #relax.sym<[2, "n", 4]>> {
  %r = "relax.argsort"(%a) {dtype = i64} : (tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> tensor<2x?x4xi64, #relax.sym<[2, "n", 4]>>
  return %r : tensor<2x?x4xi64, #relax.sym<[2, "n", 4]>>
}

// CHECK-LABEL: func.func @topk(
// CHECK: "relax.topk"({{.*}}) {k = 3 : i64}{{.*}} -> (tensor<2x?x3xf32, #relax.sym<[2, "n", 3]>>, tensor<2x?x3xi32, #relax.sym<[2, "n", 3]>>)
func.func @topk(%a: tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> (tensor<2x?x3xf32, #relax.sym<[2, "n", 3]>>, tensor<2x?x3xi32, #relax.sym<[2, "n", 3]>>) {
  %r:2 = "relax.topk"(%a) {k = 3 : i64} : (tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> (tensor<2x?x3xf32, #relax.sym<[2, "n", 3]>>, tensor<2x?x3xi32, #relax.sym<[2, "n", 3]>>)
  return %r#0, %r#1 : tensor<2x?x3xf32, #relax.sym<[2, "n", 3]>>, tensor<2x?x3xi32, #relax.sym<[2, "n", 3]>>
}

// CHECK-LABEL: func.func @topk_values(
// CHECK: "relax.topk"({{.*}}) {axis = 1 : i64, k = 2 : i64, largest = false, ret_type = "values"}{{.*}} -> tensor<2x2x4xf32>
func.func @topk_values(%a: tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> tensor<2x2x4xf32> {
  %r = "relax.topk"(%a) {axis = 1 : i64, k = 2 : i64, largest = false, ret_type = "values"} : (tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> tensor<2x2x4xf32>
  return %r : tensor<2x2x4xf32>
}

// CHECK-LABEL: func.func @topk_indices(
// CHECK: "relax.topk"({{.*}}) {dtype = i64, k = 0 : i64, ret_type = "indices"}{{.*}} -> tensor<2x?x4xi64, #relax.sym<[2, "n", 4]>>
func.func @topk_indices(%a: tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> tensor<2x?x4xi64, #relax.sym<[2, "n", 4]>> {
  %r = "relax.topk"(%a) {dtype = i64, k = 0 : i64, ret_type = "indices"} : (tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> tensor<2x?x4xi64, #relax.sym<[2, "n", 4]>>
  return %r : tensor<2x?x4xi64, #relax.sym<[2, "n", 4]>>
}

// CHECK-LABEL: func.func @unique(
// CHECK: "relax.unique"({{.*}}){{.*}} -> tensor<?xf32>
func.func @unique(%a: tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> tensor<?xf32> {
  %c1 = arith.constant true
  %c2 = arith.constant false
  %c3 = arith.constant false
  %c4 = arith.constant false
  %r = "relax.unique"(%a, %c1, %c2, %c3, %c4) : (tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>, i1, i1, i1, i1) -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// CHECK-LABEL: func.func @unique_with_all(
// CHECK: "relax.unique"({{.*}}){{.*}} -> (tensor<2x?x4xf32>, tensor<?xi64>, tensor<?xi64, #relax.sym<["n"]>>, tensor<?xi64>)
func.func @unique_with_all(%a: tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> (tensor<2x?x4xf32>, tensor<?xi64>, tensor<?xi64, #relax.sym<["n"]>>, tensor<?xi64>) {
  %c1 = arith.constant true
  %c2 = arith.constant true
  %c3 = arith.constant true
  %c4 = arith.constant true
  %c5 = arith.constant 1 : i64
  %r:4 = "relax.unique"(%a, %c1, %c2, %c3, %c4, %c5) : (tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>, i1, i1, i1, i1, i64) -> (tensor<2x?x4xf32>, tensor<?xi64>, tensor<?xi64, #relax.sym<["n"]>>, tensor<?xi64>)
  return %r#0, %r#1, %r#2, %r#3 : tensor<2x?x4xf32>, tensor<?xi64>, tensor<?xi64, #relax.sym<["n"]>>, tensor<?xi64>
}

// CHECK-LABEL: func.func @nonzero(
// CHECK: "relax.nonzero"({{.*}}){{.*}} -> tensor<3x?xi64>
func.func @nonzero(%a: tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> tensor<3x?xi64> {
  %r = "relax.nonzero"(%a) : (tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> tensor<3x?xi64>
  return %r : tensor<3x?xi64>
}

// CHECK-LABEL: func.func @bucketize(
// CHECK: "relax.bucketize"({{.*}}) {out_int32 = true, right = true}{{.*}} -> tensor<?x4xi32, #relax.sym<["n", 4]>>
func.func @bucketize(%a: tensor<?x4xf32, #relax.sym<["n", 4]>>, %b: tensor<?xf32, #relax.sym<["m"]>>) -> tensor<?x4xi32, #relax.sym<["n", 4]>> {
  %r = "relax.bucketize"(%a, %b) {out_int32 = true, right = true} : (tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<?xf32, #relax.sym<["m"]>>) -> tensor<?x4xi32, #relax.sym<["n", 4]>>
  return %r : tensor<?x4xi32, #relax.sym<["n", 4]>>
}

// CHECK-LABEL: func.func @multinomial_from_uniform(
// CHECK: "relax.multinomial_from_uniform"({{.*}}) {dtype = i32}{{.*}} -> tensor<?x1xi32, #relax.sym<["n", 1]>>
func.func @multinomial_from_uniform(%a: tensor<?x?xf32, #relax.sym<["b", "v"]>>, %b: tensor<?x1xf32, #relax.sym<["n", 1]>>, %c: tensor<?x1xi64, #relax.sym<["n", 1]>>) -> tensor<?x1xi32, #relax.sym<["n", 1]>> {
  %r = "relax.multinomial_from_uniform"(%a, %b, %c) {dtype = i32} : (tensor<?x?xf32, #relax.sym<["b", "v"]>>, tensor<?x1xf32, #relax.sym<["n", 1]>>, tensor<?x1xi64, #relax.sym<["n", 1]>>) -> tensor<?x1xi32, #relax.sym<["n", 1]>>
  return %r : tensor<?x1xi32, #relax.sym<["n", 1]>>
}
