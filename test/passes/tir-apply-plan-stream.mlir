// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An input with rows that are read once (tir.stream): each step prefetches the rows 4 KB further on.

// RUN: relax-opt %s --tir-apply-plan='target=llvm{vector-bytes=64}' | FileCheck %s

#query = affine_map<(k, d) -> (d)>
#keys = affine_map<(k, d) -> (k, d)>
#score = affine_map<(k, d) -> (k)>

// Rows of 256 bytes: of four keys a vector each, 16 rows ahead; nothing of the query, which stays in the cache.
// CHECK-LABEL: func.func @scores(
// CHECK: %[[DISTANCE:.*]] = arith.constant 16 : index
// CHECK: scf.for %[[KEY:[a-z0-9]+]] =
// CHECK: scf.for %[[AT:[a-z0-9]+]] =
// CHECK: %[[AHEAD:.*]] = arith.addi %[[KEY]], %[[DISTANCE]] : index
// CHECK-NEXT: %[[KEYS:.*]] = bufferization.to_buffer %arg1 read_only
// CHECK-NEXT: memref.prefetch %[[KEYS]][%[[AHEAD]], %[[AT]]], read, locality<3>, data
// CHECK-COUNT-3: memref.prefetch
// CHECK-NOT: memref.prefetch
// CHECK: vector.transfer_read %arg0[%[[AT]]]
func.func @scores(%query: tensor<64xf32>, %keys: tensor<?x64xf32>, %out: tensor<?xf32>) -> tensor<?xf32>
    attributes {tir.prim_func, tir.op_pattern = "out_ewise_fusable"} {
  %0 = linalg.generic {indexing_maps = [#query, #keys, #score], iterator_types = ["parallel", "reduction"]}
      ins(%query, %keys : tensor<64xf32>, tensor<?x64xf32>) outs(%out : tensor<?xf32>)
      attrs = {tir.stream = 1 : i64, tir.plan = "order 0 1; carried 1; vector 1 x 16; tile 0: 4"} {
    ^bb0(%q: f32, %k: f32, %score: f32):
      %product = arith.mulf %q, %k : f32
      %sum = arith.addf %score, %product : f32
      linalg.yield %sum : f32
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
