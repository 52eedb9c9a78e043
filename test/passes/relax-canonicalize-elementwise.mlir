// RUN: relax-opt %s --relax-canonicalize | FileCheck %s

// Of floats only -0.0 may be added and only 0.0 subtracted: 0.0 would turn -0.0 into 0.0.
// CHECK-LABEL: func.func @float_zeros(
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.0
// CHECK: %[[MINUS:.*]] = arith.constant dense<-0.0
// CHECK: %[[A:.*]] = "relax.add"(%arg0, %[[ZERO]])
// CHECK: %[[B:.*]] = "relax.subtract"(%arg0, %[[MINUS]])
// CHECK: return %[[A]], %[[B]], %arg0, %arg0 :
func.func @float_zeros(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %minus = arith.constant dense<-0.0> : tensor<f32>
  %0 = "relax.add"(%x, %zero) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = "relax.subtract"(%x, %minus) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = "relax.add"(%x, %minus) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = "relax.subtract"(%x, %zero) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @neutral(
// CHECK: return %arg0, %arg0, %arg0, %arg1, %arg1, %arg1, %arg2, %arg2 :
func.func @neutral(%f: tensor<?xf32, #relax.sym<["n"]>>, %i: tensor<?xi32>, %b: tensor<4xi1>)
    -> (tensor<?xf32, #relax.sym<["n"]>>, tensor<?xf32, #relax.sym<["n"]>>, tensor<?xf32, #relax.sym<["n"]>>,
        tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<4xi1>, tensor<4xi1>) {
  %one = arith.constant dense<1.0> : tensor<1xf32>
  %i0 = arith.constant dense<0> : tensor<i32>
  %ones = arith.constant dense<-1> : tensor<i32>
  %true = arith.constant dense<true> : tensor<4xi1>
  %false = arith.constant dense<false> : tensor<i1>
  %0 = "relax.multiply"(%one, %f) : (tensor<1xf32>, tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32, #relax.sym<["n"]>>
  %1 = "relax.divide"(%f, %one) : (tensor<?xf32, #relax.sym<["n"]>>, tensor<1xf32>) -> tensor<?xf32, #relax.sym<["n"]>>
  %2 = "relax.power"(%f, %one) : (tensor<?xf32, #relax.sym<["n"]>>, tensor<1xf32>) -> tensor<?xf32, #relax.sym<["n"]>>
  %3 = "relax.add"(%i0, %i) : (tensor<i32>, tensor<?xi32>) -> tensor<?xi32>
  %4 = "relax.bitwise_and"(%i, %ones) : (tensor<?xi32>, tensor<i32>) -> tensor<?xi32>
  %5 = "relax.left_shift"(%i, %i0) : (tensor<?xi32>, tensor<i32>) -> tensor<?xi32>
  %6 = "relax.logical_and"(%true, %b) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  %7 = "relax.logical_xor"(%b, %false) : (tensor<4xi1>, tensor<i1>) -> tensor<4xi1>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<?xf32, #relax.sym<["n"]>>, tensor<?xf32, #relax.sym<["n"]>>,
    tensor<?xf32, #relax.sym<["n"]>>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<4xi1>, tensor<4xi1>
}

// A constant whose shape the result takes stays: an unknown size may be 1.
// CHECK-LABEL: func.func @broadcasting_constant(
// CHECK: "relax.multiply"(%arg0, %{{.*}}) : (tensor<?xf32>, tensor<4xf32>) -> tensor<?xf32>
func.func @broadcasting_constant(%x: tensor<?xf32>) -> tensor<?xf32> {
  %ones = arith.constant dense<1.0> : tensor<4xf32>
  %0 = "relax.multiply"(%x, %ones) : (tensor<?xf32>, tensor<4xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// 0 is the product of integers, not of floats; false absorbs in "and".
// CHECK-LABEL: func.func @absorbing(
// CHECK-DAG: %[[INTS:.*]] = arith.constant dense<0> : tensor<4xi32>
// CHECK-DAG: %[[FALSE:.*]] = arith.constant dense<false> : tensor<4xi1>
// CHECK: %[[FLOATS:.*]] = "relax.multiply"(%arg1,
// CHECK: return %[[INTS]], %[[FLOATS]], %[[FALSE]] :
func.func @absorbing(%i: tensor<4xi32>, %f: tensor<4xf32>, %b: tensor<4xi1>) -> (tensor<4xi32>, tensor<4xf32>, tensor<4xi1>) {
  %i0 = arith.constant dense<0> : tensor<4xi32>
  %f0 = arith.constant dense<0.0> : tensor<4xf32>
  %false = arith.constant dense<false> : tensor<4xi1>
  %0 = "relax.multiply"(%i, %i0) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %1 = "relax.multiply"(%f, %f0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = "relax.logical_and"(%b, %false) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  return %0, %1, %2 : tensor<4xi32>, tensor<4xf32>, tensor<4xi1>
}

// NaN is not equal to itself, inf - inf is NaN: floats stay.
// CHECK-LABEL: func.func @with_itself(
// CHECK: %[[ZERO:.*]] = arith.constant dense<0> : tensor<4xi32>
// CHECK: %[[TRUE:.*]] = arith.constant dense<true> : tensor<4xi1>
// CHECK: %[[MINUS:.*]] = "relax.subtract"(%arg1, %arg1)
// CHECK: %[[EQUAL:.*]] = "relax.equal"(%arg1, %arg1)
// CHECK: return %arg1, %[[ZERO]], %[[TRUE]], %[[MINUS]], %[[EQUAL]] :
func.func @with_itself(%i: tensor<4xi32>, %f: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xi32>, tensor<4xi1>, tensor<4xf32>, tensor<4xi1>) {
  %0 = "relax.maximum"(%f, %f) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.subtract"(%i, %i) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %2 = "relax.less_equal"(%i, %i) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %3 = "relax.subtract"(%f, %f) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = "relax.equal"(%f, %f) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %0, %1, %2, %3, %4 : tensor<4xf32>, tensor<4xi32>, tensor<4xi1>, tensor<4xf32>, tensor<4xi1>
}

// Constants go to the right; not through a maximum of floats, which may see the order of NaN and of zeros.
// CHECK-LABEL: func.func @constants_to_the_right(
// CHECK: "relax.add"(%arg0, %[[C:.*]]) :
// CHECK: "relax.greater"(%arg0, %[[C]]) :
// CHECK: "relax.maximum"(%[[C]], %arg0) :
// CHECK: "relax.maximum"(%arg1, %{{.*}}) : (tensor<4xi32>, tensor<i32>)
func.func @constants_to_the_right(%f: tensor<4xf32>, %i: tensor<4xi32>)
    -> (tensor<4xf32>, tensor<4xi1>, tensor<4xf32>, tensor<4xi32>) {
  %c = arith.constant dense<2.0> : tensor<f32>
  %ci = arith.constant dense<2> : tensor<i32>
  %0 = "relax.add"(%c, %f) : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.less"(%c, %f) : (tensor<f32>, tensor<4xf32>) -> tensor<4xi1>
  %2 = "relax.maximum"(%c, %f) : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = "relax.maximum"(%ci, %i) : (tensor<i32>, tensor<4xi32>) -> tensor<4xi32>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xi1>, tensor<4xf32>, tensor<4xi32>
}

// CHECK-LABEL: func.func @unary(
// CHECK-DAG: %[[ABS:.*]] = "relax.abs"(%arg0)
// CHECK-DAG: %[[CEIL:.*]] = "relax.ceil"(%arg0)
// CHECK-DAG: %[[RELU:.*]] = "relax.nn.relu"(%arg0)
// CHECK: return %[[ABS]], %[[ABS]], %[[CEIL]], %[[RELU]], %arg1 :
func.func @unary(%f: tensor<4xf32>, %i: tensor<4xi32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi32>) {
  %0 = "relax.abs"(%f) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.abs"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "relax.abs"(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = "relax.ceil"(%f) : (tensor<4xf32>) -> tensor<4xf32>
  %4 = "relax.round"(%3) : (tensor<4xf32>) -> tensor<4xf32>
  %5 = "relax.nn.relu"(%f) : (tensor<4xf32>) -> tensor<4xf32>
  %6 = "relax.nn.relu"(%5) : (tensor<4xf32>) -> tensor<4xf32>
  %7 = "relax.floor"(%i) : (tensor<4xi32>) -> tensor<4xi32>
  return %1, %2, %4, %6, %7 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi32>
}

// With a NaN, a < b and a >= b are both false.
// CHECK-LABEL: func.func @inverted_comparisons(
// CHECK: %[[NE:.*]] = "relax.not_equal"(%arg0, %arg0)
// CHECK: %[[LESS:.*]] = "relax.less"(%arg0, %arg0)
// CHECK: %[[NOT:.*]] = "relax.logical_not"(%[[LESS]])
// CHECK: %[[GE:.*]] = "relax.greater_equal"(%arg1, %arg2)
// CHECK: return %[[NE]], %[[NOT]], %[[GE]] :
func.func @inverted_comparisons(%f: tensor<4xf32>, %i: tensor<4xi32>, %j: tensor<4xi32>) -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) {
  %0 = "relax.equal"(%f, %f) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %1 = "relax.logical_not"(%0) : (tensor<4xi1>) -> tensor<4xi1>
  %2 = "relax.less"(%f, %f) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %3 = "relax.logical_not"(%2) : (tensor<4xi1>) -> tensor<4xi1>
  %4 = "relax.less"(%i, %j) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %5 = "relax.logical_not"(%4) : (tensor<4xi1>) -> tensor<4xi1>
  return %1, %3, %5 : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
}

// CHECK-LABEL: func.func @where(
// CHECK: %[[W:.*]] = "relax.where"(%arg0, %arg2, %arg1)
// CHECK: return %arg1, %arg2, %arg1, %[[W]] :
func.func @where(%c: tensor<4xi1>, %a: tensor<4xf32>, %b: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %true = arith.constant dense<true> : tensor<i1>
  %false = arith.constant dense<false> : tensor<4xi1>
  %0 = "relax.where"(%true, %a, %b) : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.where"(%false, %a, %b) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = "relax.where"(%c, %a, %a) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %not = "relax.logical_not"(%c) : (tensor<4xi1>) -> tensor<4xi1>
  %3 = "relax.where"(%not, %a, %b) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// f16 to f32 keeps every value, f32 to f16 does not; -1 as an unsigned number is another one.
// CHECK-LABEL: func.func @conversions(
// CHECK: %[[N:.*]] = "relax.astype"(%arg1) {dtype = f16}
// CHECK: %[[B:.*]] = "relax.astype"(%[[N]]) {dtype = f32}
// CHECK: %[[C:.*]] = "relax.astype"(%arg2) {dtype = i64}
// CHECK: %[[U:.*]] = "relax.astype"(%arg2) {dtype = ui16}
// CHECK: %[[D:.*]] = "relax.astype"(%[[U]]) {dtype = i64}
// CHECK: return %arg0, %[[B]], %[[C]], %[[D]] :
func.func @conversions(%h: tensor<4xf16>, %f: tensor<4xf32>, %i: tensor<4xi8>)
    -> (tensor<4xf16>, tensor<4xf32>, tensor<4xi64>, tensor<4xi64>) {
  %0 = "relax.astype"(%h) {dtype = f32} : (tensor<4xf16>) -> tensor<4xf32>
  %1 = "relax.astype"(%0) {dtype = f16} : (tensor<4xf32>) -> tensor<4xf16>
  %2 = "relax.astype"(%f) {dtype = f16} : (tensor<4xf32>) -> tensor<4xf16>
  %3 = "relax.astype"(%2) {dtype = f32} : (tensor<4xf16>) -> tensor<4xf32>
  %4 = "relax.astype"(%i) {dtype = i16} : (tensor<4xi8>) -> tensor<4xi16>
  %5 = "relax.astype"(%4) {dtype = i64} : (tensor<4xi16>) -> tensor<4xi64>
  %6 = "relax.astype"(%i) {dtype = ui16} : (tensor<4xi8>) -> tensor<4xui16>
  %7 = "relax.astype"(%6) {dtype = i64} : (tensor<4xui16>) -> tensor<4xi64>
  return %1, %3, %5, %7 : tensor<4xf16>, tensor<4xf32>, tensor<4xi64>, tensor<4xi64>
}
