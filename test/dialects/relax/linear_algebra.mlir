// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @matmul(
// CHECK: "relax.matmul"({{.*}}){{.*}} -> tensor<?x3x2x5xf32, #relax.sym<["b", 3, 2, 5]>>
func.func @matmul(%a: tensor<?x1x2x?xf32, #relax.sym<["b", 1, 2, "k"]>>, %b: tensor<3x?x5xf32, #relax.sym<[3, "m", 5]>>) -> tensor<?x3x2x5xf32, #relax.sym<["b", 3, 2, 5]>> {
  %r = "relax.matmul"(%a, %b) : (tensor<?x1x2x?xf32, #relax.sym<["b", 1, 2, "k"]>>, tensor<3x?x5xf32, #relax.sym<[3, "m", 5]>>) -> tensor<?x3x2x5xf32, #relax.sym<["b", 3, 2, 5]>>
  return %r : tensor<?x3x2x5xf32, #relax.sym<["b", 3, 2, 5]>>
}

// CHECK-LABEL: func.func @matmul_of_vectors(
// CHECK: "relax.matmul"({{.*}}) {out_dtype = i32}{{.*}} -> tensor<i32>
func.func @matmul_of_vectors(%a: tensor<?xi8, #relax.sym<["n"]>>, %b: tensor<?xui8, #relax.sym<["n"]>>) -> tensor<i32> {
  %r = "relax.matmul"(%a, %b) {out_dtype = i32} : (tensor<?xi8, #relax.sym<["n"]>>, tensor<?xui8, #relax.sym<["n"]>>) -> tensor<i32>
  return %r : tensor<i32>
}

// CHECK-LABEL: func.func @einsum(
// CHECK: "relax.einsum"({{.*}}) {subscripts = "ij,jk->ik"}{{.*}} -> tensor<?x?xf32, #relax.sym<["n", "m"]>>
func.func @einsum(%a: tensor<?x4xf32, #relax.sym<["n", 4]>>, %b: tensor<4x?xf32, #relax.sym<[4, "m"]>>) -> tensor<?x?xf32, #relax.sym<["n", "m"]>> {
  %r = "relax.einsum"(%a, %b) {subscripts = "ij,jk->ik"} : (tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<4x?xf32, #relax.sym<[4, "m"]>>) -> tensor<?x?xf32, #relax.sym<["n", "m"]>>
  return %r : tensor<?x?xf32, #relax.sym<["n", "m"]>>
}

// CHECK-LABEL: func.func @einsum_under_ellipsis(
// CHECK: "relax.einsum"({{.*}}) {subscripts = "...ij,...jk"}{{.*}} -> tensor<?x7x?x5xf32, #relax.sym<["b", 7, "n", 5]>>
func.func @einsum_under_ellipsis(%a: tensor<?x1x?x4xf32, #relax.sym<["b", 1, "n", 4]>>, %b: tensor<7x4x5xf32>) -> tensor<?x7x?x5xf32, #relax.sym<["b", 7, "n", 5]>> {
  %r = "relax.einsum"(%a, %b) {subscripts = "...ij,...jk"} : (tensor<?x1x?x4xf32, #relax.sym<["b", 1, "n", 4]>>, tensor<7x4x5xf32>) -> tensor<?x7x?x5xf32, #relax.sym<["b", 7, "n", 5]>>
  return %r : tensor<?x7x?x5xf32, #relax.sym<["b", 7, "n", 5]>>
}

// CHECK-LABEL: func.func @outer(
// CHECK: "relax.outer"({{.*}}){{.*}} -> tensor<?x4xf32, #relax.sym<["n", 4]>>
func.func @outer(%a: tensor<?xf32, #relax.sym<["n"]>>, %b: tensor<4xf32>) -> tensor<?x4xf32, #relax.sym<["n", 4]>> {
  %r = "relax.outer"(%a, %b) : (tensor<?xf32, #relax.sym<["n"]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  return %r : tensor<?x4xf32, #relax.sym<["n", 4]>>
}
