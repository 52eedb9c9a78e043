// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s
// RUN: relax-opt %s --pass-pipeline='builtin.module(cse)' | FileCheck %s --check-prefix=CSE

func.func private @copy(tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32> attributes {tir.prim_func}
func.func private @split(memref<8xf32>, memref<4xf32>, memref<?xf32>) attributes {tir.prim_func}
func.func private @scale(tensor<4xf32>, f32, tensor<4xf32>) -> tensor<4xf32> attributes {tir.prim_func}
module @library {
  func.func private @inner(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> attributes {tir.prim_func}
}

// CHECK-LABEL: func.func @call_tir
func.func @call_tir(%x: tensor<?x4xf32, #relax.sym<["n", 4]>>, %y: tensor<8xf32>, %z: tensor<4xf32>, %s: f32) {
  // CHECK: "relax.call_tir"(%{{.*}}) {func = @copy}
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %0 = "relax.call_tir"(%x) {func = @copy}
      : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.call_tir"(%{{.*}}) {func = @split} : (tensor<8xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %1:2 = "relax.call_tir"(%y) {func = @split} : (tensor<8xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  // CHECK: "relax.call_tir"(%{{.*}}) {func = @scale} : (tensor<4xf32>, f32) -> tensor<4xf32>
  %2 = "relax.call_tir"(%z, %s) {func = @scale} : (tensor<4xf32>, f32) -> tensor<4xf32>
  // CHECK: "relax.call_tir"(%{{.*}}) {func = @library::@inner} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = "relax.call_tir"(%z) {func = @library::@inner} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @call_tir_inplace
func.func @call_tir_inplace(%x: tensor<8xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: "relax.call_tir_inplace"(%{{.*}}, %{{.*}}) {func = @split, inplace_indices = array<i64: 1, -1>}
  // CHECK-SAME: (tensor<8xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %0:2 = "relax.call_tir_inplace"(%x, %y) {func = @split, inplace_indices = array<i64: 1, -1>}
      : (tensor<8xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @packed
func.func @packed(%x: tensor<4xf32>, %i: i64, %o: !relax.object, %s: !relax.shape<["n", 2]>) {
  // CHECK: "relax.call_dps_packed"(%{{.*}}, %{{.*}}) {func = "lib.f"}
  // CHECK-SAME: (tensor<4xf32>, i64) -> (tensor<4xf32>, tensor<?xi8, #relax.sym<["n"]>>)
  %0:2 = "relax.call_dps_packed"(%x, %i) {func = "lib.f"}
      : (tensor<4xf32>, i64) -> (tensor<4xf32>, tensor<?xi8, #relax.sym<["n"]>>)
  // CHECK: "relax.call_pure_packed"
  // CHECK-SAME: (!relax.object, !relax.shape<["n", 2]>) -> !relax.object
  %1 = "relax.call_pure_packed"(%o, %s) {func = "lib.g"} : (!relax.object, !relax.shape<["n", 2]>) -> !relax.object
  // CHECK: "relax.call_packed"
  // CHECK-SAME: () -> ()
  "relax.call_packed"() {func = "lib.h"} : () -> ()
  // CHECK: "relax.call_packed"
  // CHECK-SAME: (tensor<4xf32>) -> (i64, tensor<*xf32>)
  %2:2 = "relax.call_packed"(%x) {func = "lib.h"} : (tensor<4xf32>) -> (i64, tensor<*xf32>)
  // CHECK: "relax.call_inplace_packed"(%{{.*}}, %{{.*}}) {func = "lib.k", inplace_indices = array<i64: 0>}
  // CHECK-SAME: (tensor<4xf32>, i64) -> tensor<4xf32>
  %3 = "relax.call_inplace_packed"(%x, %i) {func = "lib.k", inplace_indices = array<i64: 0>}
      : (tensor<4xf32>, i64) -> tensor<4xf32>
  return
}

// Unused calls are removed, two equal calls become one, and a packed function that may have effects stays.
// CSE-LABEL: func.func @unused
func.func @unused(%x: tensor<8xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CSE-COUNT-1: "relax.call_tir"
  %0:2 = "relax.call_tir"(%x) {func = @split} : (tensor<8xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %1:2 = "relax.call_tir"(%x) {func = @split} : (tensor<8xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  // CSE-NOT: relax.call_pure_packed
  %2 = "relax.call_pure_packed"(%x) {func = "lib.f"} : (tensor<8xf32>) -> i64
  // CSE-COUNT-2: "relax.call_packed"
  %3 = "relax.call_packed"(%x) {func = "lib.g"} : (tensor<8xf32>) -> i64
  %4 = "relax.call_packed"(%x) {func = "lib.g"} : (tensor<8xf32>) -> i64
  // CSE-NEXT: return %[[CALL:.*]]#0, %[[CALL]]#1
  return %0#0, %1#1 : tensor<4xf32>, tensor<4xf32>
}

module @part attributes {relax.codegen = "npu"} {
  func.func @f(%x: tensor<?x4xf32, #relax.sym<["n", 4]>>, %i: i64) -> tensor<?x4xf32, #relax.sym<["n", 4]>> {
    return %x : tensor<?x4xf32, #relax.sym<["n", 4]>>
  }
}

// Symbols are names within one function. An external module stays as it is, its calls are like others.
// CHECK-LABEL: func.func @external
// CSE-LABEL: func.func @external
func.func @external(%x: tensor<?x4xf32, #relax.sym<["m", 4]>>, %i: i64) -> tensor<?x4xf32, #relax.sym<["m", 4]>> {
  // CHECK: "relax.call_external"(%{{.*}}, %{{.*}}) {func = @part::@f} : (tensor<?x4xf32, #relax.sym<["m", 4]>>, i64)
  // CSE-COUNT-1: "relax.call_external"
  %0 = "relax.call_external"(%x, %i) {func = @part::@f}
      : (tensor<?x4xf32, #relax.sym<["m", 4]>>, i64) -> tensor<?x4xf32, #relax.sym<["m", 4]>>
  %1 = "relax.call_external"(%x, %i) {func = @part::@f}
      : (tensor<?x4xf32, #relax.sym<["m", 4]>>, i64) -> tensor<?x4xf32, #relax.sym<["m", 4]>>
  return %0 : tensor<?x4xf32, #relax.sym<["m", 4]>>
}
