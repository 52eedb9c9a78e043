// RUN: relax-opt %s --relax-canonicalize | FileCheck %s

// Symbols of parameters hold in the whole function; those that a match_cast introduces only after it.
// CHECK-LABEL: func.func @shapes_of(
// CHECK-DAG: %[[STATIC:.*]] = "relax.shape_expr"() {dims = [2, 3]} : () -> !relax.shape<[2, 3]>
// CHECK-DAG: %[[SYMBOLIC:.*]] = "relax.shape_expr"() {dims = [2, "n"]} : () -> !relax.shape<[2, "n"]>
// CHECK-DAG: %[[K:.*]] = "relax.shape_of"(%{{.*}}) : (tensor<?xf32, #relax.sym<["k"]>>)
// CHECK-DAG: %[[UNKNOWN:.*]] = "relax.shape_of"(%arg2)
// CHECK: return %[[STATIC]], %[[SYMBOLIC]], %[[K]], %[[UNKNOWN]], %arg3 :
func.func @shapes_of(%x: tensor<2x3xf32>, %y: tensor<2x?xf32, #relax.sym<[2, "n"]>>, %z: tensor<?xf32>, %s: !relax.shape<["n", 2]>)
    -> (!relax.shape<[2, 3]>, !relax.shape<[2, "n"]>, !relax.shape<["k"]>, !relax.shape<["?"]>, !relax.shape<["n", 2]>) {
  %0 = "relax.shape_of"(%x) : (tensor<2x3xf32>) -> !relax.shape<[2, 3]>
  %1 = "relax.shape_of"(%y) : (tensor<2x?xf32, #relax.sym<[2, "n"]>>) -> !relax.shape<[2, "n"]>
  %k = "relax.match_cast"(%z) : (tensor<?xf32>) -> tensor<?xf32, #relax.sym<["k"]>>
  %2 = "relax.shape_of"(%k) : (tensor<?xf32, #relax.sym<["k"]>>) -> !relax.shape<["k"]>
  %3 = "relax.shape_of"(%z) : (tensor<?xf32>) -> !relax.shape<["?"]>
  %r = "relax.reshape"(%y, %s) : (tensor<2x?xf32, #relax.sym<[2, "n"]>>, !relax.shape<["n", 2]>) -> tensor<?x2xf32, #relax.sym<["n", 2]>>
  %4 = "relax.shape_of"(%r) : (tensor<?x2xf32, #relax.sym<["n", 2]>>) -> !relax.shape<["n", 2]>
  return %0, %1, %2, %3, %4 : !relax.shape<[2, 3]>, !relax.shape<[2, "n"]>, !relax.shape<["k"]>, !relax.shape<["?"]>, !relax.shape<["n", 2]>
}

// CHECK-LABEL: func.func @back_and_forth(
// CHECK: return %arg0, %arg1 :
func.func @back_and_forth(%t: tensor<2xi64>, %s: !relax.shape<["?", "?"]>) -> (tensor<2xi64>, !relax.shape<["?", "?"]>) {
  %0 = "relax.tensor_to_shape"(%t) : (tensor<2xi64>) -> !relax.shape<["?", "?"]>
  %1 = "relax.shape_to_tensor"(%0) : (!relax.shape<["?", "?"]>) -> tensor<2xi64>
  %2 = "relax.shape_to_tensor"(%s) : (!relax.shape<["?", "?"]>) -> tensor<2xi64>
  %3 = "relax.tensor_to_shape"(%2) : (tensor<2xi64>) -> !relax.shape<["?", "?"]>
  return %1, %3 : tensor<2xi64>, !relax.shape<["?", "?"]>
}

// A negative number is no size: the run will say so.
// CHECK-LABEL: func.func @constants(
// CHECK-DAG: %[[SIZE:.*]] = arith.constant dense<6> : tensor<i64>
// CHECK-DAG: %[[SHAPE:.*]] = arith.constant dense<[2, 3]> : tensor<2xi64>
// CHECK-DAG: %[[MADE:.*]] = "relax.shape_expr"() {dims = [4, 5]} : () -> !relax.shape<["?", "?"]>
// CHECK-DAG: %[[BAD:.*]] = "relax.tensor_to_shape"
// CHECK: return %[[SIZE]], %[[SHAPE]], %[[MADE]], %[[BAD]] :
func.func @constants(%x: tensor<2x3xf32>) -> (tensor<i64>, tensor<2xi64>, !relax.shape<["?", "?"]>, !relax.shape<["?"]>) {
  %0 = "relax.size"(%x) : (tensor<2x3xf32>) -> tensor<i64>
  %1 = "relax.shape_of"(%x) : (tensor<2x3xf32>) -> !relax.shape<[2, 3]>
  %2 = "relax.shape_to_tensor"(%1) : (!relax.shape<[2, 3]>) -> tensor<2xi64>
  %c = arith.constant dense<[4, 5]> : tensor<2xi64>
  %3 = "relax.tensor_to_shape"(%c) : (tensor<2xi64>) -> !relax.shape<["?", "?"]>
  %d = arith.constant dense<[-1]> : tensor<1xi64>
  %4 = "relax.tensor_to_shape"(%d) : (tensor<1xi64>) -> !relax.shape<["?"]>
  return %0, %2, %3, %4 : tensor<i64>, tensor<2xi64>, !relax.shape<["?", "?"]>, !relax.shape<["?"]>
}

// A cast that says nothing new is passed by where operands may have any type, and goes when nobody is left.
// CHECK-LABEL: func.func @proven_casts(
// CHECK-NEXT: %[[E:.*]] = "relax.exp"(%arg0) : (tensor<4x?xf32, #relax.sym<[4, "n"]>>) -> tensor<?x?xf32>
// CHECK-NEXT: return %[[E]], %arg0 :
func.func @proven_casts(%x: tensor<4x?xf32, #relax.sym<[4, "n"]>>) -> (tensor<?x?xf32>, tensor<4x?xf32, #relax.sym<[4, "n"]>>) {
  %0 = "relax.match_cast"(%x) : (tensor<4x?xf32, #relax.sym<[4, "n"]>>) -> tensor<?x?xf32>
  %1 = "relax.exp"(%0) : (tensor<?x?xf32>) -> tensor<?x?xf32>
  %2 = "relax.match_cast"(%x) : (tensor<4x?xf32, #relax.sym<[4, "n"]>>) -> tensor<4x?xf32, #relax.sym<[4, "n"]>>
  return %1, %2 : tensor<?x?xf32>, tensor<4x?xf32, #relax.sym<[4, "n"]>>
}

// Returned, the value must keep its type.
// CHECK-LABEL: func.func @needed_cast(
// CHECK: %[[C:.*]] = "relax.match_cast"(%arg0)
// CHECK: return %[[C]]
func.func @needed_cast(%x: tensor<4xf32>) -> tensor<?xf32> {
  %0 = "relax.match_cast"(%x) : (tensor<4xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// Checks stay, used or not.
// CHECK-LABEL: func.func @checks(
// CHECK-NEXT: "relax.match_cast"(%arg0) : (tensor<?xf32>) -> tensor<4xf32>
// CHECK-NEXT: "relax.match_cast"(%arg1) : (tensor<*xf32>) -> tensor<?xf32>
// CHECK-NEXT: "relax.match_cast"(%arg0) : (tensor<?xf32>) -> tensor<?xf32, #relax.sym<["n"]>>
// CHECK-NEXT: "relax.match_cast"(%arg2) : (!relax.object) -> tensor<4xf32>
// CHECK-NEXT: return
func.func @checks(%x: tensor<?xf32>, %y: tensor<*xf32>, %o: !relax.object) {
  %0 = "relax.match_cast"(%x) : (tensor<?xf32>) -> tensor<4xf32>
  %1 = "relax.match_cast"(%y) : (tensor<*xf32>) -> tensor<?xf32>
  %2 = "relax.match_cast"(%x) : (tensor<?xf32>) -> tensor<?xf32, #relax.sym<["n"]>>
  %3 = "relax.match_cast"(%o) : (!relax.object) -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @scalars(
// CHECK: %[[NUMBER:.*]] = arith.constant dense<2.500000e+00> : tensor<f32>
// CHECK: %[[SIZE:.*]] = "relax.scalar_to_tensor"
// CHECK: return %[[NUMBER]], %[[SIZE]] :
func.func @scalars(%x: tensor<?xf32, #relax.sym<["n"]>>) -> (tensor<f32>, tensor<i64>) {
  %c = arith.constant 2.5 : f32
  %0 = "relax.scalar_to_tensor"(%c) : (f32) -> tensor<f32>
  %n = "relax.prim_value"() {value = "n"} : () -> i64
  %1 = "relax.scalar_to_tensor"(%n) : (i64) -> tensor<i64>
  return %0, %1 : tensor<f32>, tensor<i64>
}

// What is invalid without the cast keeps it: 4 and 5 are added where the sizes are not known, and that fails at run time.
// CHECK-LABEL: func.func @cast_that_hides_a_size(
// CHECK-NEXT: %[[HIDDEN:.*]] = "relax.match_cast"(%arg0) : (tensor<4xf32>) -> tensor<?xf32>
// CHECK-NEXT: "relax.add"(%[[HIDDEN]], %arg1) : (tensor<?xf32>, tensor<5xf32>) -> tensor<5xf32>
func.func @cast_that_hides_a_size(%x: tensor<4xf32>, %y: tensor<5xf32>) -> tensor<5xf32> {
  %0 = "relax.match_cast"(%x) : (tensor<4xf32>) -> tensor<?xf32>
  %1 = "relax.add"(%0, %y) : (tensor<?xf32>, tensor<5xf32>) -> tensor<5xf32>
  return %1 : tensor<5xf32>
}
