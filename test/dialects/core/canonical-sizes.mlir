// RUN: relax-opt %s --relax-legalize-ops | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt --relax-legalize-ops | FileCheck %s
// Sizes may be written in any way: they are read into the one in which inference writes them, which rules compare.

// CHECK-LABEL: func.func private @signature(
// CHECK-SAME: tensor<?xf32, #relax.sym<["2*n"]>>
// CHECK-SAME: !relax.shape<["n + 1", 2]>
// CHECK-SAME: -> tensor<?xf32, #relax.sym<["k + m + n"]>>
func.func private @signature(tensor<?xf32, #relax.sym<["n+n"]>>, !relax.shape<["1+n", "2"]>) -> tensor<?xf32, #relax.sym<["n+m+k"]>>

// CHECK-LABEL: func.func @concat(
// CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["k + m + n", 4]>>
// CHECK: call_tir{{.*}} -> tensor<?x4xf32, #relax.sym<["k + m + n", 4]>>
// CHECK-NEXT: return
func.func @concat(%a: tensor<?x4xf32, #relax.sym<["n", 4]>>, %b: tensor<?x4xf32, #relax.sym<["m", 4]>>, %c: tensor<?x4xf32, #relax.sym<["k", "4"]>>) -> tensor<?x4xf32, #relax.sym<["n+m+k", 4]>> {
  %0 = "relax.concat"(%a, %b, %c) {axis = 0 : i64} : (tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<?x4xf32, #relax.sym<["m", 4]>>, tensor<?x4xf32, #relax.sym<["k", "4"]>>) -> tensor<?x4xf32, #relax.sym<["n+m+k", 4]>>
  return %0 : tensor<?x4xf32, #relax.sym<["n+m+k", 4]>>
}

// Numbers only are no symbols.
// CHECK-LABEL: func.func @numbers(
// CHECK-SAME: tensor<3x4xf32>) -> tensor<3x4xf32>
// CHECK: call_tir{{.*}} -> tensor<3x4xf32>
func.func @numbers(%x: tensor<3x4xf32, #relax.sym<[3, 4]>>) -> tensor<3x4xf32, #relax.sym<["3", 4]>> {
  %0 = "relax.exp"(%x) : (tensor<3x4xf32, #relax.sym<[3, 4]>>) -> tensor<3x4xf32, #relax.sym<["3", 4]>>
  return %0 : tensor<3x4xf32, #relax.sym<["3", 4]>>
}

// CHECK-LABEL: func.func @regions(
// CHECK: scf.if %{{.*}} -> (tensor<?xf32, #relax.sym<["n"]>>)
// CHECK-NOT: n*1
func.func @regions(%x: tensor<?xf32, #relax.sym<["n"]>>, %p: i1) -> tensor<?xf32, #relax.sym<["2*n//2"]>> {
  %0 = scf.if %p -> tensor<?xf32, #relax.sym<["n*1"]>> {
    %1 = "relax.exp"(%x) : (tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32, #relax.sym<["n*1"]>>
    scf.yield %1 : tensor<?xf32, #relax.sym<["n*1"]>>
  } else {
    %1 = "relax.negative"(%x) : (tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32, #relax.sym<["n*1"]>>
    scf.yield %1 : tensor<?xf32, #relax.sym<["n*1"]>>
  }
  %2 = "relax.abs"(%0) : (tensor<?xf32, #relax.sym<["n*1"]>>) -> tensor<?xf32, #relax.sym<["2*n//2"]>>
  return %2 : tensor<?xf32, #relax.sym<["2*n//2"]>>
}
