// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: relax-opt %s --tir-simplify-indices | FileCheck %s
// RUN: not relax-opt %s --tir-simplify-indices='splits=1' 2>&1 | FileCheck %s --check-prefix=OPTION
// Indices become sums of loops where the ranges of the loops allow it. Results: test_simplify_indices.py.

// OPTION: splits

// CHECK-DAG: #[[SAME:map[0-9]*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[GROUP:map[0-9]*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1 * 8 + d3)>
// CHECK-DAG: #[[KEPT:map[0-9]*]] = affine_map<(d0, d1, d2) -> (d0, (d1 + d2) floordiv 30)>
// CHECK-DAG: #[[OPEN:map[0-9]*]] = affine_map<(d0, d1, d2) -> (d0, (d1 floordiv 8) * 8 + d2)>
// CHECK-DAG: #[[TAP:map[0-9]*]] = affine_map<(d0, d1) -> (d0 + d1)>
// CHECK-DAG: #[[FIRST:map[0-9]*]] = affine_map<(d0, d1) -> (d1 * -2 + 3)>
// CHECK-DAG: #[[SECOND:map[0-9]*]] = affine_map<(d0, d1) -> (d1 * -2 + 2)>

#x = affine_map<(d0, d1, d2) -> (d0, (d1 floordiv 16) * 8 + d2)>
#halves = affine_map<(d0, d1, d2) -> (d0, (d1 floordiv 8) * 8 + d2)>
#apart = affine_map<(d0, d1, d2) -> (d0, (d1 + d2) floordiv 30)>
#w = affine_map<(d0, d1, d2) -> (d2, d1)>
#y = affine_map<(d0, d1, d2) -> (d0, d1)>
#one = affine_map<(d0) -> (d0)>
#two = affine_map<(d0, d1) -> (d0, d1)>

