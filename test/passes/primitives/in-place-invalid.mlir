// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: relax-opt %s --tir-apply-schedule --split-input-file --verify-diagnostics

// Blocks that overwrite elements that they read elsewhere must run once, in their present order.

// expected-note@+2 {{the loops as they stand}}
// expected-error@+1 {{reorder(i_1, i_0): 'f' reads 'arg0', which is written in the same loops}}
func.func @f(%a: memref<8xf32>) attributes {tir.prim_func, tir.schedule = ["# schedule 1", "B = sch.get_block(\22f\22)", "i, = sch.get_loops(B)", "a, b = sch.split(i, [2, 4])", "sch.reorder(b, a)"]} {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (7 - d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%a : memref<8xf32>) outs(%a : memref<8xf32>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  }
  return
}

// -----

// expected-note@+2 {{the loops as they stand}}
// expected-error@+1 {{compute_at(f, i_1): 'f' overwrites 'f', which it reads: it can run only once}}
func.func @f(%b: memref<8xf32>) attributes {tir.prim_func, tir.schedule = ["# schedule 1", "A = sch.get_block(\22f\22)", "B = sch.get_block(\22f_1\22)", "i, = sch.get_loops(B)", "sch.compute_at(A, i)"]} {
  %a = memref.alloc() : memref<8xf32>
  linalg.generic {indexing_maps = [affine_map<(d0) -> (7 - d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%a : memref<8xf32>) outs(%a : memref<8xf32>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  }
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%a : memref<8xf32>) outs(%b : memref<8xf32>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  }
  return
}

// -----

// expected-note@+2 {{the loops as they stand}}
// expected-error@+1 {{compute_inline(f): 'f' depends on previous values of 'f': it can run only once}}
func.func @f(%b: memref<8xf32>) attributes {tir.prim_func, tir.schedule = ["# schedule 1", "A = sch.get_block(\22f\22)", "sch.compute_inline(A)"]} {
  %a = memref.alloc() : memref<8xf32>
  linalg.generic {indexing_maps = [affine_map<(d0) -> (7 - d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%a : memref<8xf32>) outs(%a : memref<8xf32>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  }
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%a : memref<8xf32>) outs(%b : memref<8xf32>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  }
  return
}
