// Malformed plans, and plans that do not fit their operation or the machine.

// RUN: relax-opt %s --tir-apply-plan=target=llvm{vector-bytes=32} --split-input-file --verify-diagnostics

func.func @k(%x: tensor<6x24xf32>, %out: tensor<6x24xf32>) -> tensor<6x24xf32> attributes {tir.prim_func} {
  // expected-error @+1 {{'linalg.generic' op has attribute 'tir.plan' that must be a string, got 3 : i64}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<6x24xf32>) outs(%out : tensor<6x24xf32>) attrs = {tir.plan = 3 : i64} {
    ^bb0(%a: f32, %old: f32):
      %c = arith.negf %a : f32
      linalg.yield %c : f32
  } -> tensor<6x24xf32>
  return %0 : tensor<6x24xf32>
}

// -----

func.func @k(%x: tensor<6x24xf32>, %out: tensor<6x24xf32>) -> tensor<6x24xf32> attributes {tir.prim_func} {
  // expected-error @+1 {{tir.plan "order; vector 0 x 4": column 1: expected 'order' like 'order (0 1) 3 2', got 'order'}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<6x24xf32>) outs(%out : tensor<6x24xf32>) attrs = {tir.plan = "order; vector 0 x 4"} {
    ^bb0(%a: f32, %old: f32):
      %c = arith.negf %a : f32
      linalg.yield %c : f32
  } -> tensor<6x24xf32>
  return %0 : tensor<6x24xf32>
}

// -----

func.func @k(%x: tensor<6x24xf32>, %out: tensor<6x24xf32>) -> tensor<6x24xf32> attributes {tir.prim_func} {
  // expected-error @+1 {{tir.plan "order 0 1": column 10: expected a clause 'vector', like 'vector 3 x 16'}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<6x24xf32>) outs(%out : tensor<6x24xf32>) attrs = {tir.plan = "order 0 1"} {
    ^bb0(%a: f32, %old: f32):
      %c = arith.negf %a : f32
      linalg.yield %c : f32
  } -> tensor<6x24xf32>
  return %0 : tensor<6x24xf32>
}

// -----

func.func @k(%x: tensor<6x24xf32>, %out: tensor<6x24xf32>) -> tensor<6x24xf32> attributes {tir.prim_func} {
  // expected-error @+1 {{tir.plan "order 0 0; vector 0 x 4": column 1: loop 0 occurs twice in the order}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<6x24xf32>) outs(%out : tensor<6x24xf32>) attrs = {tir.plan = "order 0 0; vector 0 x 4"} {
    ^bb0(%a: f32, %old: f32):
      %c = arith.negf %a : f32
      linalg.yield %c : f32
  } -> tensor<6x24xf32>
  return %0 : tensor<6x24xf32>
}

// -----

func.func @k(%x: tensor<6x24xf32>, %out: tensor<6x24xf32>) -> tensor<6x24xf32> attributes {tir.prim_func} {
  // expected-error @+1 {{tir.plan "order 0 1; vektor 1 x 4": column 12: expected one of order, carried, vector, tile, blocks, square, panel, dot, tiles, parallel, threads, shared, stages, parts, instruction, rule, got 'vektor'; did you mean 'vector'?}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<6x24xf32>) outs(%out : tensor<6x24xf32>) attrs = {tir.plan = "order 0 1; vektor 1 x 4"} {
    ^bb0(%a: f32, %old: f32):
      %c = arith.negf %a : f32
      linalg.yield %c : f32
  } -> tensor<6x24xf32>
  return %0 : tensor<6x24xf32>
}

// -----

func.func @k(%x: tensor<6x24xf32>, %out: tensor<6x24xf32>) -> tensor<6x24xf32> attributes {tir.prim_func} {
  // expected-error @+1 {{tir.plan "order 0 1; vector 2 x 4": column 12: loop 2 of 'vector' is not in the order (0, 1)}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<6x24xf32>) outs(%out : tensor<6x24xf32>) attrs = {tir.plan = "order 0 1; vector 2 x 4"} {
    ^bb0(%a: f32, %old: f32):
      %c = arith.negf %a : f32
      linalg.yield %c : f32
  } -> tensor<6x24xf32>
  return %0 : tensor<6x24xf32>
}

// -----

func.func @k(%x: tensor<6x24xf32>, %out: tensor<6x24xf32>) -> tensor<6x24xf32> attributes {tir.prim_func} {
  // expected-error @+1 {{tir.plan "order (0 1); vector 1 x 4": column 14: loop 1 of 'vector' is not in the order (0)}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<6x24xf32>) outs(%out : tensor<6x24xf32>) attrs = {tir.plan = "order (0 1); vector 1 x 4"} {
    ^bb0(%a: f32, %old: f32):
      %c = arith.negf %a : f32
      linalg.yield %c : f32
  } -> tensor<6x24xf32>
  return %0 : tensor<6x24xf32>
}

