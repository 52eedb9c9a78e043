// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: relax-opt %s --tir-apply-schedule --print-script | FileCheck %s

// sch.compute_inline: dimensions of one element.

// A dimension of one element is read at 0.
// CHECK-LABEL: def inlined(
// CHECK:     for i in range(4):
// CHECK-NEXT:         v0 = A[i]
// CHECK-NEXT:         v1 = v0 * v0
// CHECK-NEXT:         B[i] = v1 + v1
// CHECK-NEXT:     return
func.func @inlined(%a: memref<4xf32>, %b: memref<4xf32>) attributes {tir.prim_func, tir.schedule = ["# schedule 1", "B = sch.get_block(\22inlined\22)", "sch.compute_inline(B)"]} {
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
