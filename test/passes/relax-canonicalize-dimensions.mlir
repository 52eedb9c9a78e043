// RUN: relax-opt %s --relax-canonicalize | FileCheck %s

// CHECK-LABEL: func.func @permutations(
// CHECK-NEXT: %[[ONE:.*]] = "relax.permute_dims"(%arg0) {axes = array<i64: 1, 2, 0>} :
// CHECK-NEXT: return %[[ONE]], %arg0 :
func.func @permutations(%x: tensor<?x3x4xf32, #relax.sym<["n", 3, 4]>>)
    -> (tensor<3x4x?xf32, #relax.sym<[3, 4, "n"]>>, tensor<?x3x4xf32, #relax.sym<["n", 3, 4]>>) {
  %0 = "relax.permute_dims"(%x) {axes = array<i64: 2, 0, 1>} : (tensor<?x3x4xf32, #relax.sym<["n", 3, 4]>>) -> tensor<4x?x3xf32, #relax.sym<[4, "n", 3]>>
  %1 = "relax.permute_dims"(%0) {axes = array<i64: 2, 0, 1>} : (tensor<4x?x3xf32, #relax.sym<[4, "n", 3]>>) -> tensor<3x4x?xf32, #relax.sym<[3, 4, "n"]>>
  %2 = "relax.permute_dims"(%1) {axes = array<i64: -1, 0, 1>} : (tensor<3x4x?xf32, #relax.sym<[3, 4, "n"]>>) -> tensor<?x3x4xf32, #relax.sym<["n", 3, 4]>>
  return %1, %2 : tensor<3x4x?xf32, #relax.sym<[3, 4, "n"]>>, tensor<?x3x4xf32, #relax.sym<["n", 3, 4]>>
}

// Only the last shape counts.
// CHECK-LABEL: func.func @reshapes(
// CHECK-NEXT: %[[ONE:.*]] = "relax.reshape"(%arg0, %arg2) :
// CHECK-NEXT: %[[FLAT:.*]] = "relax.flatten"(%arg0) : (tensor<2x6xf32>) -> tensor<12xf32>
// CHECK-NEXT: return %[[ONE]], %[[FLAT]], %arg0 :
func.func @reshapes(%x: tensor<2x6xf32>, %s: !relax.shape<[3, 4]>, %t: !relax.shape<[4, 3]>, %u: !relax.shape<[2, 6]>)
    -> (tensor<4x3xf32>, tensor<12xf32>, tensor<2x6xf32>) {
  %0 = "relax.reshape"(%x, %s) : (tensor<2x6xf32>, !relax.shape<[3, 4]>) -> tensor<3x4xf32>
  %1 = "relax.reshape"(%0, %t) : (tensor<3x4xf32>, !relax.shape<[4, 3]>) -> tensor<4x3xf32>
  %2 = "relax.expand_dims"(%1) {axis = array<i64: 0>} : (tensor<4x3xf32>) -> tensor<1x4x3xf32>
  %3 = "relax.flatten"(%2) : (tensor<1x4x3xf32>) -> tensor<12xf32>
  %4 = "relax.reshape"(%3, %u) : (tensor<12xf32>, !relax.shape<[2, 6]>) -> tensor<2x6xf32>
  return %1, %3, %4 : tensor<4x3xf32>, tensor<12xf32>, tensor<2x6xf32>
}

// Two unknown sizes: the shapes may differ although the types are the same. One follows from the other sizes.
// CHECK-LABEL: func.func @unknown_sizes(
// CHECK-NEXT: %[[R:.*]] = "relax.reshape"(%arg0, %arg2)
// CHECK-NEXT: return %[[R]], %arg1 :
func.func @unknown_sizes(%x: tensor<?x?xf32>, %y: tensor<?x4xf32>, %s: !relax.shape<["?", "?"]>) -> (tensor<?x?xf32>, tensor<?x4xf32>) {
  %0 = "relax.reshape"(%x, %s) : (tensor<?x?xf32>, !relax.shape<["?", "?"]>) -> tensor<?x?xf32>
  %1 = "relax.reshape"(%y, %s) : (tensor<?x4xf32>, !relax.shape<["?", "?"]>) -> tensor<?x4xf32>
  return %0, %1 : tensor<?x?xf32>, tensor<?x4xf32>
}

// What each step allows and both together do not is left for the run to find.
// CHECK-LABEL: func.func @impossible(
// CHECK-COUNT-2: relax.reshape
func.func @impossible(%x: tensor<5xf32>, %s: !relax.shape<unit>, %t: !relax.shape<[4]>) -> tensor<4xf32> {
  %0 = "relax.reshape"(%x, %s) : (tensor<5xf32>, !relax.shape<unit>) -> tensor<*xf32>
  %1 = "relax.reshape"(%0, %t) : (tensor<*xf32>, !relax.shape<[4]>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @expansions(
// CHECK-NEXT: %[[E:.*]] = "relax.expand_dims"(%arg0) {axis = array<i64: 0, 2>} : (tensor<2x3xf32>) -> tensor<1x2x1x3xf32>
// CHECK-NEXT: %[[S:.*]] = "relax.squeeze"(%arg1) {axis = array<i64: 0, 2>} : (tensor<1x2x1x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: return %[[E]], %arg0, %[[S]], %arg1, %arg0 :
func.func @expansions(%x: tensor<2x3xf32>, %y: tensor<1x2x1x3xf32>)
    -> (tensor<1x2x1x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<1x2x1x3xf32>, tensor<2x3xf32>) {
  %0 = "relax.expand_dims"(%x) {axis = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
  %1 = "relax.expand_dims"(%0) {axis = array<i64: 0>} : (tensor<2x1x3xf32>) -> tensor<1x2x1x3xf32>
  %2 = "relax.squeeze"(%0) {axis = array<i64: -2>} : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
  %3 = "relax.squeeze"(%y) {axis = array<i64: 0>} : (tensor<1x2x1x3xf32>) -> tensor<2x1x3xf32>
  %4 = "relax.squeeze"(%3) {axis = array<i64: 1>} : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
  %5 = "relax.expand_dims"(%4) {axis = array<i64: 2, 0>} : (tensor<2x3xf32>) -> tensor<1x2x1x3xf32>
  %6 = "relax.squeeze"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %1, %2, %4, %5, %6 : tensor<1x2x1x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<1x2x1x3xf32>, tensor<2x3xf32>
}

// An unknown size may be 1 and grow.
// CHECK-LABEL: func.func @broadcasts(
// CHECK-NEXT: %[[A:.*]] = "relax.broadcast_to"(%arg1, %arg3)
// CHECK-NEXT: %[[B:.*]] = "relax.broadcast_to"(%arg0, %arg4)
// CHECK-NEXT: return %arg0, %[[A]], %[[B]] :
func.func @broadcasts(%x: tensor<?xf32, #relax.sym<["n"]>>, %y: tensor<?xf32>, %s: !relax.shape<["n"]>, %t: !relax.shape<["?"]>,
    %u: !relax.shape<[2, "n"]>) -> (tensor<?xf32, #relax.sym<["n"]>>, tensor<?xf32>, tensor<2x?xf32, #relax.sym<[2, "n"]>>) {
  %0 = "relax.broadcast_to"(%x, %s) : (tensor<?xf32, #relax.sym<["n"]>>, !relax.shape<["n"]>) -> tensor<?xf32, #relax.sym<["n"]>>
  %1 = "relax.broadcast_to"(%y, %t) : (tensor<?xf32>, !relax.shape<["?"]>) -> tensor<?xf32>
  %2 = "relax.broadcast_to"(%0, %u) : (tensor<?xf32, #relax.sym<["n"]>>, !relax.shape<[2, "n"]>) -> tensor<2x?xf32, #relax.sym<[2, "n"]>>
  return %0, %1, %2 : tensor<?xf32, #relax.sym<["n"]>>, tensor<?xf32>, tensor<2x?xf32, #relax.sym<[2, "n"]>>
}

// CHECK-LABEL: func.func @copies(
// CHECK-NEXT: return %arg0, %arg0, %arg0 :
func.func @copies(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = "relax.flip"(%x) {axis = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = "relax.flip"(%0) {axis = -1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = "relax.repeat"(%x) {repeats = 1 : i64, axis = 0 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = "relax.tile"(%x) {repeats = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %1, %2, %3 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: func.func @slices(
// CHECK-NEXT: %[[PART:.*]] = "relax.strided_slice"
// CHECK-NEXT: return %arg0, %arg1, %[[PART]] :
func.func @slices(%x: tensor<2x3xf32>, %y: tensor<?xf32>) -> (tensor<2x3xf32>, tensor<?xf32>, tensor<?xf32>) {
  %0 = "relax.strided_slice"(%x) {axes = array<i64: 0, -1>, begin = array<i64: 0, -3>, end = array<i64: 9, 3>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = "relax.strided_slice"(%y) {axes = array<i64: 0>, begin = array<i64: 0>, end = array<i64: 9223372036854775807>} : (tensor<?xf32>) -> tensor<?xf32>
  %2 = "relax.strided_slice"(%y) {axes = array<i64: 0>, begin = array<i64: 0>, end = array<i64: 3>} : (tensor<?xf32>) -> tensor<?xf32>
  return %0, %1, %2 : tensor<2x3xf32>, tensor<?xf32>, tensor<?xf32>
}

// CHECK-LABEL: func.func @parts(
// CHECK-NEXT: %[[CONCAT:.*]] = "relax.concat"(%arg0, %arg0, %arg0) {axis = -1 : i64} :
// CHECK-NEXT: %[[STACK:.*]] = "relax.expand_dims"(%arg0) {axis = array<i64: 1>} : (tensor<4xf32>) -> tensor<4x1xf32>
// CHECK-NEXT: return %[[CONCAT]], %arg0, %arg0, %arg0, %[[STACK]], %arg0 :
func.func @parts(%x: tensor<4xf32>, %none: tensor<0xf32>)
    -> (tensor<12xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4x1xf32>, tensor<4xf32>) {
  %0 = "relax.concat"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %1 = "relax.concat"(%x, %0) {axis = -1 : i64} : (tensor<4xf32>, tensor<8xf32>) -> tensor<12xf32>
  %2 = "relax.concat"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = "relax.concat"(%none, %x) : (tensor<0xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = "relax.split"(%x) {indices_or_sections = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %5 = "relax.stack"(%x) {axis = 1 : i64} : (tensor<4xf32>) -> tensor<4x1xf32>
  %6:3 = "relax.split"(%x) {indices_or_sections = array<i64: 1, 3>} : (tensor<4xf32>) -> (tensor<1xf32>, tensor<2xf32>, tensor<1xf32>)
  %7 = "relax.concat"(%6#0, %6#1, %6#2) : (tensor<1xf32>, tensor<2xf32>, tensor<1xf32>) -> tensor<4xf32>
  return %1, %2, %3, %4, %5, %7 : tensor<12xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4x1xf32>, tensor<4xf32>
}

// An end of the size itself is the end, as an expression too.
// CHECK-LABEL: func.func @slice_up_to_symbol(
// CHECK-NEXT: %[[PART:.*]] = "relax.strided_slice"(%arg0) {axes = array<i64: 0>, begin = array<i64: 0>, end = ["k"]}
// CHECK-NEXT: return %arg0, %[[PART]]
func.func @slice_up_to_symbol(%x: tensor<?xf32, #relax.sym<["n"]>>, %y: tensor<?xf32, #relax.sym<["k"]>>)
    -> (tensor<?xf32, #relax.sym<["n"]>>, tensor<?xf32, #relax.sym<["min(k, n)"]>>) {
  %0 = "relax.strided_slice"(%x) {axes = array<i64: 0>, begin = array<i64: 0>, end = ["n + 1"]} : (tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32, #relax.sym<["n"]>>
  %1 = "relax.strided_slice"(%x) {axes = array<i64: 0>, begin = array<i64: 0>, end = ["k"]} : (tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32, #relax.sym<["min(k, n)"]>>
  return %0, %1 : tensor<?xf32, #relax.sym<["n"]>>, tensor<?xf32, #relax.sym<["min(k, n)"]>>
}
