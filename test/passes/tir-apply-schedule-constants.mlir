// A constant's copy to another layout is folded: callers pass the copied constant.

// RUN: relax-opt %s --tir-apply-schedule | FileCheck %s

#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>

// CHECK-LABEL: func.func @main(
// CHECK-DAG: %[[PACKED:.*]] = arith.constant dense<{{\[}}{{\[}}[0.000000e+00, 1.000000e+00], [4.000000e+00, 5.000000e+00]], {{\[}}[2.000000e+00, 3.000000e+00], [6.000000e+00, 7.000000e+00]]]> : tensor<2x2x2xf32>
// CHECK: "relax.call_tir"(%arg0, %[[PACKED]]) {func = @packed} : (tensor<4x2xf32>, tensor<2x2x2xf32>) -> tensor<4x4xf32>
// CHECK: "relax.call_tir"(%{{.*}}, %{{.*}}) {func = @given} : (tensor<4x2xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
// CHECK: "relax.call_tir"(%{{.*}}, %arg1) {func = @given} : (tensor<4x2xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
func.func @main(%x: tensor<4x2xf32>, %w: tensor<2x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %known = arith.constant dense<[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]]> : tensor<2x4xf32>
  %0 = "relax.call_tir"(%x, %known) {func = @packed} : (tensor<4x2xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  %1 = "relax.call_tir"(%x, %known) {func = @given} : (tensor<4x2xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  %2 = "relax.call_tir"(%x, %w) {func = @given} : (tensor<4x2xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  return %0, %1, %2 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// CHECK-LABEL: func.func private @packed(
// CHECK-SAME: memref<4x2xf32>, %[[W:.*]]: memref<2x2x2xf32>, %{{.*}}: memref<4x4xf32>)
// CHECK-NOT: memref.alloc
// CHECK: memref.load %[[W]]
func.func private @packed(%x: tensor<4x2xf32>, %w: tensor<2x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {tir.prim_func, tir.schedule = ["# schedule 1", "C = sch.get_block(\22packed\22)", "W = sch.cache_read(C, 1, \22global\22)", "sch.transform_layout(W, (\22write\22, 0), lambda k, j: (j // 2, k, j % 2))"]} {
  %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<4x2xf32>, tensor<2x4xf32>) outs(%y : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32, %r: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %r, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// One of the callers passes no constant, so each call copies.
// CHECK-LABEL: func.func private @given(
// CHECK-SAME: memref<4x2xf32>, %{{.*}}: memref<2x4xf32>, %{{.*}}: memref<4x4xf32>)
// CHECK: memref.alloca
func.func private @given(%x: tensor<4x2xf32>, %w: tensor<2x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {tir.prim_func, tir.schedule = ["# schedule 1", "C = sch.get_block(\22given\22)", "W = sch.cache_read(C, 1, \22global\22)", "sch.transform_layout(W, (\22write\22, 0), lambda k, j: (j // 2, k, j % 2))"]} {
  %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<4x2xf32>, tensor<2x4xf32>) outs(%y : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32, %r: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %r, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
