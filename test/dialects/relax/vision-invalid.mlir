// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @f(%a: tensor<1x9x4xi32>, %b: tensor<1x2x9xf32>, %c: tensor<i64>, %d: tensor<f32>, %e: tensor<f32>) {
  // expected-error @+1 {{operand 'boxes' (tensor<1x9x4xi32>) must have float elements}}
  %r:2 = "relax.vision.all_class_non_max_suppression"(%a, %b, %c, %d, %e) : (tensor<1x9x4xi32>, tensor<1x2x9xf32>, tensor<i64>, tensor<f32>, tensor<f32>) -> (tensor<?x3xi64>, tensor<1xi64>)
  return
}

// -----

func.func @f(%a: tensor<1x9x4xf32>, %b: tensor<1x2x9xf16>, %c: tensor<i64>, %d: tensor<f32>, %e: tensor<f32>) {
  // expected-error @+1 {{operand 'boxes' (tensor<1x9x4xf32>) and operand 'scores' (tensor<1x2x9xf16>) must have the same element type}}
  %r:2 = "relax.vision.all_class_non_max_suppression"(%a, %b, %c, %d, %e) : (tensor<1x9x4xf32>, tensor<1x2x9xf16>, tensor<i64>, tensor<f32>, tensor<f32>) -> (tensor<?x3xi64>, tensor<1xi64>)
  return
}

// -----

func.func @f(%a: tensor<9x4xf32>, %b: tensor<1x2x9xf32>, %c: tensor<i64>, %d: tensor<f32>, %e: tensor<f32>) {
  // expected-error @+1 {{operand 'boxes' (tensor<9x4xf32>) must be 3-D, but is 2-D}}
  %r:2 = "relax.vision.all_class_non_max_suppression"(%a, %b, %c, %d, %e) : (tensor<9x4xf32>, tensor<1x2x9xf32>, tensor<i64>, tensor<f32>, tensor<f32>) -> (tensor<?x3xi64>, tensor<1xi64>)
  return
}

// -----

func.func @f(%a: tensor<1x9x4xf32>, %b: tensor<1x9xf32>, %c: tensor<i64>, %d: tensor<f32>, %e: tensor<f32>) {
  // expected-error @+1 {{operand 'scores' (tensor<1x9xf32>) must be 3-D, but is 2-D}}
  %r:2 = "relax.vision.all_class_non_max_suppression"(%a, %b, %c, %d, %e) : (tensor<1x9x4xf32>, tensor<1x9xf32>, tensor<i64>, tensor<f32>, tensor<f32>) -> (tensor<?x3xi64>, tensor<1xi64>)
  return
}

// -----

func.func @f(%a: tensor<1x9x5xf32>, %b: tensor<1x2x9xf32>, %c: tensor<i64>, %d: tensor<f32>, %e: tensor<f32>) {
  // expected-error @+1 {{operand 'boxes' (tensor<1x9x5xf32>) must have size 4 in dimension 2 (coordinates), got 5}}
  %r:2 = "relax.vision.all_class_non_max_suppression"(%a, %b, %c, %d, %e) : (tensor<1x9x5xf32>, tensor<1x2x9xf32>, tensor<i64>, tensor<f32>, tensor<f32>) -> (tensor<?x3xi64>, tensor<1xi64>)
  return
}

// -----

func.func @f(%a: tensor<1x9x4xf32>, %b: tensor<3x2x9xf32>, %c: tensor<i64>, %d: tensor<f32>, %e: tensor<f32>) {
  // expected-error @+1 {{must have the same batch size, got 1 and 3}}
  %r:2 = "relax.vision.all_class_non_max_suppression"(%a, %b, %c, %d, %e) : (tensor<1x9x4xf32>, tensor<3x2x9xf32>, tensor<i64>, tensor<f32>, tensor<f32>) -> (tensor<?x3xi64>, tensor<1xi64>)
  return
}

// -----

