// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @take(
// CHECK: "relax.take"({{.*}}) {axis = 0 : i64} : {{.*}} -> tensor<?x2x?xf32, #relax.sym<["k", 2, "m"]>>
func.func @take(%a: tensor<?x?xf32, #relax.sym<["n", "m"]>>, %b: tensor<?x2xi64, #relax.sym<["k", 2]>>) {
  %r = "relax.take"(%a, %b) {axis = 0 : i64} : (tensor<?x?xf32, #relax.sym<["n", "m"]>>, tensor<?x2xi64, #relax.sym<["k", 2]>>) -> tensor<?x2x?xf32, #relax.sym<["k", 2, "m"]>>
  return
}

// CHECK-LABEL: func.func @take_2(
// CHECK: "relax.take"({{.*}}) : {{.*}} -> tensor<?xf32, #relax.sym<["k"]>>
func.func @take_2(%a: tensor<?x?xf32, #relax.sym<["n", "m"]>>, %b: tensor<?xi64, #relax.sym<["k"]>>) {
  %r = "relax.take"(%a, %b) : (tensor<?x?xf32, #relax.sym<["n", "m"]>>, tensor<?xi64, #relax.sym<["k"]>>) -> tensor<?xf32, #relax.sym<["k"]>>
  return
}

// CHECK-LABEL: func.func @take_3(
// CHECK: "relax.take"({{.*}}) {axis = -1 : i64} : {{.*}} -> tensor<?xf32, #relax.sym<["n"]>>
func.func @take_3(%a: tensor<?x?xf32, #relax.sym<["n", "m"]>>, %b: i64) {
  %r = "relax.take"(%a, %b) {axis = -1 : i64} : (tensor<?x?xf32, #relax.sym<["n", "m"]>>, i64) -> tensor<?xf32, #relax.sym<["n"]>>
  return
}

// CHECK-LABEL: func.func @strided_slice(
// CHECK: "relax.strided_slice"({{.*}}) {axes = array<i64: 0>, begin = array<i64: 1>, end = array<i64: 9223372036854775807>} : {{.*}} -> tensor<?x?xf32, #relax.sym<["max(n - 1, 0)", "m"]>>
func.func @strided_slice(%a: tensor<?x?xf32, #relax.sym<["n", "m"]>>) {
  %r = "relax.strided_slice"(%a) {axes = array<i64: 0>, begin = array<i64: 1>, end = array<i64: 9223372036854775807>} : (tensor<?x?xf32, #relax.sym<["n", "m"]>>) -> tensor<?x?xf32, #relax.sym<["max(n - 1, 0)", "m"]>>
  return
}

// CHECK-LABEL: func.func @strided_slice_2(
// CHECK: "relax.strided_slice"({{.*}}) {axes = array<i64: 0>, begin = array<i64: 1>, end = array<i64: 9223372036854775807>} : {{.*}} -> tensor<?xf32, #relax.sym<["n"]>>
func.func @strided_slice_2(%a: tensor<?xf32, #relax.sym<["n + 1"]>>) {
  %r = "relax.strided_slice"(%a) {axes = array<i64: 0>, begin = array<i64: 1>, end = array<i64: 9223372036854775807>} : (tensor<?xf32, #relax.sym<["n + 1"]>>) -> tensor<?xf32, #relax.sym<["n"]>>
  return
}

// CHECK-LABEL: func.func @strided_slice_3(
// CHECK: "relax.strided_slice"({{.*}}) {axes = array<i64: 0>, begin = array<i64: 1>, end = array<i64: 3>} : {{.*}} -> tensor<2xf32>
func.func @strided_slice_3(%a: tensor<?xf32, #relax.sym<["n + 4"]>>) {
  %r = "relax.strided_slice"(%a) {axes = array<i64: 0>, begin = array<i64: 1>, end = array<i64: 3>} : (tensor<?xf32, #relax.sym<["n + 4"]>>) -> tensor<2xf32>
  return
}

// CHECK-LABEL: func.func @strided_slice_4(
// CHECK: "relax.strided_slice"({{.*}}) {axes = array<i64: 0>, begin = array<i64: 0>, end = array<i64: 3>} : {{.*}} -> tensor<?xf32, #relax.sym<["min(n, 3)"]>>
func.func @strided_slice_4(%a: tensor<?xf32, #relax.sym<["n"]>>) {
  %r = "relax.strided_slice"(%a) {axes = array<i64: 0>, begin = array<i64: 0>, end = array<i64: 3>} : (tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32, #relax.sym<["min(n, 3)"]>>
  return
}

// CHECK-LABEL: func.func @strided_slice_5(
// CHECK: "relax.strided_slice"({{.*}}) {axes = array<i64: 0>, begin = array<i64: -3>, end = array<i64: 9223372036854775807>} : {{.*}} -> tensor<?xf32, #relax.sym<["min(n, 3)"]>>
func.func @strided_slice_5(%a: tensor<?xf32, #relax.sym<["n"]>>) {
  %r = "relax.strided_slice"(%a) {axes = array<i64: 0>, begin = array<i64: -3>, end = array<i64: 9223372036854775807>} : (tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32, #relax.sym<["min(n, 3)"]>>
  return
}

// CHECK-LABEL: func.func @dynamic_strided_slice(
// CHECK: "relax.dynamic_strided_slice"({{.*}}) : {{.*}} -> tensor<?x?xf32>
func.func @dynamic_strided_slice(%a: tensor<?x2xf32, #relax.sym<["n", 2]>>, %b: tensor<2xi64>, %c: tensor<2xi64>, %d: tensor<2xi64>) {
  %r = "relax.dynamic_strided_slice"(%a, %b, %c, %d) : (tensor<?x2xf32, #relax.sym<["n", 2]>>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  return
}

// CHECK-LABEL: func.func @dynamic_strided_slice_2(
// CHECK: "relax.dynamic_strided_slice"({{.*}}) : {{.*}} -> tensor<?x?xf32>
func.func @dynamic_strided_slice_2(%a: tensor<*xf32>, %b: tensor<?xi64>, %c: tensor<2xi64>, %d: tensor<*xi64>) {
  %r = "relax.dynamic_strided_slice"(%a, %b, %c, %d) : (tensor<*xf32>, tensor<?xi64>, tensor<2xi64>, tensor<*xi64>) -> tensor<?x?xf32>
  return
}

// CHECK-LABEL: func.func @dynamic_strided_slice_3(
// CHECK: "relax.dynamic_strided_slice"({{.*}}) : {{.*}} -> tensor<*xf32>
func.func @dynamic_strided_slice_3(%a: tensor<*xf32>, %b: tensor<?xi64, #relax.sym<["n"]>>, %c: tensor<?xi64, #relax.sym<["n"]>>, %d: tensor<?xi64, #relax.sym<["n"]>>) {
  %r = "relax.dynamic_strided_slice"(%a, %b, %c, %d) : (tensor<*xf32>, tensor<?xi64, #relax.sym<["n"]>>, tensor<?xi64, #relax.sym<["n"]>>, tensor<?xi64, #relax.sym<["n"]>>) -> tensor<*xf32>
  return
}

// CHECK-LABEL: func.func @gather_elements(
// CHECK: "relax.gather_elements"({{.*}}) {axis = 1 : i64} : {{.*}} -> tensor<?x3xf32, #relax.sym<["n", 3]>>
func.func @gather_elements(%a: tensor<?x?xf32, #relax.sym<["n", "m"]>>, %b: tensor<?x3xi64, #relax.sym<["n", 3]>>) {
  %r = "relax.gather_elements"(%a, %b) {axis = 1 : i64} : (tensor<?x?xf32, #relax.sym<["n", "m"]>>, tensor<?x3xi64, #relax.sym<["n", 3]>>) -> tensor<?x3xf32, #relax.sym<["n", 3]>>
  return
}

// CHECK-LABEL: func.func @gather_elements_2(
// CHECK: "relax.gather_elements"({{.*}}) {axis = 1 : i64} : {{.*}} -> tensor<?x?xf32>
func.func @gather_elements_2(%a: tensor<?x?xf32, #relax.sym<["n", "m"]>>, %b: tensor<*xi64>) {
  %r = "relax.gather_elements"(%a, %b) {axis = 1 : i64} : (tensor<?x?xf32, #relax.sym<["n", "m"]>>, tensor<*xi64>) -> tensor<?x?xf32>
  return
}

// CHECK-LABEL: func.func @gather_elements_3(
// CHECK: "relax.gather_elements"({{.*}}) {axis = 7 : i64} : {{.*}} -> tensor<?x3xf32, #relax.sym<["n", 3]>>
func.func @gather_elements_3(%a: tensor<*xf32>, %b: tensor<?x3xi64, #relax.sym<["n", 3]>>) {
  %r = "relax.gather_elements"(%a, %b) {axis = 7 : i64} : (tensor<*xf32>, tensor<?x3xi64, #relax.sym<["n", 3]>>) -> tensor<?x3xf32, #relax.sym<["n", 3]>>
  return
}

// CHECK-LABEL: func.func @gather_nd(
// CHECK: "relax.gather_nd"({{.*}}) : {{.*}} -> tensor<?x?x4xf32, #relax.sym<["k", "m", 4]>>
func.func @gather_nd(%a: tensor<?x?x4xf32, #relax.sym<["n", "m", 4]>>, %b: tensor<?x1xi64, #relax.sym<["k", 1]>>) {
  %r = "relax.gather_nd"(%a, %b) : (tensor<?x?x4xf32, #relax.sym<["n", "m", 4]>>, tensor<?x1xi64, #relax.sym<["k", 1]>>) -> tensor<?x?x4xf32, #relax.sym<["k", "m", 4]>>
  return
}

// CHECK-LABEL: func.func @gather_nd_2(
// CHECK: "relax.gather_nd"({{.*}}) {batch_dims = 1 : i64} : {{.*}} -> tensor<?x?x4xf32, #relax.sym<["n", "k", 4]>>
func.func @gather_nd_2(%a: tensor<?x?x4xf32, #relax.sym<["n", "m", 4]>>, %b: tensor<?x?x1xi64, #relax.sym<["n", "k", 1]>>) {
  %r = "relax.gather_nd"(%a, %b) {batch_dims = 1 : i64} : (tensor<?x?x4xf32, #relax.sym<["n", "m", 4]>>, tensor<?x?x1xi64, #relax.sym<["n", "k", 1]>>) -> tensor<?x?x4xf32, #relax.sym<["n", "k", 4]>>
  return
}

// CHECK-LABEL: func.func @gather_nd_3(
// CHECK: "relax.gather_nd"({{.*}}) {batch_dims = 1 : i64} : {{.*}} -> tensor<?xf32, #relax.sym<["n"]>>
func.func @gather_nd_3(%a: tensor<?x4xf32>, %b: tensor<?x1xi64, #relax.sym<["n", 1]>>) {
  %r = "relax.gather_nd"(%a, %b) {batch_dims = 1 : i64} : (tensor<?x4xf32>, tensor<?x1xi64, #relax.sym<["n", 1]>>) -> tensor<?xf32, #relax.sym<["n"]>>
  return
}

// CHECK-LABEL: func.func @index_tensor(
// CHECK: "relax.index_tensor"({{.*}}) : {{.*}} -> tensor<?x3x4xf32, #relax.sym<["k", 3, 4]>>
func.func @index_tensor(%a: tensor<?x?x4xf32, #relax.sym<["n", "m", 4]>>, %b: tensor<?x1xi64, #relax.sym<["k", 1]>>, %c: tensor<3xi64>) {
  %r = "relax.index_tensor"(%a, %b, %c) : (tensor<?x?x4xf32, #relax.sym<["n", "m", 4]>>, tensor<?x1xi64, #relax.sym<["k", 1]>>, tensor<3xi64>) -> tensor<?x3x4xf32, #relax.sym<["k", 3, 4]>>
  return
}

// CHECK-LABEL: func.func @index_tensor_2(
// CHECK: "relax.index_tensor"({{.*}}) : {{.*}} -> tensor<*xf32>
func.func @index_tensor_2(%a: tensor<*xf32>, %b: tensor<?xi64, #relax.sym<["k"]>>) {
  %r = "relax.index_tensor"(%a, %b) : (tensor<*xf32>, tensor<?xi64, #relax.sym<["k"]>>) -> tensor<*xf32>
  return
}

// CHECK-LABEL: func.func @index_tensor_3(
// CHECK: "relax.index_tensor"({{.*}}) : {{.*}} -> tensor<*xf32>
func.func @index_tensor_3(%a: tensor<?xf32, #relax.sym<["n"]>>, %b: tensor<*xi64>) {
  %r = "relax.index_tensor"(%a, %b) : (tensor<?xf32, #relax.sym<["n"]>>, tensor<*xi64>) -> tensor<*xf32>
  return
}

// CHECK-LABEL: func.func @index_put(
// CHECK: "relax.index_put"({{.*}}) {accumulate = true} : {{.*}} -> tensor<?x?xf32, #relax.sym<["n", "m"]>>
func.func @index_put(%a: tensor<?x?xf32, #relax.sym<["n", "m"]>>, %b: tensor<?xi64, #relax.sym<["k"]>>, %c: tensor<?x?xf32, #relax.sym<["k", "m"]>>) {
  %r = "relax.index_put"(%a, %b, %c) {accumulate = true} : (tensor<?x?xf32, #relax.sym<["n", "m"]>>, tensor<?xi64, #relax.sym<["k"]>>, tensor<?x?xf32, #relax.sym<["k", "m"]>>) -> tensor<?x?xf32, #relax.sym<["n", "m"]>>
  return
}

// CHECK-LABEL: func.func @index_put_2(
// CHECK: "relax.index_put"({{.*}}) : {{.*}} -> tensor<*xf32>
func.func @index_put_2(%a: tensor<*xf32>, %b: tensor<?xi64, #relax.sym<["k"]>>, %c: tensor<?x?xf32, #relax.sym<["k", "m"]>>) {
  %r = "relax.index_put"(%a, %b, %c) : (tensor<*xf32>, tensor<?xi64, #relax.sym<["k"]>>, tensor<?x?xf32, #relax.sym<["k", "m"]>>) -> tensor<*xf32>
  return
}

// CHECK-LABEL: func.func @scatter_elements(
// CHECK: "relax.scatter_elements"({{.*}}) {reduction = "mean"} : {{.*}} -> tensor<?x?xf32, #relax.sym<["n", "m"]>>
func.func @scatter_elements(%a: tensor<?x?xf32, #relax.sym<["n", "m"]>>, %b: tensor<?x?xi64, #relax.sym<["k", "l"]>>, %c: tensor<?x?xf32, #relax.sym<["k", "l"]>>) {
  %r = "relax.scatter_elements"(%a, %b, %c) {reduction = "mean"} : (tensor<?x?xf32, #relax.sym<["n", "m"]>>, tensor<?x?xi64, #relax.sym<["k", "l"]>>, tensor<?x?xf32, #relax.sym<["k", "l"]>>) -> tensor<?x?xf32, #relax.sym<["n", "m"]>>
  return
}

// CHECK-LABEL: func.func @scatter_elements_2(
// CHECK: "relax.scatter_elements"({{.*}}) {axis = 3 : i64} : {{.*}} -> tensor<*xf32>
func.func @scatter_elements_2(%a: tensor<*xf32>, %b: tensor<?xi64, #relax.sym<["k"]>>, %c: tensor<*xf32>) {
  %r = "relax.scatter_elements"(%a, %b, %c) {axis = 3 : i64} : (tensor<*xf32>, tensor<?xi64, #relax.sym<["k"]>>, tensor<*xf32>) -> tensor<*xf32>
  return
}

// CHECK-LABEL: func.func @scatter_nd(
// CHECK: "relax.scatter_nd"({{.*}}) {reduction = "add"} : {{.*}} -> tensor<?x?xf32, #relax.sym<["n", "m"]>>
func.func @scatter_nd(%a: tensor<?x?xf32, #relax.sym<["n", "m"]>>, %b: tensor<?x1xi64, #relax.sym<["k", 1]>>, %c: tensor<?x?xf32, #relax.sym<["k", "m"]>>) {
  %r = "relax.scatter_nd"(%a, %b, %c) {reduction = "add"} : (tensor<?x?xf32, #relax.sym<["n", "m"]>>, tensor<?x1xi64, #relax.sym<["k", 1]>>, tensor<?x?xf32, #relax.sym<["k", "m"]>>) -> tensor<?x?xf32, #relax.sym<["n", "m"]>>
  return
}

// CHECK-LABEL: func.func @scatter_nd_2(
// CHECK: "relax.scatter_nd"({{.*}}) : {{.*}} -> tensor<?x?xf32, #relax.sym<["n", "m"]>>
func.func @scatter_nd_2(%a: tensor<?x?xf32, #relax.sym<["n", "m"]>>, %b: tensor<?x?xi64, #relax.sym<["k", "l"]>>, %c: tensor<3xf32>) {
  %r = "relax.scatter_nd"(%a, %b, %c) : (tensor<?x?xf32, #relax.sym<["n", "m"]>>, tensor<?x?xi64, #relax.sym<["k", "l"]>>, tensor<3xf32>) -> tensor<?x?xf32, #relax.sym<["n", "m"]>>
  return
}

// CHECK-LABEL: func.func @scatter_nd_3(
// CHECK: "relax.scatter_nd"({{.*}}) : {{.*}} -> tensor<?x?xf32, #relax.sym<["n", "m"]>>
func.func @scatter_nd_3(%a: tensor<?x?xf32, #relax.sym<["n", "m"]>>, %b: tensor<*xi64>, %c: tensor<3xf32>) {
  %r = "relax.scatter_nd"(%a, %b, %c) : (tensor<?x?xf32, #relax.sym<["n", "m"]>>, tensor<*xi64>, tensor<3xf32>) -> tensor<?x?xf32, #relax.sym<["n", "m"]>>
  return
}

// CHECK-LABEL: func.func @slice_scatter(
// CHECK: "relax.slice_scatter"({{.*}}) : {{.*}} -> tensor<?x4xf32, #relax.sym<["n", 4]>>
func.func @slice_scatter(%a: tensor<?x4xf32, #relax.sym<["n", 4]>>, %b: tensor<?x4xf32, #relax.sym<["m", 4]>>) {
  %c = "relax.prim_value"() {value = "a"} : () -> i64
  %d = "relax.prim_value"() {value = "a + m"} : () -> i64
  %e = arith.constant 1 : i64
  %r = "relax.slice_scatter"(%a, %b, %c, %d, %e) : (tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<?x4xf32, #relax.sym<["m", 4]>>, i64, i64, i64) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  return
}

// CHECK-LABEL: func.func @slice_scatter_2(
// CHECK: "relax.slice_scatter"({{.*}}) : {{.*}} -> tensor<?x4xf32, #relax.sym<["n", 4]>>
func.func @slice_scatter_2(%a: tensor<?x4xf32, #relax.sym<["n", 4]>>, %b: tensor<?x4xf32, #relax.sym<["n - 2", 4]>>) {
  %c = arith.constant 1 : i64
  %d = arith.constant -1 : i64
  %e = arith.constant 1 : i64
  %r = "relax.slice_scatter"(%a, %b, %c, %d, %e) : (tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<?x4xf32, #relax.sym<["n - 2", 4]>>, i64, i64, i64) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  return
}

// CHECK-LABEL: func.func @slice_scatter_3(
// CHECK: "relax.slice_scatter"({{.*}}) : {{.*}} -> tensor<?x4xf32, #relax.sym<["n", 4]>>
func.func @slice_scatter_3(%a: tensor<?x4xf32, #relax.sym<["n", 4]>>, %b: tensor<2x4xf32>, %c: i64, %e: i32) {
  %d = arith.constant 3 : i64
  %r = "relax.slice_scatter"(%a, %b, %c, %d, %e) : (tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<2x4xf32>, i64, i64, i32) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  return
}

// CHECK-LABEL: func.func @reverse_sequence(
// CHECK: "relax.reverse_sequence"({{.*}}) : {{.*}} -> tensor<?x?xf32, #relax.sym<["n", "m"]>>
func.func @reverse_sequence(%a: tensor<?x?xf32, #relax.sym<["n", "m"]>>, %b: tensor<?xi64, #relax.sym<["n"]>>) {
  %r = "relax.reverse_sequence"(%a, %b) : (tensor<?x?xf32, #relax.sym<["n", "m"]>>, tensor<?xi64, #relax.sym<["n"]>>) -> tensor<?x?xf32, #relax.sym<["n", "m"]>>
  return
}

// CHECK-LABEL: func.func @reverse_sequence_2(
// CHECK: "relax.reverse_sequence"({{.*}}) : {{.*}} -> tensor<3x?xf32, #relax.sym<[3, "m"]>>
func.func @reverse_sequence_2(%a: tensor<?x?xf32, #relax.sym<["?", "m"]>>, %b: tensor<3xi64>) {
  %r = "relax.reverse_sequence"(%a, %b) : (tensor<?x?xf32, #relax.sym<["?", "m"]>>, tensor<3xi64>) -> tensor<3x?xf32, #relax.sym<[3, "m"]>>
  return
}

// CHECK-LABEL: func.func @reverse_sequence_3(
// CHECK: "relax.reverse_sequence"({{.*}}) : {{.*}} -> tensor<*xf32>
func.func @reverse_sequence_3(%a: tensor<*xf32>, %b: tensor<*xi64>) {
  %r = "relax.reverse_sequence"(%a, %b) : (tensor<*xf32>, tensor<*xi64>) -> tensor<*xf32>
  return
}

// Bounds may be expressions over symbols; plain integers stay an array of integers.
// CHECK-LABEL: func.func @symbolic_bounds
func.func @symbolic_bounds(%x: tensor<?x4xf32, #relax.sym<["n", 4]>>, %k: tensor<?xf32, #relax.sym<["k"]>>) {
  // CHECK: "relax.strided_slice"(%arg0) {axes = array<i64: 0>, begin = array<i64: 0>, end = ["k"]}
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["min(k, n)", 4]>>
  %0 = "relax.strided_slice"(%x) {axes = array<i64: 0>, begin = array<i64: 0>, end = ["k"]} : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["min(k, n)", 4]>>
  // CHECK: begin = ["k + 1", 0]
  %1 = "relax.strided_slice"(%x) {axes = array<i64: 0, 1>, begin = ["k + 1", 0], end = array<i64: 9223372036854775807, 2>} : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x2xf32>
  return
}
