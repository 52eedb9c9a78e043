// RUN: relax-opt %s --relax-observe | FileCheck %s
// RUN: not relax-opt %s --relax-observe --relax-observe 2>&1 | FileCheck %s --check-prefix=AGAIN

// AGAIN: relax-observe: there is a function @main_observed already: the pass needs this name

// The function itself stays; what calls give is returned by another one, behind what was.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: -> (tensor<?xf32, #relax.sym<["n"]>>, tensor<?xf32, #relax.sym<["2*n"]>>)
// CHECK-LABEL: func.func @main_observed(%arg0: tensor<?xf32, #relax.sym<["n"]>>, %arg1: i64)
// CHECK: %[[A:.*]] = "relax.call_tir"(%arg0) {func = @twice}
// CHECK: %[[B:.*]] = "relax.call_tir"(%[[A]], %{{.*}}) {func = @plus}
// CHECK: %[[C:.*]] = "relax.call_tir"(%[[B]], %[[B]]) {func = @joined}
// CHECK: %[[D:.*]]:2 = "relax.call_dps_packed"(%[[B]])
// CHECK: return %[[D]]#0, %[[C]], %[[A]], %[[B]], %[[C]], %[[D]]#0 :

// A function with one call: its operands are the arguments, except for constants.
// CHECK-LABEL: func.func @main_observed_0(%arg0: tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32, #relax.sym<["n"]>>
// CHECK-NEXT: %[[A:.*]] = "relax.call_tir"(%arg0) {func = @twice}
// CHECK-NEXT: return %[[A]]
// CHECK-LABEL: func.func @main_observed_1(%arg0: tensor<?xf32, #relax.sym<["n"]>>) ->
// CHECK-NEXT: %[[C:.*]] = arith.constant
// CHECK-NEXT: "relax.call_tir"(%arg0, %[[C]]) {func = @plus}
// CHECK-LABEL: func.func @main_observed_2(
// Outputs that no operation reads are workspace.
// CHECK-LABEL: func.func @main_observed_3(%arg0: tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32, #relax.sym<["n"]>>
// An operation that needs a number of the function is not observed separately.
// CHECK-NOT: @main_observed_4
// Sizes that no operand has come from arrays.
// CHECK-LABEL: func.func @half_observed_0(%arg0: tensor<?xf32, #relax.sym<["2*m"]>>, %arg1: tensor<?xui8, #relax.sym<["m"]>>)

func.func @main(%x: tensor<?xf32, #relax.sym<["n"]>>, %k: i64) -> (tensor<?xf32, #relax.sym<["n"]>>, tensor<?xf32, #relax.sym<["2*n"]>>) {
  %c = arith.constant dense<2.0> : tensor<1xf32>
  %0 = "relax.call_tir"(%x) {func = @twice} : (tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32, #relax.sym<["n"]>>
  %1 = "relax.call_tir"(%0, %c) {func = @plus} : (tensor<?xf32, #relax.sym<["n"]>>, tensor<1xf32>) -> tensor<?xf32, #relax.sym<["n"]>>
  %2 = "relax.call_tir"(%1, %1) {func = @joined} : (tensor<?xf32, #relax.sym<["n"]>>, tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32, #relax.sym<["2*n"]>>
  %3:2 = "relax.call_dps_packed"(%1) {func = "part.main"} : (tensor<?xf32, #relax.sym<["n"]>>) -> (tensor<?xf32, #relax.sym<["n"]>>, tensor<64xui8>)
  return %3#0, %2 : tensor<?xf32, #relax.sym<["n"]>>, tensor<?xf32, #relax.sym<["2*n"]>>
}

func.func @half(%s: tensor<?xf32, #relax.sym<["2*m"]>>, %t: tensor<?xf32, #relax.sym<["m"]>>) -> tensor<?xf32, #relax.sym<["m"]>> {
  %0 = "relax.call_dps_packed"(%s) {func = "half"} : (tensor<?xf32, #relax.sym<["2*m"]>>) -> tensor<?xf32, #relax.sym<["m"]>>
  return %0 : tensor<?xf32, #relax.sym<["m"]>>
}

func.func private @plus(%x: tensor<?xf32>, %y: tensor<1xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {tir.prim_func} {
  return %out : tensor<?xf32>
}
func.func private @joined(%x: tensor<?xf32>, %y: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {tir.prim_func} {
  return %out : tensor<?xf32>
}
func.func private @twice(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%out : tensor<?xf32>) {
  ^bb0(%in: f32, %o: f32):
    %1 = arith.addf %in, %in : f32
    linalg.yield %1 : f32
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