func.func @f(%a: tensor<1x9x4xf32>, %b: tensor<1x2x8xf32>, %c: tensor<i64>, %d: tensor<f32>, %e: tensor<f32>) {
  // expected-error @+1 {{must have the same number of boxes, got 9 and 8}}
  %r:2 = "relax.vision.all_class_non_max_suppression"(%a, %b, %c, %d, %e) : (tensor<1x9x4xf32>, tensor<1x2x8xf32>, tensor<i64>, tensor<f32>, tensor<f32>) -> (tensor<?x3xi64>, tensor<1xi64>)
  return
}

// -----

func.func @f(%a: tensor<1x9x4xf32>, %b: tensor<1x2x9xf32>, %c: tensor<f32>, %d: tensor<f32>, %e: tensor<f32>) {
  // expected-error @+1 {{operand 'max_output_boxes_per_class' (tensor<f32>) must have int elements}}
  %r:2 = "relax.vision.all_class_non_max_suppression"(%a, %b, %c, %d, %e) : (tensor<1x9x4xf32>, tensor<1x2x9xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<?x3xi64>, tensor<1xi64>)
  return
}

// -----

func.func @f(%a: tensor<1x9x4xf32>, %b: tensor<1x2x9xf32>, %c: tensor<2xi64>, %d: tensor<f32>, %e: tensor<f32>) {
  // expected-error @+1 {{operand 'max_output_boxes_per_class' (tensor<2xi64>) must hold one element}}
  %r:2 = "relax.vision.all_class_non_max_suppression"(%a, %b, %c, %d, %e) : (tensor<1x9x4xf32>, tensor<1x2x9xf32>, tensor<2xi64>, tensor<f32>, tensor<f32>) -> (tensor<?x3xi64>, tensor<1xi64>)
  return
}

// -----

func.func @f(%a: tensor<1x9x4xf32>, %b: tensor<1x2x9xf32>, %c: tensor<i64>, %d: tensor<i64>, %e: tensor<f32>) {
  // expected-error @+1 {{operand 'iou_threshold' (tensor<i64>) must have float elements}}
  %r:2 = "relax.vision.all_class_non_max_suppression"(%a, %b, %c, %d, %e) : (tensor<1x9x4xf32>, tensor<1x2x9xf32>, tensor<i64>, tensor<i64>, tensor<f32>) -> (tensor<?x3xi64>, tensor<1xi64>)
  return
}

// -----

func.func @f(%a: tensor<1x9x4xf32>, %b: tensor<1x2x9xf32>, %c: tensor<i64>, %d: tensor<f32>, %e: tensor<2xf32>) {
  // expected-error @+1 {{operand 'score_threshold' (tensor<2xf32>) must hold one element}}
  %r:2 = "relax.vision.all_class_non_max_suppression"(%a, %b, %c, %d, %e) : (tensor<1x9x4xf32>, tensor<1x2x9xf32>, tensor<i64>, tensor<f32>, tensor<2xf32>) -> (tensor<?x3xi64>, tensor<1xi64>)
  return
}

// -----

func.func @f(%a: tensor<1x9x4xf32>, %b: tensor<1x2x9xf32>, %c: tensor<i64>, %d: tensor<f32>, %e: tensor<f32>) {
  // expected-error @+1 {{attribute 'output_format' expects one of 'onnx', 'tensorflow', got 'tf'}}
  %r:2 = "relax.vision.all_class_non_max_suppression"(%a, %b, %c, %d, %e) {output_format = "tf"} : (tensor<1x9x4xf32>, tensor<1x2x9xf32>, tensor<i64>, tensor<f32>, tensor<f32>) -> (tensor<?x3xi64>, tensor<1xi64>)
  return
}

// -----

