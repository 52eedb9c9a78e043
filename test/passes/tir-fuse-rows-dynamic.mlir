// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: relax-opt %s --tir-fuse-rows='target=cuda' | FileCheck %s
// The number of rows is dynamic. It comes from a dimension of an outside tensor, along any loop
// of the operation.

#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>
#ji = affine_map<(j, i) -> (i, j)>
#second = affine_map<(j, i) -> (i)>

// CHECK-LABEL: func.func private @rows_are_the_first_loop_of_the_first
// CHECK-SAME: (%[[X:.*]]: tensor<?x?xf32>, %[[S:.*]]: tensor<?xf32>, %[[Y:.*]]: tensor<?x?xf32>)
// CHECK: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[ROWS:.*]] = tensor.dim %[[X]], %[[ZERO]]
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[ROWS]] step
// CHECK: tensor.extract_slice %[[X]][%{{.*}}, 0] [1, %{{.*}}]
// CHECK: tensor.extract_slice %[[S]][%{{.*}}] [1]
// CHECK: tensor.insert_slice
func.func private @rows_are_the_first_loop_of_the_first(%x: tensor<?x?xf32>, %s: tensor<?xf32>, %y: tensor<?x?xf32>)
    -> tensor<?x?xf32> attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [#ij, #i], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x?xf32>) outs(%s : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %t = arith.addf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<?xf32>
  %1 = linalg.generic {indexing_maps = [#ji, #second, #ji], iterator_types = ["parallel", "parallel"]}
      ins(%x, %0 : tensor<?x?xf32>, tensor<?xf32>) outs(%y : tensor<?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %t = arith.subf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<?x?xf32>
  return %1 : tensor<?x?xf32>
}

// CHECK-LABEL: func.func private @rows_are_its_second_loop
// CHECK-SAME: (%[[X:.*]]: tensor<?x?xf32>, %[[S:.*]]: tensor<?xf32>, %[[Y:.*]]: tensor<?x?xf32>)
// CHECK: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[ROWS:.*]] = tensor.dim %[[X]], %[[ZERO]]
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[ROWS]] step
// CHECK: tensor.extract_slice %[[X]][%{{.*}}, 0] [1, %{{.*}}]
func.func private @rows_are_its_second_loop(%x: tensor<?x?xf32>, %s: tensor<?xf32>, %y: tensor<?x?xf32>)
    -> tensor<?x?xf32> attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [#ji, #second], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<?x?xf32>) outs(%s : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %t = arith.addf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<?xf32>
  %1 = linalg.generic {indexing_maps = [#ij, #i, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x, %0 : tensor<?x?xf32>, tensor<?xf32>) outs(%y : tensor<?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %t = arith.subf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<?x?xf32>
  return %1 : tensor<?x?xf32>
}
