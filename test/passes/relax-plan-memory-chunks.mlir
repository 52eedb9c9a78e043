// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: relax-opt %s --relax-plan-memory | FileCheck %s
// Loops that threads share in chunks, of a dynamic number of steps: a result overlaps an operand where no chunk
// reads what another one writes.

// CHECK-LABEL: func.func @main
// CHECK-SAME: slots = ["max(4*n + 4*n*n, 8*n*n)"]
func.func @main(%x: tensor<?x?xf32, #relax.sym<["n", "n"]>>) -> tensor<?xf32, #relax.sym<["n"]>> {
  // CHECK: {func = @same, relax.memory = ["slot 0;
  %a = "relax.call_tir"(%x) {func = @same} : (tensor<?x?xf32, #relax.sym<["n", "n"]>>) -> tensor<?x?xf32, #relax.sym<["n", "n"]>>
  // CHECK: {func = @same, relax.memory = ["operand 0;
  %b = "relax.call_tir"(%a) {func = @same} : (tensor<?x?xf32, #relax.sym<["n", "n"]>>) -> tensor<?x?xf32, #relax.sym<["n", "n"]>>
  // CHECK: {func = @next, relax.memory = ["slot 0 + 4*n*n;
  %c = "relax.call_tir"(%b) {func = @next} : (tensor<?x?xf32, #relax.sym<["n", "n"]>>) -> tensor<?x?xf32, #relax.sym<["n", "n"]>>
  // CHECK: {func = @turned, relax.memory = ["slot 0;
  %d = "relax.call_tir"(%c) {func = @turned} : (tensor<?x?xf32, #relax.sym<["n", "n"]>>) -> tensor<?x?xf32, #relax.sym<["n", "n"]>>
  // CHECK: {func = @sums, relax.memory = ["slot 0 + 4*n*n;
  %e = "relax.call_tir"(%d) {func = @sums} : (tensor<?x?xf32, #relax.sym<["n", "n"]>>) -> tensor<?xf32, #relax.sym<["n"]>>
  // CHECK: {func = @same_row, relax.memory = ["operand 0;
  %f = "relax.call_tir"(%e) {func = @same_row} : (tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32, #relax.sym<["n"]>>
  // CHECK: {func = @all_of_it, relax.memory = ["result 0;
  %g = "relax.call_tir"(%f) {func = @all_of_it} : (tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32, #relax.sym<["n"]>>
  return %g : tensor<?xf32, #relax.sym<["n"]>>
}

func.func private @same(%x: memref<?x?xf32>, %y: memref<?x?xf32>) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %z = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<?x?xf32>
  %part = arith.ceildivsi %n, %c8 : index
  %grain = arith.maxsi %part, %c1 : index
  scf.for %chunk = %c0 to %n step %grain {
    %left = arith.subi %n, %chunk : index
    %own = arith.minsi %grain, %left : index
    scf.for %k = %c0 to %own step %c1 {
      %i = arith.addi %chunk, %k : index
      scf.for %j = %c0 to %n step %c1 {
        %a = memref.load %x[%i, %j] : memref<?x?xf32>
        %b = arith.addf %a, %a : f32
        memref.store %b, %y[%i, %j] : memref<?x?xf32>
      }
    }
  } {tir.parallel = 1 : i64}
  return
}

func.func private @next(%x: memref<?x?xf32>, %y: memref<?x?xf32>) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %z = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<?x?xf32>
  %part = arith.ceildivsi %n, %c8 : index
  %grain = arith.maxsi %part, %c1 : index
  scf.for %chunk = %c0 to %n step %grain {
    %left = arith.subi %n, %chunk : index
    %own = arith.minsi %grain, %left : index
    scf.for %k = %c0 to %own step %c1 {
      %i = arith.addi %chunk, %k : index
      scf.for %j = %c0 to %n step %c1 {
        %o = arith.addi %i, %c1 : index
        %m = arith.remui %o, %n : index
        %a = memref.load %x[%m, %j] : memref<?x?xf32>
        %b = arith.addf %a, %a : f32
        memref.store %b, %y[%i, %j] : memref<?x?xf32>
      }
    }
  } {tir.parallel = 1 : i64}
  return
}

func.func private @turned(%x: memref<?x?xf32>, %y: memref<?x?xf32>) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %z = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<?x?xf32>
  %part = arith.ceildivsi %n, %c8 : index
  %grain = arith.maxsi %part, %c1 : index
  scf.for %chunk = %c0 to %n step %grain {
    %left = arith.subi %n, %chunk : index
    %own = arith.minsi %grain, %left : index
    scf.for %k = %c0 to %own step %c1 {
      %i = arith.addi %chunk, %k : index
      scf.for %j = %c0 to %n step %c1 {
        %a = memref.load %x[%j, %i] : memref<?x?xf32>
        %b = arith.addf %a, %a : f32
        memref.store %b, %y[%i, %j] : memref<?x?xf32>
      }
    }
  } {tir.parallel = 1 : i64}
  return
}

func.func private @sums(%x: memref<?x?xf32>, %y: memref<?xf32>) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %z = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<?x?xf32>
  %part = arith.ceildivsi %n, %c8 : index
  %grain = arith.maxsi %part, %c1 : index
  scf.for %chunk = %c0 to %n step %grain {
    %left = arith.subi %n, %chunk : index
    %own = arith.minsi %grain, %left : index
    scf.for %k = %c0 to %own step %c1 {
      %i = arith.addi %chunk, %k : index
      %s = scf.for %j = %c0 to %n step %c1 iter_args(%t = %z) -> (f32) {
        %a = memref.load %x[%i, %j] : memref<?x?xf32>
        %b = arith.addf %t, %a : f32
        scf.yield %b : f32
      }
      memref.store %s, %y[%i] : memref<?xf32>
    }
  } {tir.parallel = 1 : i64}
  return
}

func.func private @same_row(%x: memref<?xf32>, %y: memref<?xf32>) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %z = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<?xf32>
  %part = arith.ceildivsi %n, %c8 : index
  %grain = arith.maxsi %part, %c1 : index
  scf.for %chunk = %c0 to %n step %grain {
    %left = arith.subi %n, %chunk : index
    %own = arith.minsi %grain, %left : index
    scf.for %k = %c0 to %own step %c1 {
      %i = arith.addi %chunk, %k : index
      %a = memref.load %x[%i] : memref<?xf32>
      %b = arith.addf %a, %a : f32
      memref.store %b, %y[%i] : memref<?xf32>
    }
  } {tir.parallel = 1 : i64}
  return
}

func.func private @all_of_it(%x: memref<?xf32>, %y: memref<?xf32>) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %z = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<?xf32>
  %part = arith.ceildivsi %n, %c8 : index
  %grain = arith.maxsi %part, %c1 : index
  scf.for %chunk = %c0 to %n step %grain {
    %left = arith.subi %n, %chunk : index
    %own = arith.minsi %grain, %left : index
    scf.for %k = %c0 to %own step %c1 {
      %i = arith.addi %chunk, %k : index
      %s = scf.for %j = %c0 to %n step %c1 iter_args(%t = %z) -> (f32) {
        %a = memref.load %x[%j] : memref<?xf32>
        %b = arith.addf %t, %a : f32
        scf.yield %b : f32
      }
      memref.store %s, %y[%i] : memref<?xf32>
    }
  } {tir.parallel = 1 : i64}
  return
}