// With one group, the channel divided by 16 is 0.
// CHECK-LABEL: func.func private @one_group(
// CHECK: linalg.generic {indexing_maps = [#[[SAME]],
func.func private @one_group(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %y: tensor<4x16xf32>) -> tensor<4x16xf32>
    attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<4x8xf32>, tensor<8x16xf32>) outs(%y : tensor<4x16xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %1 = arith.mulf %a, %b : f32
    %2 = arith.addf %out, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// Two groups: an outer loop over groups, for the fill before and the relu behind, too.
// CHECK-LABEL: func.func private @two_groups(
// CHECK: %[[ZERO:.*]] = arith.constant 0.0
// CHECK: tensor.expand_shape %arg2 {{.*}} into tensor<?x2x8xf32>
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<?x2x8xf32>)
// CHECK: linalg.yield %[[ZERO]]
// CHECK: tensor.expand_shape %arg1 {{.*}} into tensor<8x2x8xf32>
// CHECK: linalg.generic {indexing_maps = [#[[GROUP]], {{.*}} ["parallel", "parallel", "parallel", "reduction"]}
// CHECK-NOT: tensor.collapse_shape
// CHECK: arith.maximumf
// CHECK: tensor.collapse_shape
func.func private @two_groups(%x: tensor<?x16xf32>, %w: tensor<8x16xf32>, %y: tensor<?x16xf32>, %r: tensor<?x16xf32>)
    -> tensor<?x16xf32> attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [#two], iterator_types = ["parallel", "parallel"]}
      outs(%y : tensor<?x16xf32>) {
  ^bb0(%out: f32):
    %zero = arith.constant 0.0 : f32
    linalg.yield %zero : f32
  } -> tensor<?x16xf32>
  %1 = linalg.generic {indexing_maps = [#halves, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<?x16xf32>, tensor<8x16xf32>) outs(%0 : tensor<?x16xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %2 = arith.mulf %a, %b : f32
    %3 = arith.addf %out, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<?x16xf32>
  %4 = linalg.generic {indexing_maps = [#two, #two], iterator_types = ["parallel", "parallel"]}
      ins(%1 : tensor<?x16xf32>) outs(%r : tensor<?x16xf32>) {
  ^bb0(%a: f32, %out: f32):
    %zero = arith.constant 0.0 : f32
    %5 = arith.maximumf %a, %zero : f32
    linalg.yield %5 : f32
  } -> tensor<?x16xf32>
  return %4 : tensor<?x16xf32>
}

// Nothing is known of how many channels there are.
// CHECK-LABEL: func.func private @open_groups(
// CHECK: linalg.generic {indexing_maps = [#[[OPEN]],
func.func private @open_groups(%x: tensor<4x?xf32>, %w: tensor<8x?xf32>, %y: tensor<4x?xf32>) -> tensor<4x?xf32>
    attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [#halves, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<4x?xf32>, tensor<8x?xf32>) outs(%y : tensor<4x?xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %1 = arith.mulf %a, %b : f32
    %2 = arith.addf %out, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<4x?xf32>
  return %0 : tensor<4x?xf32>
}

// 900 residue classes are too many.
// CHECK-LABEL: func.func private @too_many(
// CHECK: linalg.generic {indexing_maps = [#[[KEPT]],
func.func private @too_many(%x: tensor<4x8xf32>, %w: tensor<99x99xf32>, %y: tensor<4x99xf32>) -> tensor<4x99xf32>
    attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %fill = linalg.generic {indexing_maps = [#two], iterator_types = ["parallel", "parallel"]} outs(%y : tensor<4x99xf32>) {
  ^bb0(%out: f32):
    linalg.yield %zero : f32
  } -> tensor<4x99xf32>
  %0 = linalg.generic {indexing_maps = [#apart, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<4x8xf32>, tensor<99x99xf32>) outs(%fill : tensor<4x99xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %1 = arith.mulf %a, %b : f32
    %2 = arith.addf %out, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<4x99xf32>
  return %0 : tensor<4x99xf32>
}

// A transposed convolution in one dimension: even places meet even taps, odd places odd ones.
// CHECK-LABEL: func.func private @transposed(
// CHECK-NOT: arith.remui
// CHECK-NOT: arith.select
// CHECK: tensor.extract_slice %arg2[0] [4] [2]
// CHECK: linalg.generic {indexing_maps = [#[[TAP]], #[[FIRST]],
// CHECK: tensor.insert_slice {{.*}}[0] [4] [2]
// CHECK: tensor.extract_slice {{.*}}[1] [4] [2]
// CHECK: linalg.generic {indexing_maps = [{{.*}}, #[[SECOND]],
// CHECK: tensor.insert_slice {{.*}}[1] [4] [2]
func.func private @transposed(%x: tensor<6xf32>, %w: tensor<4xf32>, %y: tensor<8xf32>) -> tensor<8xf32>
    attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %fill = linalg.generic {indexing_maps = [#one], iterator_types = ["parallel"]} outs(%y : tensor<8xf32>) {
  ^bb0(%out: f32):
    linalg.yield %zero : f32
  } -> tensor<8xf32>
  %taps = tensor.empty() : tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> ((d0 + d1) floordiv 2)>,
      affine_map<(d0, d1) -> (-d1 + 3)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x, %w, %taps : tensor<6xf32>, tensor<4xf32>, tensor<4xf32>) outs(%fill : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %unused: f32, %out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %two = arith.constant 2 : index
    %none = arith.constant 0 : index
    %place = arith.addi %i, %j : index
    %rest = arith.remui %place, %two : index
    %is_element = arith.cmpi eq, %rest, %none : index
    %value = arith.select %is_element, %a, %zero : f32
    %1 = arith.mulf %value, %b : f32
    %2 = arith.addf %out, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// A PrimFunc with its own schedule stays unchanged.
// CHECK-LABEL: func.func private @scheduled(
// CHECK: linalg.generic {indexing_maps = [#{{.*}}], iterator_types = ["parallel", "parallel", "reduction"]}
func.func private @scheduled(%x: tensor<4x16xf32>, %w: tensor<8x16xf32>, %y: tensor<4x16xf32>) -> tensor<4x16xf32>
    attributes {tir.prim_func, tir.schedule = ["get_block y"]} {
  %0 = linalg.generic {indexing_maps = [#halves, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<4x16xf32>, tensor<8x16xf32>) outs(%y : tensor<4x16xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %1 = arith.mulf %a, %b : f32
    %2 = arith.addf %out, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}
