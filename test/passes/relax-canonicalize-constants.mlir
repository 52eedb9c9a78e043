// RUN: relax-opt %s --relax-canonicalize | FileCheck %s
// RUN: relax-opt %s --relax-canonicalize='fold-limit=2' | FileCheck %s --check-prefix=LIMIT

// LIMIT-LABEL: func.func @fold(
// LIMIT: "relax.add"
// CHECK-LABEL: func.func @fold(
// CHECK-DAG: %[[SUM:.*]] = arith.constant dense<[5, 6, 7]> : tensor<3xi32>
// CHECK-DAG: %[[WRAPPED:.*]] = arith.constant dense<-128> : tensor<i8>
// CHECK-DAG: %[[QUOTIENT:.*]] = arith.constant dense<[-3, 3]> : tensor<2xi32>
// CHECK-DAG: %[[FLOOR:.*]] = arith.constant dense<[-4, 3]> : tensor<2xi32>
// CHECK-DAG: %[[TURNED:.*]] = arith.constant dense<{{\[\[}}1.000000e+00], [2.000000e+00], [3.000000e+00]]> : tensor<3x1xf32>
// CHECK-NOT: relax.
// CHECK: return
func.func @fold() -> (tensor<3xi32>, tensor<i8>, tensor<2xi32>, tensor<2xi32>, tensor<3x1xf32>) {
  %a = arith.constant dense<[1, 2, 3]> : tensor<3xi32>
  %b = arith.constant dense<4> : tensor<3xi32>
  %0 = "relax.add"(%a, %b) : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
  %c = arith.constant dense<127> : tensor<i8>
  %d = arith.constant dense<1> : tensor<i8>
  %1 = "relax.add"(%c, %d) : (tensor<i8>, tensor<i8>) -> tensor<i8>
  %e = arith.constant dense<[-7, 7]> : tensor<2xi32>
  %f = arith.constant dense<2> : tensor<i32>
  %2 = "relax.divide"(%e, %f) : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
  %3 = "relax.floor_divide"(%e, %f) : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
  %g = arith.constant dense<[[1.0, 2.0, 3.0]]> : tensor<1x3xf32>
  %4 = "relax.permute_dims"(%g) : (tensor<1x3xf32>) -> tensor<3x1xf32>
  return %0, %1, %2, %3, %4 : tensor<3xi32>, tensor<i8>, tensor<2xi32>, tensor<2xi32>, tensor<3x1xf32>
}

// What the machine decides stays: division by zero, shifts too far, floats that no integer is, exp's last bit.
// CHECK-LABEL: func.func @left(
// CHECK: "relax.divide"
// CHECK: "relax.left_shift"
// CHECK: "relax.astype"
// CHECK: "relax.exp"
// CHECK: "relax.maximum"
func.func @left() -> (tensor<i32>, tensor<i32>, tensor<i8>, tensor<f32>, tensor<f32>) {
  %i = arith.constant dense<1> : tensor<i32>
  %zero = arith.constant dense<0> : tensor<i32>
  %far = arith.constant dense<32> : tensor<i32>
  %f = arith.constant dense<1000.0> : tensor<f32>
  %p = arith.constant dense<0.0> : tensor<f32>
  %n = arith.constant dense<-0.0> : tensor<f32>
  %0 = "relax.divide"(%i, %zero) : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %1 = "relax.left_shift"(%i, %far) : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %2 = "relax.astype"(%f) {dtype = i8} : (tensor<f32>) -> tensor<i8>
  %3 = "relax.exp"(%f) : (tensor<f32>) -> tensor<f32>
  %4 = "relax.maximum"(%p, %n) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %0, %1, %2, %3, %4 : tensor<i32>, tensor<i32>, tensor<i8>, tensor<f32>, tensor<f32>
}

