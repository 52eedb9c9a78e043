func.func private @fused_nn_conv2d_add_add(%arg0: tensor<1x18x56x56x8xf32>, %arg1: tensor<3x1x1x18x8x8xf32>, %arg2: tensor<1x3x1x1x8xf32>, %arg3: tensor<1x3x56x56x8xf32>, %arg4: tensor<1x3x56x56x8xf32>) -> tensor<1x3x56x56x8xf32> attributes {relax.main_operator = "relax.nn.conv2d", relax.operator = "relax.nn.conv2d+relax.add+relax.add", tir.op_pattern = "out_ewise_fusable", tir.prim_func} {
  %cst = arith.constant 0.000000e+00 : f32
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst : f32) outs(%arg4 : tensor<1x3x56x56x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x3x56x56x8xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d0, d5, d2 + d6, d3 + d7, d8)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d1, d6, d7, d5, d8, d4)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "reduction"]} ins(%arg0, %arg1 : tensor<1x18x56x56x8xf32>, tensor<3x1x1x18x8x8xf32>) outs(%0 : tensor<1x3x56x56x8xf32>) attrs =  {tir.order = "6 7 5 8"} {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %3 = arith.mulf %in, %in_0 : f32
    %4 = arith.addf %out, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<1x3x56x56x8xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, 0, 0, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%1, %arg2, %arg3 : tensor<1x3x56x56x8xf32>, tensor<1x3x1x1x8xf32>, tensor<1x3x56x56x8xf32>) outs(%1 : tensor<1x3x56x56x8xf32>) {
  ^bb0(%in: f32, %in_0: f32, %in_1: f32, %out: f32):
    %3 = arith.addf %in, %in_0 : f32
    %4 = arith.addf %in_1, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<1x3x56x56x8xf32>
  return %2 : tensor<1x3x56x56x8xf32>
}
