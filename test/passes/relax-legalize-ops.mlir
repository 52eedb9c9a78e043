// RUN: relax-opt %s --relax-legalize-ops | FileCheck %s
// RUN: relax-opt %s --pass-pipeline='builtin.module(relax-legalize-ops{target=llvm skip-ops=relax.exp},tir-lower-intrinsics)' | FileCheck %s --check-prefix=SKIP

// Operators become calls of PrimFuncs; equal ones share one; symbols stay in the graph.
// CHECK-LABEL: func.func @shared
// CHECK: %[[A:.*]] = "relax.call_tir"(%arg0, %arg1) {func = @add} : {{.*}} -> tensor<?x4xf32, #relax.sym<["n", 4]>>
// CHECK: %[[B:.*]] = "relax.call_tir"(%[[A]], %arg1) {func = @add}
// CHECK: "relax.call_tir"(%[[B]]) {func = @exp}
// SKIP-LABEL: func.func @shared
// SKIP: "relax.call_tir"
// SKIP: "relax.exp"
func.func @shared(%x: tensor<?x4xf32, #relax.sym<["n", 4]>>, %b: tensor<4xf32>) -> tensor<?x4xf32, #relax.sym<["n", 4]>> {
  %0 = "relax.add"(%x, %b) : (tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %1 = "relax.add"(%0, %b) : (tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %2 = "relax.exp"(%1) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  return %2 : tensor<?x4xf32, #relax.sym<["n", 4]>>
}

// Names are told apart, from other functions' too; types are signless inside, and the operations know the sign.
// CHECK-LABEL: func.func @unsigned
// CHECK: "relax.call_tir"(%arg0, %arg0) {func = @divide_1} : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
func.func @unsigned(%u: tensor<4xui8>) -> tensor<4xui8> {
  %0 = "relax.divide"(%u, %u) : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  return %0 : tensor<4xui8>
}
func.func private @divide()

// CHECK: func.func private @add(%arg0: tensor<?x4xf32>, %arg1: tensor<4xf32>, %arg2: tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-SAME: tir.op_pattern = "broadcast", tir.prim_func
// CHECK: linalg.generic
// CHECK: arith.addf
// CHECK: func.func private @exp
// CHECK-SAME: tir.op_pattern = "elemwise"
// CHECK: "tir.exp"
// CHECK: func.func private @divide_1(%arg0: tensor<4xi8>, %arg1: tensor<4xi8>, %arg2: tensor<4xi8>)
// CHECK: arith.divui
