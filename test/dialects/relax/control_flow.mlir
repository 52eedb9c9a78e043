// Control flow on the graph level is upstream's scf, on tensors; upstream's passes see through it.
// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s
// RUN: relax-opt %s --pass-pipeline='builtin.module(canonicalize,cse)' | FileCheck %s --check-prefix=CLEAN

// CHECK-LABEL: func.func @branch
// CLEAN-LABEL: func.func @branch
func.func @branch(%c: i1, %x: tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>> {
  // CHECK: scf.if %{{.*}} -> (tensor<?x4xf32, #relax.sym<["n", 4]>>)
  // CHECK: "relax.exp"
  // CLEAN: scf.if
  // CLEAN-NEXT: "relax.exp"
  // CLEAN-NEXT: scf.yield
  %r = scf.if %c -> (tensor<?x4xf32, #relax.sym<["n", 4]>>) {
    %0 = "relax.exp"(%x) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
    %dead = "relax.sin"(%x) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
    scf.yield %0 : tensor<?x4xf32, #relax.sym<["n", 4]>>
  } else {
    scf.yield %x : tensor<?x4xf32, #relax.sym<["n", 4]>>
  }
  return %r : tensor<?x4xf32, #relax.sym<["n", 4]>>
}

// CHECK-LABEL: func.func @loop
// CLEAN-LABEL: func.func @loop
func.func @loop(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %ten = arith.constant 10 : index
  // CHECK: scf.for {{.*}} iter_args({{.*}}) -> (tensor<4xf32>)
  // CLEAN: scf.for
  // CLEAN-NEXT: %[[ONCE:.*]] = "relax.tanh"
  // CLEAN-NEXT: "relax.add"(%[[ONCE]], %[[ONCE]])
  // CLEAN-NEXT: scf.yield
  %r = scf.for %i = %zero to %ten step %one iter_args(%v = %x) -> (tensor<4xf32>) {
    %0 = "relax.tanh"(%v) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "relax.tanh"(%v) : (tensor<4xf32>) -> tensor<4xf32>
    %2 = "relax.add"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %2 : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
