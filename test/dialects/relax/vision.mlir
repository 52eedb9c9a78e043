// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @all_class_non_max_suppression
func.func @all_class_non_max_suppression(%boxes: tensor<1x9x4xf32>, %scores: tensor<1x2x9xf32>, %most: tensor<i64>,
                                         %limit: tensor<f32>) {
  // CHECK: "relax.vision.all_class_non_max_suppression"
  // CHECK-SAME: -> (tensor<?x3xi64>, tensor<1xi64>)
  %0:2 = "relax.vision.all_class_non_max_suppression"(%boxes, %scores, %most, %limit, %limit)
      : (tensor<1x9x4xf32>, tensor<1x2x9xf32>, tensor<i64>, tensor<f32>, tensor<f32>)
      -> (tensor<?x3xi64>, tensor<1xi64>)
  // CHECK: "relax.vision.all_class_non_max_suppression"
  // CHECK-SAME: {output_format = "tensorflow"}
  // CHECK-SAME: -> (tensor<1x18x2xi64>, tensor<1x18xf32>, tensor<1xi64>)
  %1:3 = "relax.vision.all_class_non_max_suppression"(%boxes, %scores, %most, %limit, %limit)
      {output_format = "tensorflow"}
      : (tensor<1x9x4xf32>, tensor<1x2x9xf32>, tensor<i64>, tensor<f32>, tensor<f32>)
      -> (tensor<1x18x2xi64>, tensor<1x18xf32>, tensor<1xi64>)
  return
}

// CHECK-LABEL: func.func @non_max_suppression
func.func @non_max_suppression(%x: tensor<?x9x6xf32, #relax.sym<["n", 9, 6]>>) {
  // CHECK: "relax.vision.get_valid_counts"
  // CHECK-SAME: {id_index = -1 : i64, score_index = 0 : i64, score_threshold = 5.000000e-01 : f64}
  // CHECK-SAME: -> (tensor<?xi32, #relax.sym<["n"]>>, tensor<?x9x6xf32, #relax.sym<["n", 9, 6]>>,
  // CHECK-SAME: tensor<?x9xi32, #relax.sym<["n", 9]>>)
  %count, %data, %indices = "relax.vision.get_valid_counts"(%x)
      {id_index = -1 : i64, score_index = 0 : i64, score_threshold = 0.5 : f64}
      : (tensor<?x9x6xf32, #relax.sym<["n", 9, 6]>>)
      -> (tensor<?xi32, #relax.sym<["n"]>>, tensor<?x9x6xf32, #relax.sym<["n", 9, 6]>>,
          tensor<?x9xi32, #relax.sym<["n", 9]>>)
  // CHECK: "relax.vision.non_max_suppression"
  // CHECK-SAME: -> (tensor<?x9xi32, #relax.sym<["n", 9]>>, tensor<?x1xi32, #relax.sym<["n", 1]>>)
  %0:2 = "relax.vision.non_max_suppression"(%data, %count, %indices)
      : (tensor<?x9x6xf32, #relax.sym<["n", 9, 6]>>, tensor<?xi32, #relax.sym<["n"]>>,
         tensor<?x9xi32, #relax.sym<["n", 9]>>)
      -> (tensor<?x9xi32, #relax.sym<["n", 9]>>, tensor<?x1xi32, #relax.sym<["n", 1]>>)
  // CHECK: "relax.vision.non_max_suppression"
  // CHECK-SAME: return_indices = false
  // CHECK-SAME: -> tensor<?x9x6xf32, #relax.sym<["n", 9, 6]>>
  %1 = "relax.vision.non_max_suppression"(%data, %count, %indices)
      {return_indices = false, max_output_size = 4 : i64, iou_threshold = 0.4 : f64, force_suppress = true,
       top_k = 8 : i64, coord_start = 1 : i64, score_index = 0 : i64, id_index = -1 : i64, invalid_to_bottom = true,
       score_threshold = 0.1 : f64}
      : (tensor<?x9x6xf32, #relax.sym<["n", 9, 6]>>, tensor<?xi32, #relax.sym<["n"]>>,
         tensor<?x9xi32, #relax.sym<["n", 9]>>) -> tensor<?x9x6xf32, #relax.sym<["n", 9, 6]>>
  return
}

// CHECK-LABEL: func.func @multibox_transform_loc
func.func @multibox_transform_loc(%classes: tensor<2x3x5xf32>, %offsets: tensor<2x20xf32>, %anchors: tensor<1x5x4xf32>) {
  // CHECK: "relax.vision.multibox_transform_loc"
  // CHECK-SAME: {apply_softmax = false, clip = true, keep_background = false, threshold = 1.000000e-01 : f64,
  // CHECK-SAME: -> (tensor<2x5x4xf32>, tensor<2x3x5xf32>)
  %0:2 = "relax.vision.multibox_transform_loc"(%classes, %offsets, %anchors)
      {apply_softmax = false, clip = true, keep_background = false, threshold = 0.1 : f64,
       variances = array<f64: 0.1, 0.1, 0.2, 0.2>}
      : (tensor<2x3x5xf32>, tensor<2x20xf32>, tensor<1x5x4xf32>) -> (tensor<2x5x4xf32>, tensor<2x3x5xf32>)
  return
}

// CHECK-LABEL: func.func @regions
func.func @regions(%x: tensor<1x3x8x8xf32>, %rois: tensor<?x5xf32, #relax.sym<["r", 5]>>) {
  // CHECK: "relax.vision.roi_align"
  // CHECK-SAME: -> tensor<?x7x5x8xf32, #relax.sym<["r", 7, 5, 8]>>
  %0 = "relax.vision.roi_align"(%x, %rois)
      {pooled_size = array<i64: 7, 5>, spatial_scale = 0.25 : f64, sample_ratio = 2 : i64, aligned = true,
       layout = "NHWC", mode = "max"}
      : (tensor<1x3x8x8xf32>, tensor<?x5xf32, #relax.sym<["r", 5]>>) -> tensor<?x7x5x8xf32, #relax.sym<["r", 7, 5, 8]>>
  // CHECK: "relax.vision.roi_pool"
  // CHECK-SAME: -> tensor<?x3x7x7xf32, #relax.sym<["r", 3, 7, 7]>>
  %1 = "relax.vision.roi_pool"(%x, %rois) {pooled_size = array<i64: 7>, spatial_scale = 1.0 : f64}
      : (tensor<1x3x8x8xf32>, tensor<?x5xf32, #relax.sym<["r", 5]>>) -> tensor<?x3x7x7xf32, #relax.sym<["r", 3, 7, 7]>>
  return
}
