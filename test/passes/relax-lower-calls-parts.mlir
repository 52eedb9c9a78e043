// Parts of a small tensor of a loop are views of one buffer on the stack.

// RUN: relax-opt %s --pass-pipeline='relax-legalize-ops,tir-bufferize,relax-plan-memory,relax-lower-calls' | FileCheck %s

// CHECK-LABEL: func.func @joined(
// CHECK-NOT: memref.alloc(
// CHECK: %[[BYTES:[a-z_0-9]+]] = builtin.unrealized_conversion_cast %alloca{{[_0-9]*}} : memref<4xf32> to memref<?xi8>
// CHECK-NOT: memref.alloc(
// CHECK: scf.for %
// CHECK: memref.view %[[BYTES]][%c0{{[_0-9]*}}][] : memref<?xi8> to memref<2xf32>
// CHECK: memref.view %[[BYTES]][%c8{{[_0-9]*}}][] : memref<?xi8> to memref<2xf32>
// CHECK: memref.view %[[BYTES]][%c0{{[_0-9]*}}][] : memref<?xi8> to memref<4xf32>
// CHECK: return
func.func @joined(%x: tensor<4xf32>, %n: i64) -> tensor<4xf32> {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x) -> (tensor<4xf32>) : i64 {
    %a = "relax.strided_slice"(%p) {axes = array<i64: 0>, begin = array<i64: 0>, end = array<i64: 2>, strides = array<i64: 1>} : (tensor<4xf32>) -> tensor<2xf32>
    %b = "relax.strided_slice"(%p) {axes = array<i64: 0>, begin = array<i64: 2>, end = array<i64: 4>, strides = array<i64: 1>} : (tensor<4xf32>) -> tensor<2xf32>
    %c = "relax.flip"(%b) {axis = 0 : i64} : (tensor<2xf32>) -> tensor<2xf32>
    %d = "relax.flip"(%a) {axis = 0 : i64} : (tensor<2xf32>) -> tensor<2xf32>
    %e = "relax.concat"(%c, %d) {axis = 0 : i64} : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
    %f = "relax.flip"(%e) {axis = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %f : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// C has no arrays of several types: these parts are in the arena.
// CHECK-LABEL: func.func @several_types(
// CHECK: memref.alloc() {alignment = 64 : i64, relax.arena}
// CHECK: scf.for %
// CHECK: memref.view {{.*}} to memref<4xi32>
// CHECK: memref.view {{.*}} to memref<4xf32>
func.func @several_types(%x: tensor<4xf32>, %n: i64) -> tensor<4xf32> {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x) -> (tensor<4xf32>) : i64 {
    %a = "relax.astype"(%p) {dtype = i32} : (tensor<4xf32>) -> tensor<4xi32>
    %b = "relax.astype"(%a) {dtype = f32} : (tensor<4xi32>) -> tensor<4xf32>
    %c = "relax.flip"(%b) {axis = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %c : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