// Integers may be grouped at will; sums of floats are rounded in the order in which they stand.
// CHECK-LABEL: func.func @regrouped(
// CHECK: %[[SUM:.*]] = arith.constant dense<5> : tensor<i32>
// CHECK: "relax.add"(%arg0, %[[SUM]]) : (tensor<4xi32>, tensor<i32>)
// CHECK: %[[INNER:.*]] = "relax.add"(%arg1, %[[C:.*]]) :
// CHECK: "relax.add"(%[[INNER]], %[[C]]) :
func.func @regrouped(%i: tensor<4xi32>, %f: tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>) {
  %two = arith.constant dense<2> : tensor<i32>
  %three = arith.constant dense<3> : tensor<i32>
  %c = arith.constant dense<0.1> : tensor<f32>
  %0 = "relax.add"(%two, %i) : (tensor<i32>, tensor<4xi32>) -> tensor<4xi32>
  %1 = "relax.add"(%0, %three) : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  %2 = "relax.add"(%f, %c) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = "relax.add"(%2, %c) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %1, %3 : tensor<4xi32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @filled(
// CHECK: arith.constant dense<1.000000e+00> : tensor<2x3xf32>
// CHECK: "relax.zeros"(%arg0)
// CHECK: %[[LARGE:.*]] = "relax.zeros"(%{{.*}}) {dtype = f32} : {{.*}} -> tensor<2000xf32>
func.func @filled(%s: !relax.shape<["n"]>) -> (tensor<2x3xf32>, tensor<?xf32, #relax.sym<["n"]>>, tensor<2000xf32>) {
  %a = "relax.shape_expr"() {dims = [2, 3]} : () -> !relax.shape<[2, 3]>
  %b = "relax.shape_expr"() {dims = [2000]} : () -> !relax.shape<[2000]>
  %0 = "relax.ones"(%a) {dtype = f32} : (!relax.shape<[2, 3]>) -> tensor<2x3xf32>
  %1 = "relax.zeros"(%s) {dtype = f32} : (!relax.shape<["n"]>) -> tensor<?xf32, #relax.sym<["n"]>>
  %2 = "relax.zeros"(%b) {dtype = f32} : (!relax.shape<[2000]>) -> tensor<2000xf32>
  return %0, %1, %2 : tensor<2x3xf32>, tensor<?xf32, #relax.sym<["n"]>>, tensor<2000xf32>
}

// The smallest integer divided by -1 overflows: that is for the program to do.
// CHECK-LABEL: func.func @overflow(
// CHECK-COUNT-2: "relax.{{floor_divide|divide}}"
func.func @overflow() -> (tensor<2xi8>, tensor<2xi8>) {
  %x = arith.constant dense<[-128, 4]> : tensor<2xi8>
  %y = arith.constant dense<-1> : tensor<i8>
  %0 = "relax.floor_divide"(%x, %y) : (tensor<2xi8>, tensor<i8>) -> tensor<2xi8>
  %1 = "relax.divide"(%x, %y) : (tensor<2xi8>, tensor<i8>) -> tensor<2xi8>
  return %0, %1 : tensor<2xi8>, tensor<2xi8>
}

// A column and a row together are a matrix, larger than both: they stay apart. Where one covers the other they do not.
// CHECK-LABEL: func.func @column_and_row(
// CHECK: %[[PART:.*]] = "relax.add"(%arg0, %{{.*}}) : (tensor<2x3xi32>, tensor<2x1xi32>)
// CHECK: %[[APART:.*]] = "relax.add"(%[[PART]], %{{.*}}) : (tensor<2x3xi32>, tensor<1x3xi32>)
// CHECK: %[[BOTH:.*]] = arith.constant dense<{{\[\[}}2, 4, 6], [5, 7, 9]]> : tensor<2x3xi32>
// CHECK: %[[SUM:.*]] = "relax.add"(%arg0, %[[BOTH]])
// CHECK: return %[[APART]], %[[SUM]]
func.func @column_and_row(%x: tensor<2x3xi32>) -> (tensor<2x3xi32>, tensor<2x3xi32>) {
  %column = arith.constant dense<[[1], [2]]> : tensor<2x1xi32>
  %row = arith.constant dense<[[1, 2, 3]]> : tensor<1x3xi32>
  %whole = arith.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %0 = "relax.add"(%x, %column) : (tensor<2x3xi32>, tensor<2x1xi32>) -> tensor<2x3xi32>
  %1 = "relax.add"(%0, %row) : (tensor<2x3xi32>, tensor<1x3xi32>) -> tensor<2x3xi32>
  %2 = "relax.add"(%x, %row) : (tensor<2x3xi32>, tensor<1x3xi32>) -> tensor<2x3xi32>
  %3 = "relax.add"(%2, %whole) : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>
  return %1, %3 : tensor<2x3xi32>, tensor<2x3xi32>
}

// Floats become integers up to the last one that fits.
// CHECK-LABEL: func.func @limits(
// CHECK-DAG: dense<9223372036854774784> : tensor<i64>
// CHECK-DAG: dense<127> : tensor<i8>
// CHECK-DAG: "relax.astype"(%{{.*}}) {{.*}} -> tensor<i64>
// CHECK-DAG: "relax.astype"(%{{.*}}) {{.*}} -> tensor<i8>
// CHECK-NOT: relax.astype
// CHECK: return
func.func @limits() -> (tensor<i64>, tensor<i64>, tensor<i8>, tensor<i8>) {
  %last = arith.constant dense<9223372036854774784.0> : tensor<f64>
  %next = arith.constant dense<9223372036854775808.0> : tensor<f64>
  %small = arith.constant dense<127.9> : tensor<f32>
  %large = arith.constant dense<128.0> : tensor<f32>
  %0 = "relax.astype"(%last) {dtype = i64} : (tensor<f64>) -> tensor<i64>
  %1 = "relax.astype"(%next) {dtype = i64} : (tensor<f64>) -> tensor<i64>
  %2 = "relax.astype"(%small) {dtype = i8} : (tensor<f32>) -> tensor<i8>
  %3 = "relax.astype"(%large) {dtype = i8} : (tensor<f32>) -> tensor<i8>
  return %0, %1, %2, %3 : tensor<i64>, tensor<i64>, tensor<i8>, tensor<i8>
}
