// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans with tiles that do not fit their operation, or the machine.
// RUN: relax-opt %s --tir-apply-plan='target=llvm{triple=x86_64-linux-gnu cpu=sapphirerapids}' --split-input-file --verify-diagnostics

// Tiles of a size that no instruction has.
func.func @k(%a: tensor<20x8xi8>, %b: tensor<8x50xi8>, %out: tensor<20x50xi32>) -> tensor<20x50xi32> attributes {tir.prim_func} {
  // expected-error @+1 {{PrimFunc @k: tir.plan "order 0 1 2; carried 1; vector 1 x 16; panel 1 along 2: 8; dot 2: 4; tiles 0: 8; rule own" does not fit the operation: the machine has no instruction for sums of products of u8 and s8 in i32 on tiles of 8 rows}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<20x8xi8>, tensor<8x50xi8>) outs(%out : tensor<20x50xi32>) attrs = {tir.plan = "order 0 1 2; carried 1; vector 1 x 16; panel 1 along 2: 8; dot 2: 4; tiles 0: 8; rule own"} {
    ^bb0(%p: i8, %q: i8, %r: i32):
      %s = arith.extui %p : i8 to i32
      %t = arith.extsi %q : i8 to i32
      %u = arith.muli %s, %t : i32
      %v = arith.addi %r, %u : i32
      linalg.yield %v : i32
  } -> tensor<20x50xi32>
  return %0 : tensor<20x50xi32>
}

// -----

// Groups that none has.
func.func @k(%a: tensor<20x8xi8>, %b: tensor<8x50xi8>, %out: tensor<20x50xi32>) -> tensor<20x50xi32> attributes {tir.prim_func} {
  // expected-error @+1 {{PrimFunc @k: tir.plan "order 0 1 2; carried 1; vector 1 x 16; panel 1 along 2: 8; dot 2: 2; tiles 0: 16; rule own" does not fit the operation: the machine has no instruction for tiles of 16 rows, 16 columns and groups of 2 of u8 and s8}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<20x8xi8>, tensor<8x50xi8>) outs(%out : tensor<20x50xi32>) attrs = {tir.plan = "order 0 1 2; carried 1; vector 1 x 16; panel 1 along 2: 8; dot 2: 2; tiles 0: 16; rule own"} {
    ^bb0(%p: i8, %q: i8, %r: i32):
      %s = arith.extui %p : i8 to i32
      %t = arith.extsi %q : i8 to i32
      %u = arith.muli %s, %t : i32
      %v = arith.addi %r, %u : i32
      linalg.yield %v : i32
  } -> tensor<20x50xi32>
  return %0 : tensor<20x50xi32>
}

// -----

// Rows that are columns.
func.func @k(%a: tensor<20x8xi8>, %b: tensor<8x50xi8>, %out: tensor<20x50xi32>) -> tensor<20x50xi32> attributes {tir.prim_func} {
  // expected-error @+1 {{PrimFunc @k: tir.plan "order 0 1 2; carried 1; vector 1 x 16; panel 1 along 2: 8; dot 2: 4; tiles 1: 16; rule own" does not fit the operation: loop 1 has no rows for tiles: only operand 0 may use it}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<20x8xi8>, tensor<8x50xi8>) outs(%out : tensor<20x50xi32>) attrs = {tir.plan = "order 0 1 2; carried 1; vector 1 x 16; panel 1 along 2: 8; dot 2: 4; tiles 1: 16; rule own"} {
    ^bb0(%p: i8, %q: i8, %r: i32):
      %s = arith.extui %p : i8 to i32
      %t = arith.extsi %q : i8 to i32
      %u = arith.muli %s, %t : i32
      %v = arith.addi %r, %u : i32
      linalg.yield %v : i32
  } -> tensor<20x50xi32>
  return %0 : tensor<20x50xi32>
}

// -----