func.func @f(%a: tensor<1x9x4xf32>, %b: tensor<1x2x9xf32>, %c: tensor<i64>, %d: tensor<f32>, %e: tensor<f32>) {
  // expected-error @+1 {{gives 3 results here, but 2 are stated}}
  %r:2 = "relax.vision.all_class_non_max_suppression"(%a, %b, %c, %d, %e) {output_format = "tensorflow"} : (tensor<1x9x4xf32>, tensor<1x2x9xf32>, tensor<i64>, tensor<f32>, tensor<f32>) -> (tensor<?x3xi64>, tensor<1xi64>)
  return
}

// -----

func.func @f(%a: tensor<1x9x6xi32>) {
  // expected-error @+1 {{operand 'data' (tensor<1x9x6xi32>) must have float elements}}
  %r:3 = "relax.vision.get_valid_counts"(%a) : (tensor<1x9x6xi32>) -> (tensor<1xi32>, tensor<1x9x6xf32>, tensor<1x9xi32>)
  return
}

// -----

func.func @f(%a: tensor<9x6xf32>) {
  // expected-error @+1 {{operand 'data' (tensor<9x6xf32>) must be 3-D, but is 2-D}}
  %r:3 = "relax.vision.get_valid_counts"(%a) : (tensor<9x6xf32>) -> (tensor<1xi32>, tensor<1x9x6xf32>, tensor<1x9xi32>)
  return
}

// -----

func.func @f(%a: tensor<1x9x6xf32>) {
  // expected-error @+1 {{attribute 'score_index' (6) must be from 0 to 5 for operand 'data' (tensor<1x9x6xf32>)}}
  %r:3 = "relax.vision.get_valid_counts"(%a) {score_index = 6 : i64} : (tensor<1x9x6xf32>) -> (tensor<1xi32>, tensor<1x9x6xf32>, tensor<1x9xi32>)
  return
}

// -----

func.func @f(%a: tensor<1x9x?xf32>) {
  // expected-error @+1 {{attribute 'id_index' (-2) must be at least -1 for operand 'data' (tensor<1x9x?xf32>)}}
  %r:3 = "relax.vision.get_valid_counts"(%a) {id_index = -2 : i64} : (tensor<1x9x?xf32>) -> (tensor<1xi32>, tensor<1x9x6xf32>, tensor<1x9xi32>)
  return
}

// -----

func.func @f(%a: tensor<1x9x6xf32>) {
  // expected-error @+1 {{result #0 ('valid_count') is stated as tensor<2xi32>, but tensor<1xi32> is inferred}}
  %r:3 = "relax.vision.get_valid_counts"(%a) : (tensor<1x9x6xf32>) -> (tensor<2xi32>, tensor<1x9x6xf32>, tensor<1x9xi32>)
  return
}

// -----

func.func @f(%a: tensor<1x9x6xi32>, %b: tensor<1xi32>, %c: tensor<1x9xi32>) {
  // expected-error @+1 {{operand 'data' (tensor<1x9x6xi32>) must have float elements}}
  %r = "relax.vision.non_max_suppression"(%a, %b, %c) {return_indices = false} : (tensor<1x9x6xi32>, tensor<1xi32>, tensor<1x9xi32>) -> tensor<1x9x6xi32>
  return
}

// -----

func.func @f(%a: tensor<9x6xf32>, %b: tensor<1xi32>, %c: tensor<1x9xi32>) {
  // expected-error @+1 {{operand 'data' (tensor<9x6xf32>) must be 3-D, but is 2-D}}
  %r = "relax.vision.non_max_suppression"(%a, %b, %c) {return_indices = false} : (tensor<9x6xf32>, tensor<1xi32>, tensor<1x9xi32>) -> tensor<9x6xf32>
  return
}

// -----

func.func @f(%a: tensor<1x9x6xf32>, %b: tensor<1x1xi32>, %c: tensor<1x9xi32>) {
  // expected-error @+1 {{operand 'valid_count' (tensor<1x1xi32>) must be 1-D, but is 2-D}}
  %r = "relax.vision.non_max_suppression"(%a, %b, %c) {return_indices = false} : (tensor<1x9x6xf32>, tensor<1x1xi32>, tensor<1x9xi32>) -> tensor<1x9x6xf32>
  return
}

