func.func private @fused_nn_conv2d_add_nn_relu_6(%arg0: tensor<1x32x14x14x8xf32>, %arg1: tensor<64x3x3x32x8x8xf32>, %arg2: tensor<1x64x1x1x8xf32>, %arg3: tensor<1x64x7x7x8xf32>) -> tensor<1x64x7x7x8xf32> attributes {relax.main_operator = "relax.nn.conv2d", relax.operator = "relax.nn.conv2d+relax.add+relax.nn.relu", tir.op_pattern = "out_ewise_fusable", tir.prim_func} {
  %cst = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<1x32x16x16x8xf32>
  %extracted_slice = tensor.extract_slice %0[0, 0, 0, 0, 0] [1, 32, 1, 16, 8] [1, 1, 1, 1, 1] : tensor<1x32x16x16x8xf32> to tensor<1x32x1x16x8xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst : f32) outs(%extracted_slice : tensor<1x32x1x16x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x32x1x16x8xf32>
  %inserted_slice = tensor.insert_slice %1 into %0[0, 0, 0, 0, 0] [1, 32, 1, 16, 8] [1, 1, 1, 1, 1] : tensor<1x32x1x16x8xf32> into tensor<1x32x16x16x8xf32>
  %extracted_slice_0 = tensor.extract_slice %inserted_slice[0, 0, 15, 0, 0] [1, 32, 1, 16, 8] [1, 1, 1, 1, 1] : tensor<1x32x16x16x8xf32> to tensor<1x32x1x16x8xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst : f32) outs(%extracted_slice_0 : tensor<1x32x1x16x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x32x1x16x8xf32>
  %inserted_slice_1 = tensor.insert_slice %2 into %inserted_slice[0, 0, 15, 0, 0] [1, 32, 1, 16, 8] [1, 1, 1, 1, 1] : tensor<1x32x1x16x8xf32> into tensor<1x32x16x16x8xf32>
  %extracted_slice_2 = tensor.extract_slice %inserted_slice_1[0, 0, 1, 0, 0] [1, 32, 14, 1, 8] [1, 1, 1, 1, 1] : tensor<1x32x16x16x8xf32> to tensor<1x32x14x1x8xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst : f32) outs(%extracted_slice_2 : tensor<1x32x14x1x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x32x14x1x8xf32>
  %inserted_slice_3 = tensor.insert_slice %3 into %inserted_slice_1[0, 0, 1, 0, 0] [1, 32, 14, 1, 8] [1, 1, 1, 1, 1] : tensor<1x32x14x1x8xf32> into tensor<1x32x16x16x8xf32>
  %extracted_slice_4 = tensor.extract_slice %inserted_slice_3[0, 0, 1, 15, 0] [1, 32, 14, 1, 8] [1, 1, 1, 1, 1] : tensor<1x32x16x16x8xf32> to tensor<1x32x14x1x8xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst : f32) outs(%extracted_slice_4 : tensor<1x32x14x1x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x32x14x1x8xf32>
  %inserted_slice_5 = tensor.insert_slice %4 into %inserted_slice_3[0, 0, 1, 15, 0] [1, 32, 14, 1, 8] [1, 1, 1, 1, 1] : tensor<1x32x14x1x8xf32> into tensor<1x32x16x16x8xf32>
  %extracted_slice_6 = tensor.extract_slice %inserted_slice_5[0, 0, 1, 1, 0] [1, 32, 14, 14, 8] [1, 1, 1, 1, 1] : tensor<1x32x16x16x8xf32> to tensor<1x32x14x14x8xf32>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<1x32x14x14x8xf32>) outs(%extracted_slice_6 : tensor<1x32x14x14x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x32x14x14x8xf32>
  %inserted_slice_7 = tensor.insert_slice %5 into %inserted_slice_5[0, 0, 1, 1, 0] [1, 32, 14, 14, 8] [1, 1, 1, 1, 1] : tensor<1x32x14x14x8xf32> into tensor<1x32x16x16x8xf32>
  %cst_8 = arith.constant 0.000000e+00 : f32
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst_8 : f32) outs(%arg3 : tensor<1x64x7x7x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x64x7x7x8xf32>
  %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d0, d5, d2 * 2 + d6, d3 * 2 + d7, d8)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d1, d6, d7, d5, d8, d4)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "reduction"]} ins(%inserted_slice_7, %arg1 : tensor<1x32x16x16x8xf32>, tensor<64x3x3x32x8x8xf32>) outs(%6 : tensor<1x64x7x7x8xf32>) attrs =  {tir.order = "6 7 5 8"} {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %9 = arith.mulf %in, %in_9 : f32
    %10 = arith.addf %out, %9 : f32
    linalg.yield %10 : f32
  } -> tensor<1x64x7x7x8xf32>
  %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, 0, 0, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%7, %arg2 : tensor<1x64x7x7x8xf32>, tensor<1x64x1x1x8xf32>) outs(%7 : tensor<1x64x7x7x8xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %9 = arith.addf %in, %in_9 : f32
    %cst_10 = arith.constant 0.000000e+00 : f32
    %10 = arith.maximumf %9, %cst_10 : f32
    linalg.yield %10 : f32
  } -> tensor<1x64x7x7x8xf32>
  return %8 : tensor<1x64x7x7x8xf32>
}