// -----

func.func @k(%x: tensor<6x24xf32>, %out: tensor<6x24xf32>) -> tensor<6x24xf32> attributes {tir.prim_func} {
  // expected-error @+1 {{tir.plan "order 0 1; vector 1 x 0": column 12: expected 'vector' like 'vector 3 x 16', got 'vector 1 x 0'}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<6x24xf32>) outs(%out : tensor<6x24xf32>) attrs = {tir.plan = "order 0 1; vector 1 x 0"} {
    ^bb0(%a: f32, %old: f32):
      %c = arith.negf %a : f32
      linalg.yield %c : f32
  } -> tensor<6x24xf32>
  return %0 : tensor<6x24xf32>
}

// -----

func.func @k(%x: tensor<6x24xf32>, %out: tensor<6x24xf32>) -> tensor<6x24xf32> attributes {tir.prim_func} {
  // expected-error @+1 {{tir.plan "order 0 1; vector 1 x 4; tile 0: 2, 0: 3": column 26: 'tile' has a loop twice}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<6x24xf32>) outs(%out : tensor<6x24xf32>) attrs = {tir.plan = "order 0 1; vector 1 x 4; tile 0: 2, 0: 3"} {
    ^bb0(%a: f32, %old: f32):
      %c = arith.negf %a : f32
      linalg.yield %c : f32
  } -> tensor<6x24xf32>
  return %0 : tensor<6x24xf32>
}

// -----

func.func @k(%x: tensor<6x24xf32>, %out: tensor<6x24xf32>) -> tensor<6x24xf32> attributes {tir.prim_func} {
  // expected-error @+1 {{tir.plan "order 0 1; vector 1 x 4; vector 0 x 4": column 26: 'vector' occurs twice}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<6x24xf32>) outs(%out : tensor<6x24xf32>) attrs = {tir.plan = "order 0 1; vector 1 x 4; vector 0 x 4"} {
    ^bb0(%a: f32, %old: f32):
      %c = arith.negf %a : f32
      linalg.yield %c : f32
  } -> tensor<6x24xf32>
  return %0 : tensor<6x24xf32>
}

// -----

func.func @k(%x: tensor<6x24xf32>, %out: tensor<6x24xf32>) -> tensor<6x24xf32> attributes {tir.prim_func} {
  // expected-error @+1 {{tir.plan "epilogue of 0 now": column 1: expected one of order, carried, vector, tile, blocks, square, panel, dot, tiles, parallel, threads, shared, stages, parts, instruction, rule, got 'epilogue'}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<6x24xf32>) outs(%out : tensor<6x24xf32>) attrs = {tir.plan = "epilogue of 0 now"} {
    ^bb0(%a: f32, %old: f32):
      %c = arith.negf %a : f32
      linalg.yield %c : f32
  } -> tensor<6x24xf32>
  return %0 : tensor<6x24xf32>
}

// -----

func.func @k(%x: tensor<6x24xf32>, %out: tensor<6x24xf32>) -> tensor<6x24xf32> attributes {tir.prim_func} {
  // expected-error @+1 {{PrimFunc @k: tir.plan "order 0 1 2; vector 1 x 4" does not fit the operation: it has no loop 2, only 0, 1}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<6x24xf32>) outs(%out : tensor<6x24xf32>) attrs = {tir.plan = "order 0 1 2; vector 1 x 4"} {
    ^bb0(%a: f32, %old: f32):
      %c = arith.negf %a : f32
      linalg.yield %c : f32
  } -> tensor<6x24xf32>
  return %0 : tensor<6x24xf32>
}

// -----

func.func @k(%x: tensor<6x24xf32>, %out: tensor<6x24xf32>) -> tensor<6x24xf32> attributes {tir.prim_func} {
  // expected-error @+1 {{PrimFunc @k: tir.plan "order 1; vector 1 x 4" does not fit the operation: loop 0 is not in the order}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<6x24xf32>) outs(%out : tensor<6x24xf32>) attrs = {tir.plan = "order 1; vector 1 x 4"} {
    ^bb0(%a: f32, %old: f32):
      %c = arith.negf %a : f32
      linalg.yield %c : f32
  } -> tensor<6x24xf32>
  return %0 : tensor<6x24xf32>
}

// -----