// -----

func.func @f(%a: tensor<1x9x6xf32>, %b: tensor<1xi32>, %c: tensor<9xi32>) {
  // expected-error @+1 {{operand 'indices' (tensor<9xi32>) must be 2-D, but is 1-D}}
  %r = "relax.vision.non_max_suppression"(%a, %b, %c) {return_indices = false} : (tensor<1x9x6xf32>, tensor<1xi32>, tensor<9xi32>) -> tensor<1x9x6xf32>
  return
}

// -----

func.func @f(%a: tensor<1x9x6xf32>, %b: tensor<1xi64>, %c: tensor<1x9xi32>) {
  // expected-error @+1 {{operand 'valid_count' (tensor<1xi64>) must have elements of type i32}}
  %r = "relax.vision.non_max_suppression"(%a, %b, %c) {return_indices = false} : (tensor<1x9x6xf32>, tensor<1xi64>, tensor<1x9xi32>) -> tensor<1x9x6xf32>
  return
}

// -----

func.func @f(%a: tensor<1x9x6xf32>, %b: tensor<1xi32>, %c: tensor<1x9xi64>) {
  // expected-error @+1 {{operand 'indices' (tensor<1x9xi64>) must have elements of type i32}}
  %r = "relax.vision.non_max_suppression"(%a, %b, %c) {return_indices = false} : (tensor<1x9x6xf32>, tensor<1xi32>, tensor<1x9xi64>) -> tensor<1x9x6xf32>
  return
}

// -----

func.func @f(%a: tensor<1x9x6xf32>, %b: tensor<2xi32>, %c: tensor<1x9xi32>) {
  // expected-error @+1 {{must have the same batch size, got 1 and 2}}
  %r = "relax.vision.non_max_suppression"(%a, %b, %c) {return_indices = false} : (tensor<1x9x6xf32>, tensor<2xi32>, tensor<1x9xi32>) -> tensor<1x9x6xf32>
  return
}

// -----

func.func @f(%a: tensor<1x9x6xf32>, %b: tensor<1xi32>, %c: tensor<1x8xi32>) {
  // expected-error @+1 {{must have the same number of anchors, got 9 and 8}}
  %r = "relax.vision.non_max_suppression"(%a, %b, %c) {return_indices = false} : (tensor<1x9x6xf32>, tensor<1xi32>, tensor<1x8xi32>) -> tensor<1x9x6xf32>
  return
}

// -----

func.func @f(%a: tensor<1x9x6xf32>, %b: tensor<1xi32>, %c: tensor<1x9xi32>) {
  // expected-error @+1 {{attribute 'coord_start' (3) must be from 0 to 2 for operand 'data' (tensor<1x9x6xf32>)}}
  %r = "relax.vision.non_max_suppression"(%a, %b, %c) {coord_start = 3 : i64} : (tensor<1x9x6xf32>, tensor<1xi32>, tensor<1x9xi32>) -> tensor<1x9x6xf32>
  return
}

// -----

func.func @f(%a: tensor<1x9x6xf32>, %b: tensor<1xi32>, %c: tensor<1x9xi32>) {
  // expected-error @+1 {{attribute 'score_index' (-1) must be from 0 to 5}}
  %r = "relax.vision.non_max_suppression"(%a, %b, %c) {score_index = -1 : i64} : (tensor<1x9x6xf32>, tensor<1xi32>, tensor<1x9xi32>) -> tensor<1x9x6xf32>
  return
}

// -----

func.func @f(%a: tensor<1x9x6xf32>, %b: tensor<1xi32>, %c: tensor<1x9xi32>) {
  // expected-error @+1 {{attribute 'id_index' (6) must be from -1 to 5}}
  %r = "relax.vision.non_max_suppression"(%a, %b, %c) {id_index = 6 : i64} : (tensor<1x9x6xf32>, tensor<1xi32>, tensor<1x9xi32>) -> tensor<1x9x6xf32>
  return
}