// Rows inside of the columns' loop.
func.func @k(%a: tensor<20x8xi8>, %b: tensor<8x50xi8>, %out: tensor<20x50xi32>) -> tensor<20x50xi32> attributes {tir.prim_func} {
  // expected-error @+1 {{PrimFunc @k: tir.plan "order 1 0 2; carried 1; vector 1 x 16; panel 1 along 2: 8; dot 2: 4; tiles 0: 16; rule own" does not fit the operation: rows of tiles are copied outside of the columns' loop: loop 0 is inside}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<20x8xi8>, tensor<8x50xi8>) outs(%out : tensor<20x50xi32>) attrs = {tir.plan = "order 1 0 2; carried 1; vector 1 x 16; panel 1 along 2: 8; dot 2: 4; tiles 0: 16; rule own"} {
    ^bb0(%p: i8, %q: i8, %r: i32):
      %s = arith.extui %p : i8 to i32
      %t = arith.extsi %q : i8 to i32
      %u = arith.muli %s, %t : i32
      %v = arith.addi %r, %u : i32
      linalg.yield %v : i32
  } -> tensor<20x50xi32>
  return %0 : tensor<20x50xi32>
}

// -----

// Columns that are not copied.
func.func @k(%a: tensor<20x8xi8>, %b: tensor<8x50xi8>, %out: tensor<20x50xi32>) -> tensor<20x50xi32> attributes {tir.prim_func} {
  // expected-error @+1 {{PrimFunc @k: tir.plan "order 0 1 2; carried 1; vector 1 x 16; dot 2: 4; tiles 0: 16; rule own" does not fit the operation: tiles of a product need a panel as long as its reduction}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<20x8xi8>, tensor<8x50xi8>) outs(%out : tensor<20x50xi32>) attrs = {tir.plan = "order 0 1 2; carried 1; vector 1 x 16; dot 2: 4; tiles 0: 16; rule own"} {
    ^bb0(%p: i8, %q: i8, %r: i32):
      %s = arith.extui %p : i8 to i32
      %t = arith.extsi %q : i8 to i32
      %u = arith.muli %s, %t : i32
      %v = arith.addi %r, %u : i32
      linalg.yield %v : i32
  } -> tensor<20x50xi32>
  return %0 : tensor<20x50xi32>
}

// -----

// Blocks that cut steps.
func.func @k(%a: tensor<20x8xi8>, %b: tensor<8x50xi8>, %out: tensor<20x50xi32>) -> tensor<20x50xi32> attributes {tir.prim_func} {
  // expected-error @+1 {{PrimFunc @k: tir.plan "order 0 1 2; carried 1; vector 1 x 16; tile 1: 2; blocks 1: 48; panel 1 along 2: 8; dot 2: 4; tiles 0: 16; rule own" does not fit the operation: blocks of tiles must consist of whole steps, and must not split the reduction}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<20x8xi8>, tensor<8x50xi8>) outs(%out : tensor<20x50xi32>) attrs = {tir.plan = "order 0 1 2; carried 1; vector 1 x 16; tile 1: 2; blocks 1: 48; panel 1 along 2: 8; dot 2: 4; tiles 0: 16; rule own"} {
    ^bb0(%p: i8, %q: i8, %r: i32):
      %s = arith.extui %p : i8 to i32
      %t = arith.extsi %q : i8 to i32
      %u = arith.muli %s, %t : i32
      %v = arith.addi %r, %u : i32
      linalg.yield %v : i32
  } -> tensor<20x50xi32>
  return %0 : tensor<20x50xi32>
}

// -----

