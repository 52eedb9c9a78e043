// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @cholesky(
// CHECK: "relax.linalg.cholesky"({{.*}}) {upper = true}{{.*}} -> (tensor<?x3x3xf32, #relax.sym<["n", 3, 3]>>, tensor<?xi32, #relax.sym<["n"]>>)
func.func @cholesky(%arg0: tensor<?x3x3xf32, #relax.sym<["n", 3, 3]>>) -> (tensor<?x3x3xf32, #relax.sym<["n", 3, 3]>>, tensor<?xi32, #relax.sym<["n"]>>) {
  %0:2 = "relax.linalg.cholesky"(%arg0) {upper = true} : (tensor<?x3x3xf32, #relax.sym<["n", 3, 3]>>) -> (tensor<?x3x3xf32, #relax.sym<["n", 3, 3]>>, tensor<?xi32, #relax.sym<["n"]>>)
  return %0#0, %0#1 : tensor<?x3x3xf32, #relax.sym<["n", 3, 3]>>, tensor<?xi32, #relax.sym<["n"]>>
}

// CHECK-LABEL: func.func @lu_factor(
// CHECK: "relax.linalg.lu_factor"({{.*}}){{.*}} -> (tensor<3x4xf32>, tensor<3xi32>, tensor<i32>)
func.func @lu_factor(%arg0: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3xi32>, tensor<i32>) {
  %0:3 = "relax.linalg.lu_factor"(%arg0) : (tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3xi32>, tensor<i32>)
  return %0#0, %0#1, %0#2 : tensor<3x4xf32>, tensor<3xi32>, tensor<i32>
}

// CHECK-LABEL: func.func @solve_triangular(
// CHECK: "relax.linalg.solve_triangular"({{.*}}) {transpose = "adjoint"}{{.*}} -> tensor<3x2xf32>
func.func @solve_triangular(%arg0: tensor<3x3xf32>, %arg1: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %0 = "relax.linalg.solve_triangular"(%arg0, %arg1) {transpose = "adjoint"} : (tensor<3x3xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

// CHECK-LABEL: func.func @qr_factor(
// CHECK: "relax.linalg.qr_factor"({{.*}}){{.*}} -> (tensor<4x3xf32>, tensor<3xf32>)
func.func @qr_factor(%arg0: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>) {
  %0:2 = "relax.linalg.qr_factor"(%arg0) : (tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>)
  return %0#0, %0#1 : tensor<4x3xf32>, tensor<3xf32>
}

// CHECK-LABEL: func.func @pivoted_qr(
// CHECK: "relax.linalg.pivoted_qr"({{.*}}){{.*}} -> (tensor<4x3xf32>, tensor<3xi32>, tensor<3xf32>)
func.func @pivoted_qr(%arg0: tensor<4x3xf32>, %arg1: tensor<3xi32>) -> (tensor<4x3xf32>, tensor<3xi32>, tensor<3xf32>) {
  %0:3 = "relax.linalg.pivoted_qr"(%arg0, %arg1) : (tensor<4x3xf32>, tensor<3xi32>) -> (tensor<4x3xf32>, tensor<3xi32>, tensor<3xf32>)
  return %0#0, %0#1, %0#2 : tensor<4x3xf32>, tensor<3xi32>, tensor<3xf32>
}

// CHECK-LABEL: func.func @multiply_q(
// CHECK: "relax.linalg.multiply_q"({{.*}}) {adjoint = true}{{.*}} -> tensor<4x2xf32>
func.func @multiply_q(%arg0: tensor<4x3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %0 = "relax.linalg.multiply_q"(%arg0, %arg1, %arg2) {adjoint = true} : (tensor<4x3xf32>, tensor<3xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}

// CHECK-LABEL: func.func @solve_tridiagonal(
// CHECK: "relax.linalg.solve_tridiagonal"({{.*}}){{.*}} -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3x2xf32>, tensor<i32>)
func.func @solve_tridiagonal(%arg0: tensor<3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<3xf32>, %arg3: tensor<3x2xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3x2xf32>, tensor<i32>) {
  %0:5 = "relax.linalg.solve_tridiagonal"(%arg0, %arg1, %arg2, %arg3) : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3x2xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3x2xf32>, tensor<i32>)
  return %0#0, %0#1, %0#2, %0#3, %0#4 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3x2xf32>, tensor<i32>
}

// CHECK-LABEL: func.func @ldl_factor(
// CHECK: "relax.linalg.ldl_factor"({{.*}}){{.*}} -> (tensor<3x3xf32>, tensor<3xi32>, tensor<i32>)
func.func @ldl_factor(%arg0: tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3xi32>, tensor<i32>) {
  %0:3 = "relax.linalg.ldl_factor"(%arg0) : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3xi32>, tensor<i32>)
  return %0#0, %0#1, %0#2 : tensor<3x3xf32>, tensor<3xi32>, tensor<i32>
}

// CHECK-LABEL: func.func @ldl_solve(
// CHECK: "relax.linalg.ldl_solve"({{.*}}){{.*}} -> tensor<3x2xf32>
func.func @ldl_solve(%arg0: tensor<3x3xf32>, %arg1: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %pivots = arith.constant dense<[1, 2, 3]> : tensor<3xi32>
  %0 = "relax.linalg.ldl_solve"(%arg0, %pivots, %arg1) : (tensor<3x3xf32>, tensor<3xi32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

// CHECK-LABEL: func.func @eigh(
// CHECK: "relax.linalg.eigh"({{.*}}){{.*}} -> (tensor<3xf32>, tensor<i32>, tensor<3x3xf32>)
func.func @eigh(%arg0: tensor<3x3xf32>) -> (tensor<3xf32>, tensor<i32>, tensor<3x3xf32>) {
  %0:3 = "relax.linalg.eigh"(%arg0) : (tensor<3x3xf32>) -> (tensor<3xf32>, tensor<i32>, tensor<3x3xf32>)
  return %0#0, %0#1, %0#2 : tensor<3xf32>, tensor<i32>, tensor<3x3xf32>
}

// CHECK-LABEL: func.func @svd(
// CHECK: "relax.linalg.svd"({{.*}}) {full_matrices = false}{{.*}} -> (tensor<3xf32>, tensor<i32>, tensor<4x3xf32>, tensor<3x3xf32>)
func.func @svd(%arg0: tensor<4x3xf32>) -> (tensor<3xf32>, tensor<i32>, tensor<4x3xf32>, tensor<3x3xf32>) {
  %0:4 = "relax.linalg.svd"(%arg0) {full_matrices = false} : (tensor<4x3xf32>) -> (tensor<3xf32>, tensor<i32>, tensor<4x3xf32>, tensor<3x3xf32>)
  return %0#0, %0#1, %0#2, %0#3 : tensor<3xf32>, tensor<i32>, tensor<4x3xf32>, tensor<3x3xf32>
}

// CHECK-LABEL: func.func @eig(
// CHECK: "relax.linalg.eig"({{.*}}) {left = true}{{.*}} -> (tensor<3x2xf32>, tensor<i32>, tensor<3x3x2xf32>, tensor<3x3x2xf32>)
func.func @eig(%arg0: tensor<3x3xf32>) -> (tensor<3x2xf32>, tensor<i32>, tensor<3x3x2xf32>, tensor<3x3x2xf32>) {
  %0:4 = "relax.linalg.eig"(%arg0) {left = true} : (tensor<3x3xf32>) -> (tensor<3x2xf32>, tensor<i32>, tensor<3x3x2xf32>, tensor<3x3x2xf32>)
  return %0#0, %0#1, %0#2, %0#3 : tensor<3x2xf32>, tensor<i32>, tensor<3x3x2xf32>, tensor<3x3x2xf32>
}

// CHECK-LABEL: func.func @schur(
// CHECK: "relax.linalg.schur"({{.*}}) {complex = true}{{.*}} -> (tensor<3x3x2xf32>, tensor<3x2xf32>, tensor<i32>, tensor<3x3x2xf32>)
func.func @schur(%arg0: tensor<3x3x2xf32>) -> (tensor<3x3x2xf32>, tensor<3x2xf32>, tensor<i32>, tensor<3x3x2xf32>) {
  %0:4 = "relax.linalg.schur"(%arg0) {complex = true} : (tensor<3x3x2xf32>) -> (tensor<3x3x2xf32>, tensor<3x2xf32>, tensor<i32>, tensor<3x3x2xf32>)
  return %0#0, %0#1, %0#2, %0#3 : tensor<3x3x2xf32>, tensor<3x2xf32>, tensor<i32>, tensor<3x3x2xf32>
}

// CHECK-LABEL: func.func @hessenberg(
// CHECK: "relax.linalg.hessenberg"({{.*}}){{.*}} -> (tensor<3x3xf32>, tensor<2xf32>)
func.func @hessenberg(%arg0: tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<2xf32>) {
  %0:2 = "relax.linalg.hessenberg"(%arg0) : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<2xf32>)
  return %0#0, %0#1 : tensor<3x3xf32>, tensor<2xf32>
}

// CHECK-LABEL: func.func @tridiagonal(
// CHECK: "relax.linalg.tridiagonal"({{.*}}){{.*}} -> (tensor<3x3xf32>, tensor<3xf32>, tensor<2xf32>, tensor<2xf32>)
func.func @tridiagonal(%arg0: tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3xf32>, tensor<2xf32>, tensor<2xf32>) {
  %0:4 = "relax.linalg.tridiagonal"(%arg0) : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3xf32>, tensor<2xf32>, tensor<2xf32>)
  return %0#0, %0#1, %0#2, %0#3 : tensor<3x3xf32>, tensor<3xf32>, tensor<2xf32>, tensor<2xf32>
}
