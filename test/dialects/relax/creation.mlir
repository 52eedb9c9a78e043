// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @full(
// CHECK: "relax.full"({{.*}}){{.*}} -> tensor<?x4xi8, #relax.sym<["n", 4]>>
func.func @full(%a: !relax.shape<["n", 4]>, %b: tensor<i8>) -> tensor<?x4xi8, #relax.sym<["n", 4]>> {
  %r = "relax.full"(%a, %b) : (!relax.shape<["n", 4]>, tensor<i8>) -> tensor<?x4xi8, #relax.sym<["n", 4]>>
  return %r : tensor<?x4xi8, #relax.sym<["n", 4]>>
}

// CHECK-LABEL: func.func @full_of_unknown_shape(
// CHECK: "relax.full"({{.*}}) {dtype = i64}{{.*}} -> tensor<*xi64>
func.func @full_of_unknown_shape(%a: !relax.shape<unit>, %b: tensor<f32>) -> tensor<*xi64> {
  %r = "relax.full"(%a, %b) {dtype = i64} : (!relax.shape<unit>, tensor<f32>) -> tensor<*xi64>
  return %r : tensor<*xi64>
}

// CHECK-LABEL: func.func @full_like(
// CHECK: "relax.full_like"({{.*}}) {dtype = i1}{{.*}} -> tensor<2x?x4xi1, #relax.sym<[2, "n", 4]>>
func.func @full_like(%a: tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>, %b: tensor<i8>) -> tensor<2x?x4xi1, #relax.sym<[2, "n", 4]>> {
  %r = "relax.full_like"(%a, %b) {dtype = i1} : (tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>, tensor<i8>) -> tensor<2x?x4xi1, #relax.sym<[2, "n", 4]>>
  return %r : tensor<2x?x4xi1, #relax.sym<[2, "n", 4]>>
}

// CHECK-LABEL: func.func @ones(
// CHECK: "relax.ones"({{.*}}) {dtype = f16}{{.*}} -> tensor<?x4xf16, #relax.sym<["n", 4]>>
func.func @ones(%a: !relax.shape<["n", 4]>) -> tensor<?x4xf16, #relax.sym<["n", 4]>> {
  %r = "relax.ones"(%a) {dtype = f16} : (!relax.shape<["n", 4]>) -> tensor<?x4xf16, #relax.sym<["n", 4]>>
  return %r : tensor<?x4xf16, #relax.sym<["n", 4]>>
}

// CHECK-LABEL: func.func @ones_like(
// CHECK: "relax.ones_like"({{.*}}){{.*}} -> tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>
func.func @ones_like(%a: tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>> {
  %r = "relax.ones_like"(%a) : (tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>
  return %r : tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>
}

// CHECK-LABEL: func.func @zeros(
// CHECK: "relax.zeros"({{.*}}) {dtype = f32}{{.*}} -> tensor<?x4xf32, #relax.sym<["n", 4]>>
func.func @zeros(%a: !relax.shape<["n", 4]>) -> tensor<?x4xf32, #relax.sym<["n", 4]>> {
  %r = "relax.zeros"(%a) {dtype = f32} : (!relax.shape<["n", 4]>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  return %r : tensor<?x4xf32, #relax.sym<["n", 4]>>
}

// CHECK-LABEL: func.func @zeros_like(
// CHECK: "relax.zeros_like"({{.*}}) {dtype = ui8}{{.*}} -> tensor<*xui8>
func.func @zeros_like(%a: tensor<*xf32>) -> tensor<*xui8> {
  %r = "relax.zeros_like"(%a) {dtype = ui8} : (tensor<*xf32>) -> tensor<*xui8>
  return %r : tensor<*xui8>
}

// CHECK-LABEL: func.func @arange(
// CHECK: "relax.arange"({{.*}}){{.*}} -> tensor<4xi64>
func.func @arange() -> tensor<4xi64> {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 10 : i64
  %c2 = arith.constant 3 : i64
  %r = "relax.arange"(%c0, %c1, %c2) : (i64, i64, i64) -> tensor<4xi64>
  return %r : tensor<4xi64>
}

// CHECK-LABEL: func.func @arange_of_symbol(
// CHECK: "relax.arange"({{.*}}){{.*}} -> tensor<?xi64, #relax.sym<["n"]>>
func.func @arange_of_symbol() -> tensor<?xi64, #relax.sym<["n"]>> {
  %c0 = arith.constant 0 : i64
  %s1 = "relax.prim_value"() {value = "n"} : () -> i64
  %c2 = arith.constant 1 : i64
  %r = "relax.arange"(%c0, %s1, %c2) : (i64, i64, i64) -> tensor<?xi64, #relax.sym<["n"]>>
  return %r : tensor<?xi64, #relax.sym<["n"]>>
}

// CHECK-LABEL: func.func @arange_of_symbols(
// CHECK: "relax.arange"({{.*}}){{.*}} -> tensor<?xi64, #relax.sym<["max((m - n + 1)//2, 0)"]>>
func.func @arange_of_symbols() -> tensor<?xi64, #relax.sym<["max((m - n + 1)//2, 0)"]>> {
  %s0 = "relax.prim_value"() {value = "n"} : () -> i64
  %s1 = "relax.prim_value"() {value = "m"} : () -> i64
  %c2 = arith.constant 2 : i64
  %r = "relax.arange"(%s0, %s1, %c2) : (i64, i64, i64) -> tensor<?xi64, #relax.sym<["max((m - n + 1)//2, 0)"]>>
  return %r : tensor<?xi64, #relax.sym<["max((m - n + 1)//2, 0)"]>>
}

