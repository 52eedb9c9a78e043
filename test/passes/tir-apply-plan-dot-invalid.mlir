// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans with dot products that do not fit their operation, or the machine.
// RUN: relax-opt %s --tir-apply-plan='target=llvm{cpu=znver4}' --split-input-file --verify-diagnostics

// A group that no instruction has.
func.func @k(%a: tensor<9x8xi8>, %b: tensor<8x16xi8>, %out: tensor<9x16xi32>) -> tensor<9x16xi32> attributes {tir.prim_func} {
  // expected-error @+1 {{PrimFunc @k: tir.plan "order 1 0 2; carried 1; vector 1 x 16; dot 2: 2; rule own" does not fit the operation: the machine has no instruction for 16 sums of 2 products of u8 and s8}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<9x8xi8>, tensor<8x16xi8>) outs(%out : tensor<9x16xi32>) attrs = {tir.plan = "order 1 0 2; carried 1; vector 1 x 16; dot 2: 2; rule own"} {
    ^bb0(%p: i8, %q: i8, %r: i32):
      %s = arith.extui %p : i8 to i32
      %t = arith.extsi %q : i8 to i32
      %u = arith.muli %s, %t : i32
      %v = arith.addi %r, %u : i32
      linalg.yield %v : i32
  } -> tensor<9x16xi32>
  return %0 : tensor<9x16xi32>
}

// -----

// A reduction that keeps its sums in memory.
func.func @k(%a: tensor<9x8xi8>, %b: tensor<8x16xi8>, %out: tensor<9x16xi32>) -> tensor<9x16xi32> attributes {tir.prim_func} {
  // expected-error @+1 {{PrimFunc @k: tir.plan "order 1 0 2; vector 1 x 16; dot 2: 4; rule own" does not fit the operation: dot products need a carried reduction, not loop 2}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<9x8xi8>, tensor<8x16xi8>) outs(%out : tensor<9x16xi32>) attrs = {tir.plan = "order 1 0 2; vector 1 x 16; dot 2: 4; rule own"} {
    ^bb0(%p: i8, %q: i8, %r: i32):
      %s = arith.extui %p : i8 to i32
      %t = arith.extsi %q : i8 to i32
      %u = arith.muli %s, %t : i32
      %v = arith.addi %r, %u : i32
      linalg.yield %v : i32
  } -> tensor<9x16xi32>
  return %0 : tensor<9x16xi32>
}

// -----

// Rows without adjacent elements.
func.func @k(%a: tensor<8x9xi8>, %b: tensor<8x16xi8>, %out: tensor<9x16xi32>) -> tensor<9x16xi32> attributes {tir.prim_func} {
  // expected-error @+1 {{PrimFunc @k: tir.plan "order 1 0 2; carried 1; vector 1 x 16; dot 2: 4; rule own" does not fit the operation: dot products need contiguous elements along loop 2, of vectors along loop 1}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<8x9xi8>, tensor<8x16xi8>) outs(%out : tensor<9x16xi32>) attrs = {tir.plan = "order 1 0 2; carried 1; vector 1 x 16; dot 2: 4; rule own"} {
    ^bb0(%p: i8, %q: i8, %r: i32):
      %s = arith.extui %p : i8 to i32
      %t = arith.extsi %q : i8 to i32
      %u = arith.muli %s, %t : i32
      %v = arith.addi %r, %u : i32
      linalg.yield %v : i32
  } -> tensor<9x16xi32>
  return %0 : tensor<9x16xi32>
}

// -----

// Sums of a vector that are not adjacent.
func.func @k(%a: tensor<9x8xi8>, %b: tensor<8x16xi8>, %out: tensor<16x9xi32>) -> tensor<16x9xi32> attributes {tir.prim_func} {
  // expected-error @+1 {{PrimFunc @k: tir.plan "order 1 0 2; carried 1; vector 1 x 16; dot 2: 4; rule own" does not fit the operation: the sums of dot products would be stored element by element}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (j, i)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<9x8xi8>, tensor<8x16xi8>) outs(%out : tensor<16x9xi32>) attrs = {tir.plan = "order 1 0 2; carried 1; vector 1 x 16; dot 2: 4; rule own"} {
    ^bb0(%p: i8, %q: i8, %r: i32):
      %s = arith.extui %p : i8 to i32
      %t = arith.extsi %q : i8 to i32
      %u = arith.muli %s, %t : i32
      %v = arith.addi %r, %u : i32
      linalg.yield %v : i32
  } -> tensor<16x9xi32>
  return %0 : tensor<16x9xi32>
}