// -----

func.func @f(%a: tensor<1x9x6xf32>, %b: tensor<1xi32>, %c: tensor<1x9xi32>) {
  // expected-error @+1 {{attribute 'max_output_size' (-2) must be -1 (no limit) or more}}
  %r = "relax.vision.non_max_suppression"(%a, %b, %c) {max_output_size = -2 : i64} : (tensor<1x9x6xf32>, tensor<1xi32>, tensor<1x9xi32>) -> tensor<1x9x6xf32>
  return
}

// -----

func.func @f(%a: tensor<1x9x6xf32>, %b: tensor<1xi32>, %c: tensor<1x9xi32>) {
  // expected-error @+1 {{attribute 'top_k' (-2) must be -1 (no limit) or more}}
  %r = "relax.vision.non_max_suppression"(%a, %b, %c) {top_k = -2 : i64} : (tensor<1x9x6xf32>, tensor<1xi32>, tensor<1x9xi32>) -> tensor<1x9x6xf32>
  return
}

// -----

func.func @f(%a: tensor<1x9x6xf32>, %b: tensor<1xi32>, %c: tensor<1x9xi32>) {
  // expected-error @+1 {{attribute 'soft_nms_sigma' (-0.5) must not be negative}}
  %r = "relax.vision.non_max_suppression"(%a, %b, %c) {soft_nms_sigma = -0.5 : f64} : (tensor<1x9x6xf32>, tensor<1xi32>, tensor<1x9xi32>) -> tensor<1x9x6xf32>
  return
}

// -----

func.func @f(%a: tensor<1x9x6xf32>, %b: tensor<1xi32>, %c: tensor<1x9xi32>) {
  // expected-error @+1 {{gives 2 results here, but 1 are stated}}
  %r = "relax.vision.non_max_suppression"(%a, %b, %c) {return_indices = true} : (tensor<1x9x6xf32>, tensor<1xi32>, tensor<1x9xi32>) -> tensor<1x9x6xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3x5xi32>, %b: tensor<2x20xf32>, %c: tensor<1x5x4xf32>) {
  // expected-error @+1 {{operand 'cls_pred' (tensor<2x3x5xi32>) must have float elements}}
  %r:2 = "relax.vision.multibox_transform_loc"(%a, %b, %c) : (tensor<2x3x5xi32>, tensor<2x20xf32>, tensor<1x5x4xf32>) -> (tensor<2x5x4xf32>, tensor<2x3x5xf32>)
  return
}

// -----

func.func @f(%a: tensor<2x3x5xf32>, %b: tensor<2x20xf32>, %c: tensor<1x5x4xf64>) {
  // expected-error @+1 {{operand 'cls_pred' (tensor<2x3x5xf32>) and operand 'anchor' (tensor<1x5x4xf64>) must have the same element type}}
  %r:2 = "relax.vision.multibox_transform_loc"(%a, %b, %c) : (tensor<2x3x5xf32>, tensor<2x20xf32>, tensor<1x5x4xf64>) -> (tensor<2x5x4xf32>, tensor<2x3x5xf32>)
  return
}

// -----

func.func @f(%a: tensor<2x3x5xf32>, %b: tensor<2x20xf32>, %c: tensor<1x5x4xf32>) {
  // expected-error @+1 {{attribute 'variances' ((1.0, 1.0)) must have 4 entries: x, y, width, height}}
  %r:2 = "relax.vision.multibox_transform_loc"(%a, %b, %c) {variances = array<f64: 1.0, 1.0>} : (tensor<2x3x5xf32>, tensor<2x20xf32>, tensor<1x5x4xf32>) -> (tensor<2x5x4xf32>, tensor<2x3x5xf32>)
  return
}

