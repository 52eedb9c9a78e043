func.func private @matmul(%arg0: tensor<1x64x512xf32>, %arg1: tensor<512x512xf32>, %arg2: tensor<1x64x512xf32>) -> tensor<1x64x512xf32> attributes {relax.operator = "relax.matmul", tir.op_pattern = "out_ewise_fusable", tir.prim_func} {
  %cst = arith.constant 0.000000e+00 : f32
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> ()>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst : f32) outs(%arg2 : tensor<1x64x512xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x64x512xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<1x64x512xf32>, tensor<512x512xf32>) outs(%0 : tensor<1x64x512xf32>) attrs =  {tir.order = "3"} {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %2 = arith.mulf %in, %in_0 : f32
    %3 = arith.addf %out, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<1x64x512xf32>
  return %1 : tensor<1x64x512xf32>
}
