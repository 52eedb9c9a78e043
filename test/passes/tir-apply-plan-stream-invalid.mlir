// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: relax-opt %s --tir-apply-plan='target=llvm{vector-bytes=64}' --split-input-file --verify-diagnostics

#query = affine_map<(k, d) -> (d)>
#keys = affine_map<(k, d) -> (k, d)>
#score = affine_map<(k, d) -> (k)>

func.func @scores(%query: tensor<64xf32>, %keys: tensor<?x64xf32>, %out: tensor<?xf32>) -> tensor<?xf32>
    attributes {tir.prim_func, tir.op_pattern = "out_ewise_fusable"} {
  // expected-error @+1 {{attribute 'tir.stream' must be the number of an input, got 2 : i64}}
  %0 = linalg.generic {indexing_maps = [#query, #keys, #score], iterator_types = ["parallel", "reduction"]}
      ins(%query, %keys : tensor<64xf32>, tensor<?x64xf32>) outs(%out : tensor<?xf32>)
      attrs = {tir.stream = 2 : i64, tir.plan = "order 0 1; carried 1; vector 1 x 16; tile 0: 4"} {
    ^bb0(%q: f32, %k: f32, %score: f32):
      %product = arith.mulf %q, %k : f32
      %sum = arith.addf %score, %product : f32
      linalg.yield %sum : f32
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
