// RUN: relax-opt %s --relax-observe | FileCheck %s
// RUN: relax-opt %s --relax-observe=only=1 | FileCheck %s --check-prefix=ALONE
// RUN: not relax-opt %s --relax-observe=only=2 2>&1 | FileCheck %s --check-prefix=FAR

// What calls give is returned, behind what was; views are none.
// CHECK-LABEL: func.func @main
// CHECK-SAME: -> (tensor<?xf32, #relax.sym<["n"]>>, tensor<?xf32, #relax.sym<["n"]>>, tensor<?xf32, #relax.sym<["n"]>>)
// CHECK: %[[A:.*]] = "relax.call_tir"(%arg0) {func = @twice}
// CHECK: %[[B:.*]] = "relax.call_tir"(%[[A]]) {func = @twice}
// CHECK: return %[[B]], %[[A]], %[[B]]

// One call alone: its operands are the arguments.
// ALONE-LABEL: func.func @main(%arg0: tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32, #relax.sym<["n"]>>
// ALONE-NEXT: %[[B:.*]] = "relax.call_tir"(%arg0) {func = @twice}
// ALONE-NEXT: return %[[B]]

// FAR: relax-observe: only=2, but @main has 2 calls
func.func @main(%x: tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32, #relax.sym<["n"]>> {
  %0 = "relax.call_tir"(%x) {func = @twice} : (tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32, #relax.sym<["n"]>>
  %1 = "relax.call_tir"(%0) {func = @twice} : (tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32, #relax.sym<["n"]>>
  return %1 : tensor<?xf32, #relax.sym<["n"]>>
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
