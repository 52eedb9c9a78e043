func.func private @fused_nn_conv2d_add_clip_8(%arg0: tensor<1x24x28x28x8xf32>, %arg1: tensor<24x1x3x3x8xf32>, %arg2: tensor<1x24x1x1x8xf32>, %arg3: tensor<1x24x28x28x8xf32>) -> tensor<1x24x28x28x8xf32> attributes {relax.main_operator = "relax.nn.conv2d", relax.operator = "relax.nn.conv2d+relax.add+relax.clip", tir.op_pattern = "out_ewise_fusable", tir.prim_func} {
  %cst = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<1x24x30x30x8xf32>
  %cst_0 = arith.constant 0.000000e+00 : f32
  %cst_1 = arith.constant 0.000000e+00 : f32
  %cst_2 = arith.constant 6.000000e+00 : f32
  %c0 = arith.constant 0 : index
  %c48 = arith.constant 48 : index
  %c1 = arith.constant 1 : index
  %1 = scf.for %arg4 = %c0 to %c48 step %c1 iter_args(%arg5 = %arg3) -> (tensor<1x24x28x28x8xf32>) {
    %c2 = arith.constant 2 : index
    %2 = arith.remui %arg4, %c2 : index
    %c2_3 = arith.constant 2 : index
    %3 = arith.divui %arg4, %c2_3 : index
    %c14 = arith.constant 14 : index
    %4 = arith.muli %2, %c14 : index
    %c2_4 = arith.constant 2 : index
    %dim = tensor.dim %arg0, %c2_4 : tensor<1x24x28x28x8xf32>
    %c1_5 = arith.constant 1 : index
    %5 = arith.subi %c1_5, %4 : index
    %c0_6 = arith.constant 0 : index
    %6 = arith.maxsi %5, %c0_6 : index
    %c16 = arith.constant 16 : index
    %7 = arith.minsi %6, %c16 : index
    %8 = arith.addi %5, %dim : index
    %c16_7 = arith.constant 16 : index
    %9 = arith.minsi %8, %c16_7 : index
    %10 = arith.maxsi %9, %7 : index
    %11 = tensor.empty() : tensor<1x1x16x30x8xf32>
    %c0_8 = arith.constant 0 : index
    %c1_9 = arith.constant 1 : index
    %12 = scf.for %arg6 = %c0_8 to %7 step %c1_9 iter_args(%arg7 = %11) -> (tensor<1x1x16x30x8xf32>) {
      %extracted_slice_15 = tensor.extract_slice %arg7[0, 0, %arg6, 0, 0] [1, 1, 1, 30, 8] [1, 1, 1, 1, 1] : tensor<1x1x16x30x8xf32> to tensor<1x1x1x30x8xf32>
      %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst : f32) outs(%extracted_slice_15 : tensor<1x1x1x30x8xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<1x1x1x30x8xf32>
      %inserted_slice_16 = tensor.insert_slice %18 into %arg7[0, 0, %arg6, 0, 0] [1, 1, 1, 30, 8] [1, 1, 1, 1, 1] : tensor<1x1x1x30x8xf32> into tensor<1x1x16x30x8xf32>
      scf.yield %inserted_slice_16 : tensor<1x1x16x30x8xf32>
    }
    %c1_10 = arith.constant 1 : index
    %13 = scf.for %arg6 = %7 to %10 step %c1_10 iter_args(%arg7 = %12) -> (tensor<1x1x16x30x8xf32>) {
      %18 = arith.subi %arg6, %5 : index
      %extracted_slice_15 = tensor.extract_slice %arg0[0, %3, %18, 0, 0] [1, 1, 1, 28, 8] [1, 1, 1, 1, 1] : tensor<1x24x28x28x8xf32> to tensor<1x1x1x28x8xf32>
      %extracted_slice_16 = tensor.extract_slice %arg7[0, 0, %arg6, 0, 0] [1, 1, 1, 30, 8] [1, 1, 1, 1, 1] : tensor<1x1x16x30x8xf32> to tensor<1x1x1x30x8xf32>
      %extracted_slice_17 = tensor.extract_slice %extracted_slice_16[0, 0, 0, 0, 0] [1, 1, 1, 1, 8] [1, 1, 1, 1, 1] : tensor<1x1x1x30x8xf32> to tensor<1x1x1x1x8xf32>
      %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst : f32) outs(%extracted_slice_17 : tensor<1x1x1x1x8xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<1x1x1x1x8xf32>
      %inserted_slice_18 = tensor.insert_slice %19 into %extracted_slice_16[0, 0, 0, 0, 0] [1, 1, 1, 1, 8] [1, 1, 1, 1, 1] : tensor<1x1x1x1x8xf32> into tensor<1x1x1x30x8xf32>
      %extracted_slice_19 = tensor.extract_slice %inserted_slice_18[0, 0, 0, 29, 0] [1, 1, 1, 1, 8] [1, 1, 1, 1, 1] : tensor<1x1x1x30x8xf32> to tensor<1x1x1x1x8xf32>
      %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst : f32) outs(%extracted_slice_19 : tensor<1x1x1x1x8xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<1x1x1x1x8xf32>
      %inserted_slice_20 = tensor.insert_slice %20 into %inserted_slice_18[0, 0, 0, 29, 0] [1, 1, 1, 1, 8] [1, 1, 1, 1, 1] : tensor<1x1x1x1x8xf32> into tensor<1x1x1x30x8xf32>
      %extracted_slice_21 = tensor.extract_slice %inserted_slice_20[0, 0, 0, 1, 0] [1, 1, 1, 28, 8] [1, 1, 1, 1, 1] : tensor<1x1x1x30x8xf32> to tensor<1x1x1x28x8xf32>
      %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_15 : tensor<1x1x1x28x8xf32>) outs(%extracted_slice_21 : tensor<1x1x1x28x8xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<1x1x1x28x8xf32>
      %inserted_slice_22 = tensor.insert_slice %21 into %inserted_slice_20[0, 0, 0, 1, 0] [1, 1, 1, 28, 8] [1, 1, 1, 1, 1] : tensor<1x1x1x28x8xf32> into tensor<1x1x1x30x8xf32>
      %inserted_slice_23 = tensor.insert_slice %inserted_slice_22 into %arg7[0, 0, %arg6, 0, 0] [1, 1, 1, 30, 8] [1, 1, 1, 1, 1] : tensor<1x1x1x30x8xf32> into tensor<1x1x16x30x8xf32>
      scf.yield %inserted_slice_23 : tensor<1x1x16x30x8xf32>
    }
    %c16_11 = arith.constant 16 : index
    %c1_12 = arith.constant 1 : index
    %14 = scf.for %arg6 = %10 to %c16_11 step %c1_12 iter_args(%arg7 = %13) -> (tensor<1x1x16x30x8xf32>) {
      %extracted_slice_15 = tensor.extract_slice %arg7[0, 0, %arg6, 0, 0] [1, 1, 1, 30, 8] [1, 1, 1, 1, 1] : tensor<1x1x16x30x8xf32> to tensor<1x1x1x30x8xf32>
      %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst : f32) outs(%extracted_slice_15 : tensor<1x1x1x30x8xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<1x1x1x30x8xf32>
      %inserted_slice_16 = tensor.insert_slice %18 into %arg7[0, 0, %arg6, 0, 0] [1, 1, 1, 30, 8] [1, 1, 1, 1, 1] : tensor<1x1x1x30x8xf32> into tensor<1x1x16x30x8xf32>
      scf.yield %inserted_slice_16 : tensor<1x1x16x30x8xf32>
    }
    %extracted_slice = tensor.extract_slice %arg5[0, %3, %4, 0, 0] [1, 1, 14, 28, 8] [1, 1, 1, 1, 1] : tensor<1x24x28x28x8xf32> to tensor<1x1x14x28x8xf32>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst_0 : f32) outs(%extracted_slice : tensor<1x1x14x28x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x14x28x8xf32>
    %extracted_slice_13 = tensor.extract_slice %arg1[%3, 0, 0, 0, 0] [1, 1, 3, 3, 8] [1, 1, 1, 1, 1] : tensor<24x1x3x3x8xf32> to tensor<1x1x3x3x8xf32>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1, d2 + d6, d3 + d7, d4)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d1, d5, d6, d7, d4)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%14, %extracted_slice_13 : tensor<1x1x16x30x8xf32>, tensor<1x1x3x3x8xf32>) outs(%15 : tensor<1x1x14x28x8xf32>) attrs =  {tir.order = "6 7 5"} {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %18 = arith.mulf %in, %in_15 : f32
      %19 = arith.addf %out, %18 : f32
      linalg.yield %19 : f32
    } -> tensor<1x1x14x28x8xf32>
    %extracted_slice_14 = tensor.extract_slice %arg2[0, %3, 0, 0, 0] [1, 1, 1, 1, 8] [1, 1, 1, 1, 1] : tensor<1x24x1x1x8xf32> to tensor<1x1x1x1x8xf32>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, 0, 0, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%16, %extracted_slice_14 : tensor<1x1x14x28x8xf32>, tensor<1x1x1x1x8xf32>) outs(%16 : tensor<1x1x14x28x8xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %18 = arith.addf %in, %in_15 : f32
      %19 = arith.maximumf %18, %cst_1 : f32
      %20 = arith.minimumf %19, %cst_2 : f32
      linalg.yield %20 : f32
    } -> tensor<1x1x14x28x8xf32>
    %inserted_slice = tensor.insert_slice %17 into %arg5[0, %3, %4, 0, 0] [1, 1, 14, 28, 8] [1, 1, 1, 1, 1] : tensor<1x1x14x28x8xf32> into tensor<1x24x28x28x8xf32>
    scf.yield %inserted_slice : tensor<1x24x28x28x8xf32>
  }
  return %1 : tensor<1x24x28x28x8xf32>
}
