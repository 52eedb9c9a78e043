// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @sum(
// CHECK: "relax.sum"({{.*}}) {axis = array<i64: 0, -1>, keepdims = true}{{.*}} -> tensor<1x?x1xf32, #relax.sym<[1, "n", 1]>>
func.func @sum(%a: tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> tensor<1x?x1xf32, #relax.sym<[1, "n", 1]>> {
  %r = "relax.sum"(%a) {axis = array<i64: 0, -1>, keepdims = true} : (tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> tensor<1x?x1xf32, #relax.sym<[1, "n", 1]>>
  return %r : tensor<1x?x1xf32, #relax.sym<[1, "n", 1]>>
}

// CHECK-LABEL: func.func @sum_of_one_axis(
// CHECK: "relax.sum"({{.*}}) {axis = 1 : i64}{{.*}} -> tensor<2x4xf32>
func.func @sum_of_one_axis(%a: tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> tensor<2x4xf32> {
  %r = "relax.sum"(%a) {axis = 1 : i64} : (tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @mean(
// CHECK: "relax.mean"({{.*}}) {axis = array<i64: 0>}{{.*}} -> tensor<?x4xf32, #relax.sym<["n", 4]>>
func.func @mean(%a: tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>> {
  %r = "relax.mean"(%a) {axis = array<i64: 0>} : (tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  return %r : tensor<?x4xf32, #relax.sym<["n", 4]>>
}

// CHECK-LABEL: func.func @max(
// CHECK: "relax.max"({{.*}}){{.*}} -> tensor<f32>
func.func @max(%a: tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> tensor<f32> {
  %r = "relax.max"(%a) : (tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> tensor<f32>
  return %r : tensor<f32>
}

// CHECK-LABEL: func.func @min(
// CHECK: "relax.min"({{.*}}) {axis = array<i64: 3>}{{.*}} -> tensor<*xf32>
func.func @min(%a: tensor<*xf32>) -> tensor<*xf32> {
  %r = "relax.min"(%a) {axis = array<i64: 3>} : (tensor<*xf32>) -> tensor<*xf32>
  return %r : tensor<*xf32>
}

// CHECK-LABEL: func.func @prod(
// CHECK: "relax.prod"({{.*}}) {axis = array<i64>}{{.*}} -> tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>
func.func @prod(%a: tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>> {
  %r = "relax.prod"(%a) {axis = array<i64>} : (tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>
  return %r : tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>
}

// CHECK-LABEL: func.func @std(
// CHECK: "relax.std"({{.*}}) {keepdims = true}{{.*}} -> tensor<1x1xf16>
func.func @std(%a: tensor<2x?xf16, #relax.sym<[2, "n"]>>) -> tensor<1x1xf16> {
  %r = "relax.std"(%a) {keepdims = true} : (tensor<2x?xf16, #relax.sym<[2, "n"]>>) -> tensor<1x1xf16>
  return %r : tensor<1x1xf16>
}

// CHECK-LABEL: func.func @variance(
// CHECK: "relax.variance"({{.*}}) {axis = array<i64: 0>}{{.*}} -> tensor<?xf32>
func.func @variance(%a: tensor<2x?xf32>) -> tensor<?xf32> {
  %r = "relax.variance"(%a) {axis = array<i64: 0>} : (tensor<2x?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// CHECK-LABEL: func.func @median(
// CHECK: "relax.median"({{.*}}){{.*}} -> tensor<f32>
func.func @median(%a: tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> tensor<f32> {
  %r = "relax.median"(%a) : (tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> tensor<f32>
  return %r : tensor<f32>
}

// CHECK-LABEL: func.func @median_of_one_axis(
// CHECK: "relax.median"({{.*}}) {axis = array<i64: 1>}{{.*}} -> (tensor<2x4xf32>, tensor<2x4xi64>)
func.func @median_of_one_axis(%a: tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> (tensor<2x4xf32>, tensor<2x4xi64>) {
  %r:2 = "relax.median"(%a) {axis = array<i64: 1>} : (tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> (tensor<2x4xf32>, tensor<2x4xi64>)
  return %r#0, %r#1 : tensor<2x4xf32>, tensor<2x4xi64>
}

// CHECK-LABEL: func.func @argmax(
// CHECK: "relax.argmax"({{.*}}) {axis = -2 : i64}{{.*}} -> tensor<2x4xi64>
func.func @argmax(%a: tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> tensor<2x4xi64> {
  %r = "relax.argmax"(%a) {axis = -2 : i64} : (tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> tensor<2x4xi64>
  return %r : tensor<2x4xi64>
}

// CHECK-LABEL: func.func @argmin(
// CHECK: "relax.argmin"({{.*}}) {keepdims = true}{{.*}} -> tensor<1x1x1xi64>
func.func @argmin(%a: tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> tensor<1x1x1xi64> {
  %r = "relax.argmin"(%a) {keepdims = true} : (tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> tensor<1x1x1xi64>
  return %r : tensor<1x1x1xi64>
}

// CHECK-LABEL: func.func @cumsum(
// CHECK: "relax.cumsum"({{.*}}){{.*}} -> tensor<?xf32, #relax.sym<["8*n"]>>
func.func @cumsum(%a: tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> tensor<?xf32, #relax.sym<["8*n"]>> {
  %r = "relax.cumsum"(%a) : (tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> tensor<?xf32, #relax.sym<["8*n"]>>
  return %r : tensor<?xf32, #relax.sym<["8*n"]>>
}

// CHECK-LABEL: func.func @cumprod(
// CHECK: "relax.cumprod"({{.*}}) {axis = 1 : i64, dtype = i32, exclusive = true}{{.*}} -> tensor<2x?xi32, #relax.sym<[2, "n"]>>
func.func @cumprod(%a: tensor<2x?xi8, #relax.sym<[2, "n"]>>) -> tensor<2x?xi32, #relax.sym<[2, "n"]>> {
  %r = "relax.cumprod"(%a) {axis = 1 : i64, dtype = i32, exclusive = true} : (tensor<2x?xi8, #relax.sym<[2, "n"]>>) -> tensor<2x?xi32, #relax.sym<[2, "n"]>>
  return %r : tensor<2x?xi32, #relax.sym<[2, "n"]>>
}
