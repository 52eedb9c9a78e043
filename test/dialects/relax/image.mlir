// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @resize2d
func.func @resize2d(%x: tensor<1x8x8x3xf32>) -> tensor<1x4x6x3xf16> {
  %size = "relax.shape_expr"() {dims = [4, 6]} : () -> !relax.shape<[4, 6]>
  // CHECK: "relax.image.resize2d"
  // CHECK-SAME: layout = "NHWC"
  // CHECK-SAME: roi = array<f64: 0.000000e+00, 0.000000e+00, 1.000000e+00, 1.000000e+00>
  // CHECK-SAME: -> tensor<1x4x6x3xf16>
  %0 = "relax.image.resize2d"(%x, %size)
      {layout = "NHWC", method = "cubic", coordinate_transformation_mode = "tf_crop_and_resize",
       roi = array<f64: 0.0, 0.0, 1.0, 1.0>, rounding_method = "", cubic_alpha = -0.5 : f64, cubic_exclude = 1 : i64,
       extrapolation_value = 1.0 : f64, out_dtype = f16}
      : (tensor<1x8x8x3xf32>, !relax.shape<[4, 6]>) -> tensor<1x4x6x3xf16>
  return %0 : tensor<1x4x6x3xf16>
}

// CHECK-LABEL: func.func @resize3d
func.func @resize3d(%x: tensor<?x3x?x8x8xf32, #relax.sym<["n", 3, "d", 8, 8]>>) {
  %size = "relax.shape_expr"() {dims = ["2*d", 4, 4]} : () -> !relax.shape<["2*d", 4, 4]>
  // CHECK: "relax.image.resize3d"
  // CHECK-SAME: -> tensor<?x3x?x4x4xf32, #relax.sym<["n", 3, "2*d", 4, 4]>>
  %0 = "relax.image.resize3d"(%x, %size)
      : (tensor<?x3x?x8x8xf32, #relax.sym<["n", 3, "d", 8, 8]>>, !relax.shape<["2*d", 4, 4]>)
      -> tensor<?x3x?x4x4xf32, #relax.sym<["n", 3, "2*d", 4, 4]>>
  return
}

// CHECK-LABEL: func.func @affine_grid
func.func @affine_grid(%matrices: tensor<2x2x3xf32>, %x: tensor<2x3x8x8xf32>) -> tensor<2x3x4x6xf32> {
  %size = "relax.shape_expr"() {dims = [4, 6]} : () -> !relax.shape<[4, 6]>
  // CHECK: "relax.image.affine_grid"
  // CHECK-SAME: {align_corners = false}
  // CHECK-SAME: -> tensor<2x2x4x6xf32>
  %grid = "relax.image.affine_grid"(%matrices, %size) {align_corners = false}
      : (tensor<2x2x3xf32>, !relax.shape<[4, 6]>) -> tensor<2x2x4x6xf32>
  // CHECK: "relax.image.grid_sample"
  // CHECK-SAME: {align_corners = true, layout = "NCHW", method = "nearest", padding_mode = "border"}
  // CHECK-SAME: -> tensor<2x3x4x6xf32>
  %0 = "relax.image.grid_sample"(%x, %grid)
      {align_corners = true, layout = "NCHW", method = "nearest", padding_mode = "border"}
      : (tensor<2x3x8x8xf32>, tensor<2x2x4x6xf32>) -> tensor<2x3x4x6xf32>
  return %0 : tensor<2x3x4x6xf32>
}