// A sum of unknown length.
func.func @k(%a: tensor<20x?xi8>, %b: tensor<?x50xi8>, %out: tensor<20x50xi32>) -> tensor<20x50xi32> attributes {tir.prim_func} {
  // expected-error @+1 {{PrimFunc @k: tir.plan "order 0 1 2; carried 1; vector 1 x 16; panel 1 along 2: 8; dot 2: 4; tiles 0: 16; rule own" does not fit the operation: tiles need reductions of known sizes, all of them carried}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<20x?xi8>, tensor<?x50xi8>) outs(%out : tensor<20x50xi32>) attrs = {tir.plan = "order 0 1 2; carried 1; vector 1 x 16; panel 1 along 2: 8; dot 2: 4; tiles 0: 16; rule own"} {
    ^bb0(%p: i8, %q: i8, %r: i32):
      %s = arith.extui %p : i8 to i32
      %t = arith.extsi %q : i8 to i32
      %u = arith.muli %s, %t : i32
      %v = arith.addi %r, %u : i32
      linalg.yield %v : i32
  } -> tensor<20x50xi32>
  return %0 : tensor<20x50xi32>
}

// -----

// Tiles without a dot.
func.func @k(%a: tensor<20x8xi8>, %b: tensor<8x50xi8>, %out: tensor<20x50xi32>) -> tensor<20x50xi32> attributes {tir.prim_func} {
  // expected-error @+1 {{PrimFunc @k: tir.plan "order 0 1 2; carried 1; vector 1 x 16; panel 1 along 2: 8; tiles 0: 16; rule own" does not fit the operation: tiles need dot products, but the plan has none}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<20x8xi8>, tensor<8x50xi8>) outs(%out : tensor<20x50xi32>) attrs = {tir.plan = "order 0 1 2; carried 1; vector 1 x 16; panel 1 along 2: 8; tiles 0: 16; rule own"} {
    ^bb0(%p: i8, %q: i8, %r: i32):
      %s = arith.extui %p : i8 to i32
      %t = arith.extsi %q : i8 to i32
      %u = arith.muli %s, %t : i32
      %v = arith.addi %r, %u : i32
      linalg.yield %v : i32
  } -> tensor<20x50xi32>
  return %0 : tensor<20x50xi32>
}

// -----

