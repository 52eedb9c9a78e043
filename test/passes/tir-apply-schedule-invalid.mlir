// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: relax-opt %s --tir-apply-schedule --split-input-file --verify-diagnostics

// Operations that cannot be written as loops around blocks.

// expected-error@+1 {{@f has branches between IR blocks, so it has no loops to schedule}}
func.func @f(%c: i1, %a: memref<8xf32>, %b: memref<8xf32>) attributes {tir.prim_func, tir.schedule = ["# schedule 1", "B = sch.get_block(\22f\22)"]} {
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  linalg.copy ins(%a : memref<8xf32>) outs(%b : memref<8xf32>)
  cf.br ^bb2
^bb2:
  return
}

// -----

// expected-error@+1 {{@f has no linalg operation: there is nothing to schedule}}
func.func @f(%a: memref<8xf32>) attributes {tir.prim_func, tir.schedule = ["# schedule 1", "B = sch.get_block(\22f\22)"]} {
  return
}

// -----

func.func private @g() -> memref<8xf32>
func.func @f(%a: memref<8xf32>) attributes {tir.prim_func, tir.schedule = ["# schedule 1", "B = sch.get_block(\22f\22)"]} {
  // expected-error@+1 {{@f has a 'func.call': only linalg operations, and views of their operands, can be scheduled}}
  %0 = call @g() : () -> memref<8xf32>
  linalg.copy ins(%0 : memref<8xf32>) outs(%a : memref<8xf32>)
  return
}

// -----

func.func @f(%a: memref<8xf32>) attributes {tir.prim_func, tir.schedule = ["# schedule 1", "B = sch.get_block(\22f\22)"]} {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%a : memref<8xf32>) {
  ^bb0(%x: f32):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    // expected-error@+1 {{the body of a block has a 'scf.for', which no schedule can move}}
    %0 = scf.for %i = %c0 to %c3 step %c1 iter_args(%sum = %x) -> f32 {
      %1 = arith.addf %sum, %sum : f32
      scf.yield %1 : f32
    }
    linalg.yield %0 : f32
  }
  return
}

// -----

// Nothing that is done besides is left out.
func.func @f(%a: memref<8xf32>, %b: memref<8xf32>) attributes {tir.prim_func, tir.schedule = ["# schedule 1", "B = sch.get_block(\22f\22)"]} {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%a : memref<8xf32>) {
  ^bb0(%x: f32):
    %i = linalg.index 0 : index
    // expected-error@+1 {{the body of a block has a 'memref.store', which no schedule can move}}
    memref.store %x, %b[%i] : memref<8xf32>
    %0 = arith.addf %x, %x : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

func.func @f(%a: memref<8xf32>) attributes {tir.prim_func, tir.schedule = ["# schedule 1", "B = sch.get_block(\22f\22)"]} {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%a : memref<8xf32>) {
  ^bb0(%x: f32):
    %zero = arith.constant 0.0 : f32
    %negative = arith.cmpf olt, %x, %zero : f32
    %0 = scf.if %negative -> f32 {
      // expected-error@+1 {{the body of a block has a 'tir.assert', which no schedule can move}}
      "tir.assert"(%negative) {message = "no"} : (i1) -> ()
      scf.yield %zero : f32
    } else {
      scf.yield %x : f32
    }
    linalg.yield %0 : f32
  }
  return
}

// -----

func.func @f(%a: memref<8xf32>) attributes {tir.prim_func, tir.schedule = ["# schedule 1", "B = sch.get_block(\22f\22)"]} {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%a : memref<8xf32>) {
  ^bb0(%x: f32):
    %c0 = arith.constant 0 : index
    %m = memref.alloca() : memref<1xf32>
    // expected-error@+1 {{a body reads an element of memory that is no parameter}}
    %0 = memref.load %m[%c0] : memref<1xf32>
    linalg.yield %0 : f32
  }
  return
}

// -----

func.func @f(%a: memref<8xf32>, %b: memref<2x4xf32>) attributes {tir.prim_func, tir.schedule = ["# schedule 1", "B = sch.get_block(\22f\22)"]} {
  %v = memref.collapse_shape %b [[0, 1]] : memref<2x4xf32> into memref<8xf32>
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%a : memref<8xf32>) {
  ^bb0(%x: f32):
    %i = linalg.index 0 : index
    // expected-error@+1 {{a body reads an element of a view at a computed index}}
    %0 = memref.load %v[%i] : memref<8xf32>
    linalg.yield %0 : f32
  }
  return
}