func.func @k(%x: tensor<6x24xf32>, %out: tensor<6x24xf32>) -> tensor<6x24xf32> attributes {tir.prim_func} {
  // expected-error @+1 {{PrimFunc @k: tir.plan "order 0 1; vector 1 x 16" does not fit the operation: 16 lanes of 32 bits do not fit in a vector of 32 bytes}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<6x24xf32>) outs(%out : tensor<6x24xf32>) attrs = {tir.plan = "order 0 1; vector 1 x 16"} {
    ^bb0(%a: f32, %old: f32):
      %c = arith.negf %a : f32
      linalg.yield %c : f32
  } -> tensor<6x24xf32>
  return %0 : tensor<6x24xf32>
}

// -----

func.func @k(%x: tensor<6x24xf32>, %out: tensor<6x24xf32>) -> tensor<6x24xf32> attributes {tir.prim_func} {
  // expected-error @+1 {{PrimFunc @k: tir.plan "order 0 1; vector 1 x 3" does not fit the operation: 3 lanes are no power of two}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<6x24xf32>) outs(%out : tensor<6x24xf32>) attrs = {tir.plan = "order 0 1; vector 1 x 3"} {
    ^bb0(%a: f32, %old: f32):
      %c = arith.negf %a : f32
      linalg.yield %c : f32
  } -> tensor<6x24xf32>
  return %0 : tensor<6x24xf32>
}

// -----

func.func @k(%x: tensor<6x24xf32>, %out: tensor<6x24xf32>) -> tensor<6x24xf32> attributes {tir.prim_func} {
  // expected-error @+1 {{PrimFunc @k: tir.plan "order (1 0); vector 1 x 8" does not fit the operation: loops 1 and 0 cannot be joined: 1 and 0 are not adjacent in all operands}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<6x24xf32>) outs(%out : tensor<6x24xf32>) attrs = {tir.plan = "order (1 0); vector 1 x 8"} {
    ^bb0(%a: f32, %old: f32):
      %c = arith.negf %a : f32
      linalg.yield %c : f32
  } -> tensor<6x24xf32>
  return %0 : tensor<6x24xf32>
}

// -----

func.func @k(%x: tensor<6x24xf32>, %out: tensor<6x24xf32>) -> tensor<6x24xf32> attributes {tir.prim_func} {
  // expected-error @+1 {{PrimFunc @k: tir.plan "order 0 1; carried 1; vector 1 x 8" does not fit the operation: the last 1 loops of the order are not all reductions}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<6x24xf32>) outs(%out : tensor<6x24xf32>) attrs = {tir.plan = "order 0 1; carried 1; vector 1 x 8"} {
    ^bb0(%a: f32, %old: f32):
      %c = arith.negf %a : f32
      linalg.yield %c : f32
  } -> tensor<6x24xf32>
  return %0 : tensor<6x24xf32>
}

// -----

func.func @k(%x: tensor<6x24xf32>, %out: tensor<6x24xf32>) -> tensor<6x24xf32> attributes {tir.prim_func} {
  // expected-error @+1 {{PrimFunc @k: tir.plan "order 0 1; vector 1 x 8; tile 0: 100, 1: 6" does not fit the operation: a step has 600 points, at most 512 are allowed: each point is code}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<6x24xf32>) outs(%out : tensor<6x24xf32>) attrs = {tir.plan = "order 0 1; vector 1 x 8; tile 0: 100, 1: 6"} {
    ^bb0(%a: f32, %old: f32):
      %c = arith.negf %a : f32
      linalg.yield %c : f32
  } -> tensor<6x24xf32>
  return %0 : tensor<6x24xf32>
}

// -----

func.func @k(%x: tensor<6x24xf32>, %out: tensor<6x24xf32>) -> tensor<6x24xf32> attributes {tir.prim_func} {
  // expected-error @+1 {{PrimFunc @k: tir.plan "order 0 1; vector 1 x 8; square 0" does not fit the operation: squares need 8 points, as many as lanes, of a loop that is no reduction}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<6x24xf32>) outs(%out : tensor<6x24xf32>) attrs = {tir.plan = "order 0 1; vector 1 x 8; square 0"} {
    ^bb0(%a: f32, %old: f32):
      %c = arith.negf %a : f32
      linalg.yield %c : f32
  } -> tensor<6x24xf32>
  return %0 : tensor<6x24xf32>
}

// -----

func.func @k(%x: tensor<6x24xf32>, %out: tensor<6x24xf32>) -> tensor<6x24xf32> attributes {tir.prim_func} {
  // expected-error @+1 {{PrimFunc @k: tir.plan "order 0 1; vector 1 x 8; panel 0 along 0: 6" does not fit the operation: panels need a reduction inside of the vectors' loop}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<6x24xf32>) outs(%out : tensor<6x24xf32>) attrs = {tir.plan = "order 0 1; vector 1 x 8; panel 0 along 0: 6"} {
    ^bb0(%a: f32, %old: f32):
      %c = arith.negf %a : f32
      linalg.yield %c : f32
  } -> tensor<6x24xf32>
  return %0 : tensor<6x24xf32>
}