// A convolution with a number of taps that does not fill tiles.
func.func @k(%x: tensor<2x12x16xi8>, %w: tensor<2x2x3x16x16xi8>, %out: tensor<10x2x16xi32>) -> tensor<10x2x16xi32> attributes {tir.prim_func} {
  // expected-error @+1 {{PrimFunc @k: tir.plan "order 1 0 2 3 4 5; carried 3; vector 2 x 16; dot 5: 4; tiles 1: 16; rule own" does not fit the operation: the reductions are no multiples of tiles of 64 steps}}
  %0 = linalg.generic {indexing_maps = [affine_map<(o, p, v, b, t, c) -> (b, p + t, c)>, affine_map<(o, p, v, b, t, c) -> (o, b, t, c, v)>, affine_map<(o, p, v, b, t, c) -> (p, o, v)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<2x12x16xi8>, tensor<2x2x3x16x16xi8>) outs(%out : tensor<10x2x16xi32>) attrs = {tir.plan = "order 1 0 2 3 4 5; carried 3; vector 2 x 16; dot 5: 4; tiles 1: 16; rule own"} {
    ^bb0(%p: i8, %q: i8, %r: i32):
      %s = arith.extui %p : i8 to i32
      %t = arith.extsi %q : i8 to i32
      %u = arith.muli %s, %t : i32
      %v = arith.addi %r, %u : i32
      linalg.yield %v : i32
  } -> tensor<10x2x16xi32>
  return %0 : tensor<10x2x16xi32>
}

// -----

// Weights that have a reduction outside of the blocks.
func.func @k(%x: tensor<2x12x32xi8>, %w: tensor<2x2x3x32x16xi8>, %out: tensor<10x2x16xi32>) -> tensor<10x2x16xi32> attributes {tir.prim_func} {
  // expected-error @+1 {{PrimFunc @k: tir.plan "order 1 0 2 3 4 5; carried 3; vector 2 x 16; dot 5: 4; tiles 1: 16; rule own" does not fit the operation: operand 1 has no blocks of columns, with all reductions in each, for tiles}}
  %0 = linalg.generic {indexing_maps = [affine_map<(o, p, v, b, t, c) -> (b, p + t, c)>, affine_map<(o, p, v, b, t, c) -> (b, o, t, c, v)>, affine_map<(o, p, v, b, t, c) -> (p, o, v)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<2x12x32xi8>, tensor<2x2x3x32x16xi8>) outs(%out : tensor<10x2x16xi32>) attrs = {tir.plan = "order 1 0 2 3 4 5; carried 3; vector 2 x 16; dot 5: 4; tiles 1: 16; rule own"} {
    ^bb0(%p: i8, %q: i8, %r: i32):
      %s = arith.extui %p : i8 to i32
      %t = arith.extsi %q : i8 to i32
      %u = arith.muli %s, %t : i32
      %v = arith.addi %r, %u : i32
      linalg.yield %v : i32
  } -> tensor<10x2x16xi32>
  return %0 : tensor<10x2x16xi32>
}

// -----

// A batch inside of the rows' loop.
func.func @k(%a: tensor<2x20x8xi8>, %b: tensor<2x8x50xi8>, %out: tensor<2x20x50xi32>) -> tensor<2x20x50xi32> attributes {tir.prim_func} {
  // expected-error @+1 {{PrimFunc @k: tir.plan "order 1 0 2 3; carried 1; vector 2 x 16; panel 1 along 3: 8; dot 3: 4; tiles 1: 16; rule own" does not fit the operation: tiles of rows are copied in loop 1: a loop inside of it needs other rows}}
  %0 = linalg.generic {indexing_maps = [affine_map<(n, i, j, k) -> (n, i, k)>, affine_map<(n, i, j, k) -> (n, k, j)>, affine_map<(n, i, j, k) -> (n, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<2x20x8xi8>, tensor<2x8x50xi8>) outs(%out : tensor<2x20x50xi32>) attrs = {tir.plan = "order 1 0 2 3; carried 1; vector 2 x 16; panel 1 along 3: 8; dot 3: 4; tiles 1: 16; rule own"} {
    ^bb0(%p: i8, %q: i8, %r: i32):
      %s = arith.extui %p : i8 to i32
      %t = arith.extsi %q : i8 to i32
      %u = arith.muli %s, %t : i32
      %v = arith.addi %r, %u : i32
      linalg.yield %v : i32
  } -> tensor<2x20x50xi32>
  return %0 : tensor<2x20x50xi32>
}

// -----

// A batch of columns inside of the rows' loop.
func.func @k(%a: tensor<20x8xi8>, %b: tensor<2x8x50xi8>, %out: tensor<2x20x50xi32>) -> tensor<2x20x50xi32> attributes {tir.prim_func} {
  // expected-error @+1 {{PrimFunc @k: tir.plan "order 1 0 2 3; carried 1; vector 2 x 16; panel 1 along 3: 8; dot 3: 4; tiles 1: 16; rule own" does not fit the operation: the panel is copied outside of loop 1: a loop inside of it needs other columns}}
  %0 = linalg.generic {indexing_maps = [affine_map<(n, i, j, k) -> (i, k)>, affine_map<(n, i, j, k) -> (n, k, j)>, affine_map<(n, i, j, k) -> (n, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<20x8xi8>, tensor<2x8x50xi8>) outs(%out : tensor<2x20x50xi32>) attrs = {tir.plan = "order 1 0 2 3; carried 1; vector 2 x 16; panel 1 along 3: 8; dot 3: 4; tiles 1: 16; rule own"} {
    ^bb0(%p: i8, %q: i8, %r: i32):
      %s = arith.extui %p : i8 to i32
      %t = arith.extsi %q : i8 to i32
      %u = arith.muli %s, %t : i32
      %v = arith.addi %r, %u : i32
      linalg.yield %v : i32
  } -> tensor<2x20x50xi32>
  return %0 : tensor<2x20x50xi32>
}
