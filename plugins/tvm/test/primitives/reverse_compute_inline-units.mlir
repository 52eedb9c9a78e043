// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: relax-opt %s --tir-apply-schedule --print-script | FileCheck %s

// sch.reverse_compute_inline: dimensions of one element.

// CHECK-LABEL: def inlined_in_what_makes(
// CHECK:     for i in range(4):
// CHECK-NEXT:         v0 = A[i]
// CHECK-NEXT:         v1 = v0 * v0
// CHECK-NEXT:         B[i] = v1 + v1
// CHECK-NEXT:     return
func.func @inlined_in_what_makes(%a: memref<4xf32>, %b: memref<4xf32>) attributes {tir.prim_func, tir.schedule = ["# schedule 1", "C = sch.get_block(\22inlined_in_what_makes_1\22)", "sch.reverse_compute_inline(C)"]} {
  %v = memref.alloc() : memref<4x1xf32>
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0, 0)>], iterator_types = ["parallel"]} ins(%a : memref<4xf32>) outs(%v : memref<4x1xf32>) {
  ^bb0(%x: f32, %y: f32):
    %0 = arith.mulf %x, %x : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0, 0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v : memref<4x1xf32>) outs(%b : memref<4xf32>) {
  ^bb0(%x: f32, %y: f32):
    %0 = arith.addf %x, %x : f32
    linalg.yield %0 : f32
  }
  return
}