// CHECK-LABEL: func.func @arange_of_floats(
// CHECK: "relax.arange"({{.*}}) {dtype = f64}{{.*}} -> tensor<4xf64>
func.func @arange_of_floats() -> tensor<4xf64> {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1.0 : f64
  %c2 = arith.constant 0.3 : f64
  %r = "relax.arange"(%c0, %c1, %c2) {dtype = f64} : (i64, f64, f64) -> tensor<4xf64>
  return %r : tensor<4xf64>
}

// CHECK-LABEL: func.func @arange_of_values(
// CHECK: "relax.arange"({{.*}}){{.*}} -> tensor<?xi64>
func.func @arange_of_values(%a: i64, %b: i64) -> tensor<?xi64> {
  %c2 = arith.constant 1 : i64
  %r = "relax.arange"(%a, %b, %c2) : (i64, i64, i64) -> tensor<?xi64>
  return %r : tensor<?xi64>
}

// CHECK-LABEL: func.func @eye(
// CHECK: "relax.eye"({{.*}}){{.*}} -> tensor<3x3xf32>
func.func @eye() -> tensor<3x3xf32> {
  %c0 = arith.constant 3 : i64
  %c1 = arith.constant 3 : i64
  %c2 = arith.constant 0 : i64
  %r = "relax.eye"(%c0, %c1, %c2) : (i64, i64, i64) -> tensor<3x3xf32>
  return %r : tensor<3x3xf32>
}

// CHECK-LABEL: func.func @eye_off_diagonal(
// CHECK: "relax.eye"({{.*}}) {dtype = i32}{{.*}} -> tensor<?x4xi32, #relax.sym<["n", 4]>>
func.func @eye_off_diagonal() -> tensor<?x4xi32, #relax.sym<["n", 4]>> {
  %s0 = "relax.prim_value"() {value = "n"} : () -> i64
  %c1 = arith.constant 4 : i64
  %c2 = arith.constant -1 : i64
  %r = "relax.eye"(%s0, %c1, %c2) {dtype = i32} : (i64, i64, i64) -> tensor<?x4xi32, #relax.sym<["n", 4]>>
  return %r : tensor<?x4xi32, #relax.sym<["n", 4]>>
}

// CHECK-LABEL: func.func @eye_like(
// CHECK: "relax.eye_like"({{.*}}){{.*}} -> tensor<?x4xf32, #relax.sym<["n", 4]>>
func.func @eye_like(%a: tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>> {
  %c1 = arith.constant 1 : i64
  %r = "relax.eye_like"(%a, %c1) : (tensor<?x4xf32, #relax.sym<["n", 4]>>, i64) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  return %r : tensor<?x4xf32, #relax.sym<["n", 4]>>
}

// CHECK-LABEL: func.func @tril(
// CHECK: "relax.tril"({{.*}}){{.*}} -> tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>
func.func @tril(%a: tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>, %b: i64) -> tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>> {
  %r = "relax.tril"(%a, %b) : (tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>, i64) -> tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>
  return %r : tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>
}

// CHECK-LABEL: func.func @triu(
// CHECK: "relax.triu"({{.*}}){{.*}} -> tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>
func.func @triu(%a: tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>) -> tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>> {
  %c1 = arith.constant -1 : i64
  %r = "relax.triu"(%a, %c1) : (tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>, i64) -> tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>
  return %r : tensor<2x?x4xf32, #relax.sym<[2, "n", 4]>>
}

// CHECK-LABEL: func.func @one_hot(
// CHECK: "relax.one_hot"({{.*}}) {axis = 1 : i64, depth = 5 : i64}{{.*}} -> tensor<?x5x2xf32, #relax.sym<["n", 5, 2]>>
func.func @one_hot(%a: tensor<?x2xi64, #relax.sym<["n", 2]>>) -> tensor<?x5x2xf32, #relax.sym<["n", 5, 2]>> {
  %c1 = arith.constant 1.0 : f32
  %c2 = arith.constant 0.0 : f32
  %r = "relax.one_hot"(%a, %c1, %c2) {axis = 1 : i64, depth = 5 : i64} : (tensor<?x2xi64, #relax.sym<["n", 2]>>, f32, f32) -> tensor<?x5x2xf32, #relax.sym<["n", 5, 2]>>
  return %r : tensor<?x5x2xf32, #relax.sym<["n", 5, 2]>>
}

// CHECK-LABEL: func.func @hamming_window(
// CHECK: "relax.hamming_window"({{.*}}) {dtype = f32}{{.*}} -> tensor<?xf32, #relax.sym<["n"]>>
func.func @hamming_window() -> tensor<?xf32, #relax.sym<["n"]>> {
  %s0 = "relax.prim_value"() {value = "n"} : () -> i64
  %c1 = arith.constant true
  %c2 = arith.constant 0.54 : f64
  %c3 = arith.constant 0.46 : f64
  %r = "relax.hamming_window"(%s0, %c1, %c2, %c3) {dtype = f32} : (i64, i1, f64, f64) -> tensor<?xf32, #relax.sym<["n"]>>
  return %r : tensor<?xf32, #relax.sym<["n"]>>
}