// -----

// Blocks that cut a group.
func.func @k(%a: tensor<9x8xi8>, %b: tensor<8x16xi8>, %out: tensor<9x16xi32>) -> tensor<9x16xi32> attributes {tir.prim_func} {
  // expected-error @+1 {{PrimFunc @k: tir.plan "order 1 0 2; carried 1; vector 1 x 16; blocks 2: 6; dot 2: 4; rule own" does not fit the operation: blocks of loop 2 are no multiples of 4}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<9x8xi8>, tensor<8x16xi8>) outs(%out : tensor<9x16xi32>) attrs = {tir.plan = "order 1 0 2; carried 1; vector 1 x 16; blocks 2: 6; dot 2: 4; rule own"} {
    ^bb0(%p: i8, %q: i8, %r: i32):
      %s = arith.extui %p : i8 to i32
      %t = arith.extsi %q : i8 to i32
      %u = arith.muli %s, %t : i32
      %v = arith.addi %r, %u : i32
      linalg.yield %v : i32
  } -> tensor<9x16xi32>
  return %0 : tensor<9x16xi32>
}

// -----

// Weights that lie as they are.
func.func @k(%a: tensor<9x8xi8>, %b: tensor<8x16xi8>, %out: tensor<9x16xi32>) -> tensor<9x16xi32> attributes {tir.prim_func} {
  // expected-error @+1 {{PrimFunc @k: tir.plan "order 1 0 2; carried 1; vector 1 x 16; dot 2: 4 packed; rule own" does not fit the operation: operand 1 is not unpacked from groups of 4 rows}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<9x8xi8>, tensor<8x16xi8>) outs(%out : tensor<9x16xi32>) attrs = {tir.plan = "order 1 0 2; carried 1; vector 1 x 16; dot 2: 4 packed; rule own"} {
    ^bb0(%p: i8, %q: i8, %r: i32):
      %s = arith.extui %p : i8 to i32
      %t = arith.extsi %q : i8 to i32
      %u = arith.muli %s, %t : i32
      %v = arith.addi %r, %u : i32
      linalg.yield %v : i32
  } -> tensor<9x16xi32>
  return %0 : tensor<9x16xi32>
}

// -----

// A panel that has no groups.
func.func @k(%a: tensor<9x8xi8>, %b: tensor<8x16xi8>, %out: tensor<9x16xi32>) -> tensor<9x16xi32> attributes {tir.prim_func} {
  // expected-error @+1 {{PrimFunc @k: tir.plan "order 1 0 2; carried 1; vector 1 x 16; panel 1 along 2: 8 packed; dot 2: 4; rule own" does not fit the operation: operand 1 is not unpacked from panels of 16 columns and groups of 4 rows}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<9x8xi8>, tensor<8x16xi8>) outs(%out : tensor<9x16xi32>) attrs = {tir.plan = "order 1 0 2; carried 1; vector 1 x 16; panel 1 along 2: 8 packed; dot 2: 4; rule own"} {
    ^bb0(%p: i8, %q: i8, %r: i32):
      %s = arith.extui %p : i8 to i32
      %t = arith.extsi %q : i8 to i32
      %u = arith.muli %s, %t : i32
      %v = arith.addi %r, %u : i32
      linalg.yield %v : i32
  } -> tensor<9x16xi32>
  return %0 : tensor<9x16xi32>
}

// -----

// Along the sum no sign is turned round.
func.func @k(%a: tensor<9x8xi8>, %b: tensor<16x8xi8>, %out: tensor<9x16xi32>) -> tensor<9x16xi32> attributes {tir.prim_func} {
  // expected-error @+1 {{PrimFunc @k: tir.plan "order 1 0 2; carried 1; vector 2 x 4; dot 2: 4; rule own" does not fit the operation: the machine has no instruction for 4 sums of 4 products of s8 and s8}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<9x8xi8>, tensor<16x8xi8>) outs(%out : tensor<9x16xi32>) attrs = {tir.plan = "order 1 0 2; carried 1; vector 2 x 4; dot 2: 4; rule own"} {
    ^bb0(%p: i8, %q: i8, %r: i32):
      %s = arith.extsi %p : i8 to i32
      %t = arith.extsi %q : i8 to i32
      %u = arith.muli %s, %t : i32
      %v = arith.addi %r, %u : i32
      linalg.yield %v : i32
  } -> tensor<9x16xi32>
  return %0 : tensor<9x16xi32>
}