// -----

func.func @k(%x: tensor<6x24xf32>, %out: tensor<6x24xf32>) -> tensor<6x24xf32> attributes {tir.prim_func} {
  // expected-error @+1 {{PrimFunc @k: tir.plan "start" does not fit the operation: it initializes no reduction that keeps its results in registers}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<6x24xf32>) outs(%out : tensor<6x24xf32>) attrs = {tir.plan = "start"} {
    ^bb0(%a: f32, %old: f32):
      %c = arith.negf %a : f32
      linalg.yield %c : f32
  } -> tensor<6x24xf32>
  return %0 : tensor<6x24xf32>
}

// -----

func.func @k(%x: tensor<6x24xf32>, %out: tensor<6x24xf32>) -> tensor<6x24xf32> attributes {tir.prim_func} {
  // expected-error @+1 {{PrimFunc @k: tir.plan "epilogue of 0" does not fit the operation: operand 0 is no reduction's result without other uses}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<6x24xf32>) outs(%out : tensor<6x24xf32>) attrs = {tir.plan = "epilogue of 0"} {
    ^bb0(%a: f32, %old: f32):
      %c = arith.negf %a : f32
      linalg.yield %c : f32
  } -> tensor<6x24xf32>
  return %0 : tensor<6x24xf32>
}

// -----

func.func @sum(%x: tensor<6x24xf32>, %out: tensor<6xf32>) -> tensor<6xf32> attributes {tir.prim_func} {
  // expected-error @+1 {{PrimFunc @sum: tir.plan "order 0 1; vector 1 x 8" does not fit the operation: a reduction along vectors must be carried}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<6x24xf32>) outs(%out : tensor<6xf32>) attrs = {tir.plan = "order 0 1; vector 1 x 8"} {
    ^bb0(%a: f32, %old: f32):
      %c = arith.addf %a, %old : f32
      linalg.yield %c : f32
  } -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// -----

func.func @sum(%x: tensor<6x24xf32>, %out: tensor<6xf32>) -> tensor<6xf32> attributes {tir.prim_func} {
  // expected-error @+1 {{PrimFunc @sum: tir.plan "order 0 1; carried 1; vector 1 x 8; tile 1: 3" does not fit the operation: 3 partial results are no power of two}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<6x24xf32>) outs(%out : tensor<6xf32>) attrs = {tir.plan = "order 0 1; carried 1; vector 1 x 8; tile 1: 3"} {
    ^bb0(%a: f32, %old: f32):
      %c = arith.addf %a, %old : f32
      linalg.yield %c : f32
  } -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// -----

func.func @sum(%x: tensor<6x24xf32>, %out: tensor<6xf32>) -> tensor<6xf32> attributes {tir.prim_func} {
  // expected-error @+1 {{PrimFunc @sum: tir.plan "order 0 1; carried 3; vector 1 x 8" does not fit the operation: 3 loops cannot be carried, it has 2}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<6x24xf32>) outs(%out : tensor<6xf32>) attrs = {tir.plan = "order 0 1; carried 3; vector 1 x 8"} {
    ^bb0(%a: f32, %old: f32):
      %c = arith.addf %a, %old : f32
      linalg.yield %c : f32
  } -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// -----

func.func @named(%x: tensor<6xf32>, %out: tensor<6xf32>) -> tensor<6xf32> attributes {tir.prim_func} {
  // expected-error @+1 {{PrimFunc @named: tir.plan "order 0; vector 0 x 4" does not fit the operation: plans need 'linalg.generic'; linalg-generalize-named-ops converts 'linalg.copy'}}
  %0 = linalg.copy {tir.plan = "order 0; vector 0 x 4"} ins(%x : tensor<6xf32>) outs(%out : tensor<6xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// -----

// Memory shared by a GPU's threads.
func.func @k(%x: tensor<6x24xf32>, %out: tensor<6x24xf32>) -> tensor<6x24xf32> attributes {tir.prim_func} {
  // expected-error @+1 {{does not fit the operation: 'threads', 'shared', 'stages', 'instruction' and 'parts' are for blocks of a GPU's threads}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<6x24xf32>) outs(%out : tensor<6x24xf32>) attrs = {tir.plan = "order 0 1; vector 1 x 4; threads 0: 2, 1: 8"} {
    ^bb0(%a: f32, %old: f32):
      %c = arith.negf %a : f32
      linalg.yield %c : f32
  } -> tensor<6x24xf32>
  return %0 : tensor<6x24xf32>
}
