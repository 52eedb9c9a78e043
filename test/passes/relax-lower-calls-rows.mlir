// Rows that a counted loop collects are written to their final place: the loop neither concatenates nor carries them.

// RUN: relax-opt %s --relax-lower-calls | FileCheck %s

!row = tensor<1x4xf32>
!rows = tensor<?x4xf32>
!before = tensor<?x4xf32, #relax.sym<["n", 4]>>
!after = tensor<?x4xf32, #relax.sym<["n + 1", 4]>>
func.func @one(%x: memref<1x4xf32>, %out: memref<1x4xf32>) attributes {tir.prim_func} {
  return
}
func.func @join(%x: memref<?x4xf32>, %y: memref<1x4xf32>, %out: memref<?x4xf32>) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %n = memref.dim %x, %c0 : memref<?x4xf32>
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      %e = memref.load %x[%i, %j] : memref<?x4xf32>
      memref.store %e, %out[%i, %j] : memref<?x4xf32>
    }
  }
  scf.for %j = %c0 to %c4 step %c1 {
    %e = memref.load %y[%c0, %j] : memref<1x4xf32>
    memref.store %e, %out[%n, %j] : memref<?x4xf32>
  }
  return
}

// The output has one row per iteration, after zero initial rows. Each iteration computes its row in place.
// CHECK-LABEL: func.func @gathered(
// CHECK: %[[ROWS:[a-z_0-9]+]] = memref.alloc(%{{.*}}) {alignment = 64 : i64} : memref<?x4xf32>
// CHECK: scf.for %[[TURN:[a-z_0-9]+]] =
// CHECK-NOT: iter_args
// CHECK: builtin.unrealized_conversion_cast %{{.*}} : memref<?xf32> to memref<?xi8>
// CHECK: %[[ROW:[a-z_0-9]+]] = memref.view %{{.*}}[%{{.*}}][] : memref<?xi8> to memref<1x4xf32>
// CHECK: call @one(%arg0, %[[ROW]])
// CHECK-NOT: call
// CHECK: return
func.func @gathered(%x: !row, %count: i64) -> tensor<?x4xf32, #relax.sym<["m", 4]>> {
  %none = "relax.constant"() {value = dense<> : tensor<0x4xf32>} : () -> tensor<0x4xf32>
  %first = "relax.match_cast"(%none) : (tensor<0x4xf32>) -> !rows
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %all = scf.for %i = %c0 to %count step %c1 iter_args(%r = %first) -> (!rows) : i64 {
    %row = "relax.call_tir"(%x) {func = @one} : (!row) -> !row
    %had = "relax.match_cast"(%r) : (!rows) -> !before
    %joined = "relax.call_tir"(%had, %row) {func = @join} : (!before, !row) -> !after
    %next = "relax.match_cast"(%joined) : (!after) -> !rows
    scf.yield %next : !rows
  }
  %result = "relax.match_cast"(%all) : (!rows) -> tensor<?x4xf32, #relax.sym<["m", 4]>>
  return %result : tensor<?x4xf32, #relax.sym<["m", 4]>>
}

// If the loop's body reads the rows collected so far, they are carried.
// CHECK-LABEL: func.func @read_as_well(
// CHECK: scf.for {{.*}} iter_args(
// CHECK: call @join(
func.func @read_as_well(%x: !row, %count: i64) -> (tensor<?x4xf32, #relax.sym<["m", 4]>>, tensor<?x4xf32, #relax.sym<["k", 4]>>) {
  %none = "relax.constant"() {value = dense<> : tensor<0x4xf32>} : () -> tensor<0x4xf32>
  %first = "relax.match_cast"(%none) : (tensor<0x4xf32>) -> !rows
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %all:2 = scf.for %i = %c0 to %count step %c1 iter_args(%r = %first, %q = %first) -> (!rows, !rows) : i64 {
    %row = "relax.call_tir"(%x) {func = @one} : (!row) -> !row
    %had = "relax.match_cast"(%r) : (!rows) -> !before
    %joined = "relax.call_tir"(%had, %row) {func = @join} : (!before, !row) -> !after
    %next = "relax.match_cast"(%joined) : (!after) -> !rows
    scf.yield %next, %r : !rows, !rows
  }
  %result = "relax.match_cast"(%all#0) : (!rows) -> tensor<?x4xf32, #relax.sym<["m", 4]>>
  %before = "relax.match_cast"(%all#1) : (!rows) -> tensor<?x4xf32, #relax.sym<["k", 4]>>
  return %result, %before : tensor<?x4xf32, #relax.sym<["m", 4]>>, tensor<?x4xf32, #relax.sym<["k", 4]>>
}