// -----

func.func @f(%a: tensor<2x15xf32>, %b: tensor<2x20xf32>, %c: tensor<1x5x4xf32>) {
  // expected-error @+1 {{operand 'cls_pred' (tensor<2x15xf32>) must be 3-D, but is 2-D}}
  %r:2 = "relax.vision.multibox_transform_loc"(%a, %b, %c) : (tensor<2x15xf32>, tensor<2x20xf32>, tensor<1x5x4xf32>) -> (tensor<2x5x4xf32>, tensor<2x3x5xf32>)
  return
}

// -----

func.func @f(%a: tensor<2x3x5xf32>, %b: tensor<2x5x4xf32>, %c: tensor<1x5x4xf32>) {
  // expected-error @+1 {{operand 'loc_pred' (tensor<2x5x4xf32>) must be 2-D, but is 3-D}}
  %r:2 = "relax.vision.multibox_transform_loc"(%a, %b, %c) : (tensor<2x3x5xf32>, tensor<2x5x4xf32>, tensor<1x5x4xf32>) -> (tensor<2x5x4xf32>, tensor<2x3x5xf32>)
  return
}

// -----

func.func @f(%a: tensor<2x3x5xf32>, %b: tensor<2x20xf32>, %c: tensor<5x4xf32>) {
  // expected-error @+1 {{operand 'anchor' (tensor<5x4xf32>) must be 3-D, but is 2-D}}
  %r:2 = "relax.vision.multibox_transform_loc"(%a, %b, %c) : (tensor<2x3x5xf32>, tensor<2x20xf32>, tensor<5x4xf32>) -> (tensor<2x5x4xf32>, tensor<2x3x5xf32>)
  return
}

// -----

func.func @f(%a: tensor<2x3x5xf32>, %b: tensor<2x20xf32>, %c: tensor<2x5x4xf32>) {
  // expected-error @+1 {{operand 'anchor' (tensor<2x5x4xf32>) must have size 1 in dimension 0 (batch), got 2}}
  %r:2 = "relax.vision.multibox_transform_loc"(%a, %b, %c) : (tensor<2x3x5xf32>, tensor<2x20xf32>, tensor<2x5x4xf32>) -> (tensor<2x5x4xf32>, tensor<2x3x5xf32>)
  return
}

// -----

func.func @f(%a: tensor<2x3x5xf32>, %b: tensor<2x20xf32>, %c: tensor<1x5x5xf32>) {
  // expected-error @+1 {{operand 'anchor' (tensor<1x5x5xf32>) must have size 4 in dimension 2 (coordinates), got 5}}
  %r:2 = "relax.vision.multibox_transform_loc"(%a, %b, %c) : (tensor<2x3x5xf32>, tensor<2x20xf32>, tensor<1x5x5xf32>) -> (tensor<2x5x4xf32>, tensor<2x3x5xf32>)
  return
}

// -----

func.func @f(%a: tensor<2x3x5xf32>, %b: tensor<3x20xf32>, %c: tensor<1x5x4xf32>) {
  // expected-error @+1 {{must have the same batch size, got 2 and 3}}
  %r:2 = "relax.vision.multibox_transform_loc"(%a, %b, %c) : (tensor<2x3x5xf32>, tensor<3x20xf32>, tensor<1x5x4xf32>) -> (tensor<2x5x4xf32>, tensor<2x3x5xf32>)
  return
}

// -----

func.func @f(%a: tensor<2x3x5xf32>, %b: tensor<2x20xf32>, %c: tensor<1x6x4xf32>) {
  // expected-error @+1 {{must have the same number of anchors, got 5 and 6}}
  %r:2 = "relax.vision.multibox_transform_loc"(%a, %b, %c) : (tensor<2x3x5xf32>, tensor<2x20xf32>, tensor<1x6x4xf32>) -> (tensor<2x5x4xf32>, tensor<2x3x5xf32>)
  return
}

