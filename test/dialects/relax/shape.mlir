// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s
// RUN: relax-opt %s --pass-pipeline='builtin.module(cse)' | FileCheck %s --check-prefix=CSE

// CHECK-LABEL: func.func @shapes
func.func @shapes(%x: tensor<?x4xf32, #relax.sym<["n", 4]>>) -> !relax.shape<["n", 4]> {
  // CHECK: "relax.shape_of"
  // CHECK-SAME: -> !relax.shape<["n", 4]>
  %0 = "relax.shape_of"(%x) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> !relax.shape<["n", 4]>
  // CHECK: "relax.shape_to_tensor"
  // CHECK-SAME: -> tensor<2xi64>
  %1 = "relax.shape_to_tensor"(%0) : (!relax.shape<["n", 4]>) -> tensor<2xi64>
  // CHECK: "relax.tensor_to_shape"
  // CHECK-SAME: -> !relax.shape<["?", "?"]>
  %2 = "relax.tensor_to_shape"(%1) : (tensor<2xi64>) -> !relax.shape<["?", "?"]>
  // CHECK: "relax.match_cast"
  // CHECK-SAME: -> !relax.shape<["m", 4]>
  %3 = "relax.match_cast"(%2) : (!relax.shape<["?", "?"]>) -> !relax.shape<["m", 4]>
  // CHECK: "relax.size"
  // CHECK-SAME: -> tensor<i64>
  %4 = "relax.size"(%x) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<i64>
  return %0 : !relax.shape<["n", 4]>
}

// CHECK-LABEL: func.func @expressions
func.func @expressions() -> (!relax.shape<[2, "n", "2*n"]>, !relax.shape<[]>, i64) {
  // CHECK: "relax.shape_expr"() {dims = [2, "n", "2*n"]} : () -> !relax.shape<[2, "n", "2*n"]>
  %0 = "relax.shape_expr"() {dims = [2, "n", "2*n"]} : () -> !relax.shape<[2, "n", "2*n"]>
  // CHECK: "relax.shape_expr"() {dims = []} : () -> !relax.shape<[]>
  %1 = "relax.shape_expr"() {dims = []} : () -> !relax.shape<[]>
  // CHECK: "relax.prim_value"() {value = "2*n"} : () -> i64
  %2 = "relax.prim_value"() {value = "2*n"} : () -> i64
  return %0, %1, %2 : !relax.shape<[2, "n", "2*n"]>, !relax.shape<[]>, i64
}

// CHECK-LABEL: func.func @unknown_ranks
func.func @unknown_ranks(%x: tensor<*xf32>, %dims: tensor<?xi64>, %object: !relax.object) {
  // CHECK: "relax.shape_of"
  // CHECK-SAME: -> !relax.shape<unit>
  %0 = "relax.shape_of"(%x) : (tensor<*xf32>) -> !relax.shape<unit>
  // CHECK: "relax.tensor_to_shape"
  // CHECK-SAME: -> !relax.shape<unit>
  %1 = "relax.tensor_to_shape"(%dims) : (tensor<?xi64>) -> !relax.shape<unit>
  // CHECK: "relax.shape_to_tensor"
  // CHECK-SAME: -> tensor<?xi64>
  %2 = "relax.shape_to_tensor"(%1) : (!relax.shape<unit>) -> tensor<?xi64>
  // CHECK: "relax.match_cast"
  // CHECK-SAME: (tensor<*xf32>) -> tensor<?x?xf32, #relax.sym<["n", "n"]>>
  %3 = "relax.match_cast"(%x) : (tensor<*xf32>) -> tensor<?x?xf32, #relax.sym<["n", "n"]>>
  // CHECK: "relax.match_cast"
  // CHECK-SAME: (!relax.object) -> tensor<4xf32>
  %4 = "relax.match_cast"(%object) : (!relax.object) -> tensor<4xf32>
  return
}

// The check of a match_cast stays where its result is not used; unused shapes are removed.
// CSE-LABEL: func.func @unused
func.func @unused(%x: tensor<*xf32>) {
  // CSE-NOT: relax.shape_of
  // CSE-COUNT-1: "relax.match_cast"
  // CSE-NEXT: return
  %0 = "relax.shape_of"(%x) : (tensor<*xf32>) -> !relax.shape<unit>
  %1 = "relax.match_cast"(%x) : (tensor<*xf32>) -> tensor<?xf32, #relax.sym<["n"]>>
  return
}

// CHECK-LABEL: func.func @scalars
func.func @scalars(%i: index, %b: i1) -> (tensor<i64>, tensor<i1>) {
  // CHECK: "relax.scalar_to_tensor"(%arg0) : (index) -> tensor<i64>
  %0 = "relax.scalar_to_tensor"(%i) : (index) -> tensor<i64>
  // CHECK: "relax.scalar_to_tensor"(%arg1) : (i1) -> tensor<i1>
  %1 = "relax.scalar_to_tensor"(%b) : (i1) -> tensor<i1>
  return %0, %1 : tensor<i64>, tensor<i1>
}
