// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @assert_op(
// CHECK: "relax.assert_op"({{.*}}) : {{.*}} -> ()
func.func @assert_op(%a: i1) {
  "relax.assert_op"(%a) : (i1) -> ()
  return
}

// CHECK-LABEL: func.func @assert_op_2(
// CHECK: "relax.assert_op"({{.*}}) {format = "{1} of {0}"} : {{.*}} -> ()
func.func @assert_op_2(%a: tensor<i1>, %b: tensor<2xf32>, %c: i64) {
  "relax.assert_op"(%a, %b, %c) {format = "{1} of {0}"} : (tensor<i1>, tensor<2xf32>, i64) -> ()
  return
}

// CHECK-LABEL: func.func @assert_op_3(
// CHECK: "relax.assert_op"({{.*}}) {format = "bad: {}"} : {{.*}} -> ()
func.func @assert_op_3(%a: tensor<*xi1>, %b: tensor<2xf32>) {
  "relax.assert_op"(%a, %b) {format = "bad: {}"} : (tensor<*xi1>, tensor<2xf32>) -> ()
  return
}

// CHECK-LABEL: func.func @print(
// CHECK: "relax.print"({{.*}}) : {{.*}} -> ()
func.func @print(%a: tensor<2xf32>, %b: tensor<?x4xf32, #relax.sym<["n", 4]>>, %c: f32, %d: !relax.object, %e: !relax.shape<unit>) {
  "relax.print"(%a, %b, %c, %d, %e) : (tensor<2xf32>, tensor<?x4xf32, #relax.sym<["n", 4]>>, f32, !relax.object, !relax.shape<unit>) -> ()
  return
}

// CHECK-LABEL: func.func @print_2(
// CHECK: "relax.print"({{.*}}) {format = "no values"} : {{.*}} -> ()
func.func @print_2() {
  "relax.print"() {format = "no values"} : () -> ()
  return
}

// CHECK-LABEL: func.func @print_3(
// CHECK: "relax.print"({{.*}}) {format = "x = {0}, again {0}"} : {{.*}} -> ()
func.func @print_3(%a: tensor<2xf32>) {
  "relax.print"(%a) {format = "x = {0}, again {0}"} : (tensor<2xf32>) -> ()
  return
}

// Two are two numbers.
// CHECK-LABEL: func.func @random_key(
// CHECK-COUNT-2: "relax.random_key"() : () -> i64
func.func @random_key() -> (i64, i64) {
  %0 = "relax.random_key"() : () -> i64
  %1 = "relax.random_key"() : () -> i64
  return %0, %1 : i64, i64
}
