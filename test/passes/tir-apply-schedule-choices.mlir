// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: relax-opt %s --tir-apply-schedule --print-script | FileCheck %s

// Selects in the computation of blocks.

// Only the selected one of two values is computed.
// CHECK-LABEL: def one_of_two(
// CHECK:     for i in range(4):
// CHECK-NEXT:         v0 = A[i]
// CHECK-NEXT:         if v0 < 0.0:
// CHECK-NEXT:             v1 = math.exp(v0)
// CHECK-NEXT:         else:
// CHECK-NEXT:             v1 = v0 + v0
// CHECK-NEXT:         B[i] = v1
// CHECK-NEXT:     return
func.func @one_of_two(%a: memref<4xf32>, %b: memref<4xf32>) attributes {tir.prim_func, tir.schedule = ["# schedule 1", "B = sch.get_block(\22one_of_two\22)"]} {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%a : memref<4xf32>) outs(%b : memref<4xf32>) {
  ^bb0(%x: f32, %y: f32):
    %zero = arith.constant 0.0 : f32
    %negative = arith.cmpf olt, %x, %zero : f32
    %0 = scf.if %negative -> f32 {
      %1 = math.exp %x : f32
      scf.yield %1 : f32
    } else {
      %1 = arith.addf %x, %x : f32
      scf.yield %1 : f32
    }
    linalg.yield %0 : f32
  }
  return
}

// In lanes one after the other.
// CHECK-LABEL: def in_lanes(
// CHECK:     v0 = A[0]
// CHECK-NEXT:     if v0 < 0.0:
// CHECK-NEXT:         v1 = math.exp(v0)
// CHECK-NEXT:     else:
// CHECK-NEXT:         v1 = v0 + v0
// CHECK-NEXT:     B[0] = v1
// CHECK-NEXT:     v2 = A[1]
// CHECK-NEXT:     if v2 < 0.0:
// CHECK-NEXT:         v3 = math.exp(v2)
// CHECK-NEXT:     else:
// CHECK-NEXT:         v3 = v2 + v2
// CHECK-NEXT:     B[1] = v3
// CHECK-NEXT:     return
func.func @in_lanes(%a: memref<2xf32>, %b: memref<2xf32>) attributes {tir.prim_func, tir.schedule = ["# schedule 1", "B = sch.get_block(\22in_lanes\22)", "i, = sch.get_loops(B)", "sch.vectorize(i)"]} {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%a : memref<2xf32>) outs(%b : memref<2xf32>) {
  ^bb0(%x: f32, %y: f32):
    %zero = arith.constant 0.0 : f32
    %negative = arith.cmpf olt, %x, %zero : f32
    %0 = scf.if %negative -> f32 {
      %1 = math.exp %x : f32
      scf.yield %1 : f32
    } else {
      %1 = arith.addf %x, %x : f32
      scf.yield %1 : f32
    }
    linalg.yield %0 : f32
  }
  return
}