// -----

func.func @f(%a: tensor<2x3x5xf32>, %b: tensor<2x21xf32>, %c: tensor<1x5x4xf32>) {
  // expected-error @+1 {{operand 'loc_pred' (tensor<2x21xf32>) must have 4 coordinates for each anchor, got 21}}
  %r:2 = "relax.vision.multibox_transform_loc"(%a, %b, %c) : (tensor<2x3x5xf32>, tensor<2x21xf32>, tensor<1x5x4xf32>) -> (tensor<2x5x4xf32>, tensor<2x3x5xf32>)
  return
}

// -----

func.func @f(%a: tensor<2x3x5xf32>, %b: tensor<2x24xf32>, %c: tensor<1x5x4xf32>) {
  // expected-error @+1 {{operand 'loc_pred' (tensor<2x24xf32>) must have size 20 in dimension 1 (4 coordinates for each anchor), got 24}}
  %r:2 = "relax.vision.multibox_transform_loc"(%a, %b, %c) : (tensor<2x3x5xf32>, tensor<2x24xf32>, tensor<1x5x4xf32>) -> (tensor<2x5x4xf32>, tensor<2x3x5xf32>)
  return
}

// -----

func.func @f(%a: tensor<1x3x8x8xi32>, %b: tensor<2x5xf32>) {
  // expected-error @+1 {{operand 'data' (tensor<1x3x8x8xi32>) must have float elements}}
  %r = "relax.vision.roi_align"(%a, %b) {pooled_size = array<i64: 7>, spatial_scale = 1.0 : f64} : (tensor<1x3x8x8xi32>, tensor<2x5xf32>) -> tensor<2x3x7x7xf32>
  return
}

// -----

func.func @f(%a: tensor<1x3x8x8xf32>, %b: tensor<2x5xi32>) {
  // expected-error @+1 {{operand 'rois' (tensor<2x5xi32>) must have float elements}}
  %r = "relax.vision.roi_align"(%a, %b) {pooled_size = array<i64: 7>, spatial_scale = 1.0 : f64} : (tensor<1x3x8x8xf32>, tensor<2x5xi32>) -> tensor<2x3x7x7xf32>
  return
}

// -----

func.func @f(%a: tensor<3x8x8xf32>, %b: tensor<2x5xf32>) {
  // expected-error @+1 {{operand 'data' (tensor<3x8x8xf32>) must be 4-D, but is 3-D}}
  %r = "relax.vision.roi_align"(%a, %b) {pooled_size = array<i64: 7>, spatial_scale = 1.0 : f64} : (tensor<3x8x8xf32>, tensor<2x5xf32>) -> tensor<2x3x7x7xf32>
  return
}

// -----

func.func @f(%a: tensor<1x3x8x8xf32>, %b: tensor<5xf32>) {
  // expected-error @+1 {{operand 'rois' (tensor<5xf32>) must be 2-D, but is 1-D}}
  %r = "relax.vision.roi_align"(%a, %b) {pooled_size = array<i64: 7>, spatial_scale = 1.0 : f64} : (tensor<1x3x8x8xf32>, tensor<5xf32>) -> tensor<2x3x7x7xf32>
  return
}

// -----

func.func @f(%a: tensor<1x3x8x8xf32>, %b: tensor<2x4xf32>) {
  // expected-error @+1 {{operand 'rois' (tensor<2x4xf32>) must have size 5 in dimension 1 (batch index, x1, y1, x2, y2), got 4}}
  %r = "relax.vision.roi_align"(%a, %b) {pooled_size = array<i64: 7>, spatial_scale = 1.0 : f64} : (tensor<1x3x8x8xf32>, tensor<2x4xf32>) -> tensor<2x3x7x7xf32>
  return
}

// -----

func.func @f(%a: tensor<1x3x8x8xf32>, %b: tensor<2x5xf32>) {
  // expected-error @+1 {{attribute 'pooled_size' ((7, 7, 7)) must be one or two positive numbers: height and width}}
  %r = "relax.vision.roi_align"(%a, %b) {pooled_size = array<i64: 7, 7, 7>, spatial_scale = 1.0 : f64} : (tensor<1x3x8x8xf32>, tensor<2x5xf32>) -> tensor<2x3x7x7xf32>
  return
}

// -----

func.func @f(%a: tensor<1x3x8x8xf32>, %b: tensor<2x5xf32>) {
  // expected-error @+1 {{attribute 'pooled_size' ((0, 7)) must be one or two positive numbers: height and width}}
  %r = "relax.vision.roi_align"(%a, %b) {pooled_size = array<i64: 0, 7>, spatial_scale = 1.0 : f64} : (tensor<1x3x8x8xf32>, tensor<2x5xf32>) -> tensor<2x3x7x7xf32>
  return
}

// -----

func.func @f(%a: tensor<1x3x8x8xf32>, %b: tensor<2x5xf32>) {
  // expected-error @+1 {{attribute 'pooled_size' (()) must be one or two positive numbers: height and width}}
  %r = "relax.vision.roi_align"(%a, %b) {pooled_size = array<i64>, spatial_scale = 1.0 : f64} : (tensor<1x3x8x8xf32>, tensor<2x5xf32>) -> tensor<2x3x7x7xf32>
  return
}

// -----

func.func @f(%a: tensor<1x3x8x8xf32>, %b: tensor<2x5xf32>) {
  // expected-error @+1 {{attribute 'spatial_scale' (0.0) must be positive}}
  %r = "relax.vision.roi_align"(%a, %b) {pooled_size = array<i64: 7>, spatial_scale = 0.0 : f64} : (tensor<1x3x8x8xf32>, tensor<2x5xf32>) -> tensor<2x3x7x7xf32>
  return
}

// -----

func.func @f(%a: tensor<1x3x8x8xf32>, %b: tensor<2x5xf32>) {
  // expected-error @+1 {{attribute 'mode' expects one of 'avg', 'max', 'max_share', got 'mean'}}
  %r = "relax.vision.roi_align"(%a, %b) {pooled_size = array<i64: 7>, spatial_scale = 1.0 : f64, mode = "mean"} : (tensor<1x3x8x8xf32>, tensor<2x5xf32>) -> tensor<2x3x7x7xf32>
  return
}

// -----

func.func @f(%a: tensor<1x3x8x8xf32>, %b: tensor<2x5xf32>) {
  // expected-error @+1 {{attribute 'layout' expects one of 'NCHW', 'NHWC', got 'HWCN'}}
  %r = "relax.vision.roi_align"(%a, %b) {pooled_size = array<i64: 7>, spatial_scale = 1.0 : f64, layout = "HWCN"} : (tensor<1x3x8x8xf32>, tensor<2x5xf32>) -> tensor<2x3x7x7xf32>
  return
}

// -----

func.func @f(%a: tensor<1x3x8x8xf32>, %b: tensor<2x5xf32>) {
  // expected-error @+1 {{attribute 'layout' expects one of 'NCHW', got 'NHWC'}}
  %r = "relax.vision.roi_pool"(%a, %b) {pooled_size = array<i64: 7>, spatial_scale = 1.0 : f64, layout = "NHWC"} : (tensor<1x3x8x8xf32>, tensor<2x5xf32>) -> tensor<2x3x7x7xf32>
  return
}

// -----

func.func @f(%a: tensor<1x3x8x8xf32>, %b: tensor<2x5xf32>) {
  // expected-error @+1 {{has no attribute 'aligned'}}
  %r = "relax.vision.roi_pool"(%a, %b) {pooled_size = array<i64: 7>, spatial_scale = 1.0 : f64, aligned = true} : (tensor<1x3x8x8xf32>, tensor<2x5xf32>) -> tensor<2x3x7x7xf32>
  return
}
