// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @f(%a: tensor<1x3x8x8xi1>, %b: !relax.shape<[4, 4]>) {
  // expected-error @+1 {{operand 'data' (tensor<1x3x8x8xi1>) must have float or int elements}}
  %r = "relax.image.resize2d"(%a, %b) : (tensor<1x3x8x8xi1>, !relax.shape<[4, 4]>) -> tensor<1x3x4x4xi1>
  return
}

// -----

func.func @f(%a: tensor<3x8x8xf32>, %b: !relax.shape<[4, 4]>) {
  // expected-error @+1 {{operand 'data' (tensor<3x8x8xf32>) must be 4-D to have layout 'NCHW', but is 3-D}}
  %r = "relax.image.resize2d"(%a, %b) : (tensor<3x8x8xf32>, !relax.shape<[4, 4]>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x3x8x8xf32>, %b: !relax.shape<[4]>) {
  // expected-error @+1 {{operand 'size' (!relax.shape<[4]>) must have 2 entries: the spatial sizes}}
  %r = "relax.image.resize2d"(%a, %b) : (tensor<1x3x8x8xf32>, !relax.shape<[4]>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x3x8x8x8xf32>, %b: !relax.shape<[4, 4]>) {
  // expected-error @+1 {{operand 'size' (!relax.shape<[4, 4]>) must have 3 entries: the spatial sizes}}
  %r = "relax.image.resize3d"(%a, %b) : (tensor<1x3x8x8x8xf32>, !relax.shape<[4, 4]>) -> tensor<1x3x4x4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x3x8x8xf32>, %b: tensor<2xi64>) {
  // expected-error @+1 {{operand 'size' must be a shape (!relax.shape), got tensor<2xi64>}}
  %r = "relax.image.resize2d"(%a, %b) : (tensor<1x3x8x8xf32>, tensor<2xi64>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x3x8x8xf32>, %b: !relax.shape<[4, 4]>) {
  // expected-error @+1 {{attribute 'layout' (NCHX) names an unknown dimension 'X'}}
  %r = "relax.image.resize2d"(%a, %b) {layout = "NCHX"} : (tensor<1x3x8x8xf32>, !relax.shape<[4, 4]>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x3x8x8xf32>, %b: !relax.shape<[4, 4]>) {
  // expected-error @+1 {{attribute 'layout' (NCH) misses dimension 'W'}}
  %r = "relax.image.resize2d"(%a, %b) {layout = "NCH"} : (tensor<1x3x8x8xf32>, !relax.shape<[4, 4]>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x3x8x8x3xf32>, %b: !relax.shape<[4, 4]>) {
  // expected-error @+1 {{operand 'data' (tensor<1x3x8x8x3xf32>) must have 4 elements in dimension 4 to have layout 'NCHW4c', but has 3}}
  %r = "relax.image.resize2d"(%a, %b) {layout = "NCHW4c"} : (tensor<1x3x8x8x3xf32>, !relax.shape<[4, 4]>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x3x8x8xf32>, %b: !relax.shape<[4, 4]>) {
  // expected-error @+1 {{attribute 'method' expects one of 'nearest_neighbor', 'linear', 'cubic', got 'bilinear'; did you mean 'linear'?}}
  %r = "relax.image.resize2d"(%a, %b) {method = "bilinear"} : (tensor<1x3x8x8xf32>, !relax.shape<[4, 4]>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x3x8x8xf32>, %b: !relax.shape<[4, 4]>) {
  // expected-error @+1 {{attribute 'coordinate_transformation_mode' expects one of 'half_pixel', 'align_corners', 'asymmetric', 'pytorch_half_pixel', 'tf_half_pixel_for_nn', 'tf_crop_and_resize', got 'half'}}
  %r = "relax.image.resize2d"(%a, %b) {coordinate_transformation_mode = "half"} : (tensor<1x3x8x8xf32>, !relax.shape<[4, 4]>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x3x8x8xf32>, %b: !relax.shape<[4, 4]>) {
  // expected-error @+1 {{attribute 'rounding_method' expects one of 'round', 'floor', 'ceil', 'round_prefer_floor', 'round_prefer_ceil', '', got 'up'}}
  %r = "relax.image.resize2d"(%a, %b) {rounding_method = "up"} : (tensor<1x3x8x8xf32>, !relax.shape<[4, 4]>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x3x8x8xf32>, %b: !relax.shape<[4, 4]>) {
  // expected-error @+1 {{attribute 'roi' ((0.0, 1.0)) must have 4 entries: all starts, then all ends}}
  %r = "relax.image.resize2d"(%a, %b) {roi = array<f64: 0.0, 1.0>} : (tensor<1x3x8x8xf32>, !relax.shape<[4, 4]>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x3x8x8x8xf32>, %b: !relax.shape<[4, 4, 4]>) {
  // expected-error @+1 {{attribute 'roi' ((0.0, 0.0, 1.0, 1.0)) must have 6 entries: all starts, then all ends}}
  %r = "relax.image.resize3d"(%a, %b) {roi = array<f64: 0.0, 0.0, 1.0, 1.0>} : (tensor<1x3x8x8x8xf32>, !relax.shape<[4, 4, 4]>) -> tensor<1x3x4x4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x3x8x8xf32>, %b: !relax.shape<[4, 4]>) {
  // expected-error @+1 {{attribute 'cubic_exclude' (2) must be 0 or 1}}
  %r = "relax.image.resize2d"(%a, %b) {cubic_exclude = 2 : i64} : (tensor<1x3x8x8xf32>, !relax.shape<[4, 4]>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x3x8x8xf32>, %b: !relax.shape<[4, 4]>) {
  // expected-error @+1 {{result 'result' is stated as tensor<1x3x4x4xf32>, but tensor<1x3x4x4xf16> is inferred}}
  %r = "relax.image.resize2d"(%a, %b) {out_dtype = f16} : (tensor<1x3x8x8xf32>, !relax.shape<[4, 4]>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x3x8x8xf32>, %b: !relax.shape<[4, 5]>) {
  // expected-error @+1 {{result 'result' is stated as tensor<1x3x4x4xf32>, but tensor<1x3x4x5xf32> is inferred}}
  %r = "relax.image.resize2d"(%a, %b) : (tensor<1x3x8x8xf32>, !relax.shape<[4, 5]>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x3x8x8xi8>, %b: tensor<1x2x4x4xf32>) {
  // expected-error @+1 {{operand 'data' (tensor<1x3x8x8xi8>) must have float elements}}
  %r = "relax.image.grid_sample"(%a, %b) : (tensor<1x3x8x8xi8>, tensor<1x2x4x4xf32>) -> tensor<1x3x4x4xi8>
  return
}

// -----

func.func @f(%a: tensor<1x3x8x8xf32>, %b: tensor<1x2x4x4xi32>) {
  // expected-error @+1 {{operand 'grid' (tensor<1x2x4x4xi32>) must have float elements}}
  %r = "relax.image.grid_sample"(%a, %b) : (tensor<1x3x8x8xf32>, tensor<1x2x4x4xi32>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x3x8x8xf32>, %b: tensor<1x2x4xf32>) {
  // expected-error @+1 {{operand 'grid' (tensor<1x2x4xf32>) must be 4-D, but is 3-D}}
  %r = "relax.image.grid_sample"(%a, %b) : (tensor<1x3x8x8xf32>, tensor<1x2x4xf32>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x3x8x8xf32>, %b: tensor<2x2x4x4xf32>) {
  // expected-error @+1 {{operand 'grid' (tensor<2x2x4x4xf32>) must have size 1 in dimension 0 (batches), got 2}}
  %r = "relax.image.grid_sample"(%a, %b) : (tensor<1x3x8x8xf32>, tensor<2x2x4x4xf32>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x3x8x8xf32>, %b: tensor<1x4x4x2xf32>) {
  // expected-error @+1 {{operand 'grid' (tensor<1x4x4x2xf32>) must have size 2 in dimension 1 (coordinates), got 4}}
  %r = "relax.image.grid_sample"(%a, %b) : (tensor<1x3x8x8xf32>, tensor<1x4x4x2xf32>) -> tensor<1x3x4x2xf32>
  return
}

// -----

func.func @f(%a: tensor<1x3x8x8x8xf32>, %b: tensor<1x2x4x4x4xf32>) {
  // expected-error @+1 {{operand 'grid' (tensor<1x2x4x4x4xf32>) must have size 3 in dimension 1 (coordinates), got 2}}
  %r = "relax.image.grid_sample"(%a, %b) {layout = "NCDHW"} : (tensor<1x3x8x8x8xf32>, tensor<1x2x4x4x4xf32>) -> tensor<1x3x4x4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x3x8x8x8xf32>, %b: tensor<1x3x4x4x4xf32>) {
  // expected-error @+1 {{attribute 'method' (bicubic) is for images, not for volumes (attribute 'layout' (NCDHW))}}
  %r = "relax.image.grid_sample"(%a, %b) {layout = "NCDHW", method = "bicubic"} : (tensor<1x3x8x8x8xf32>, tensor<1x3x4x4x4xf32>) -> tensor<1x3x4x4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x3x8x8xf32>, %b: tensor<1x2x4x4xf32>) {
  // expected-error @+1 {{attribute 'layout' (NWHX) names an unknown dimension 'X'}}
  %r = "relax.image.grid_sample"(%a, %b) {layout = "NWHX"} : (tensor<1x3x8x8xf32>, tensor<1x2x4x4xf32>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x3x8x8xf32>, %b: tensor<1x2x4x4xf32>) {
  // expected-error @+1 {{attribute 'padding_mode' expects one of 'zeros', 'border', 'reflection', got 'zero'; did you mean 'zeros'?}}
  %r = "relax.image.grid_sample"(%a, %b) {padding_mode = "zero"} : (tensor<1x3x8x8xf32>, tensor<1x2x4x4xf32>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x2x3xi32>, %b: !relax.shape<[4, 4]>) {
  // expected-error @+1 {{operand 'data' (tensor<1x2x3xi32>) must have float elements}}
  %r = "relax.image.affine_grid"(%a, %b) : (tensor<1x2x3xi32>, !relax.shape<[4, 4]>) -> tensor<1x2x4x4xi32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: !relax.shape<[4, 4]>) {
  // expected-error @+1 {{operand 'data' (tensor<2x3xf32>) must be 3-D, but is 2-D}}
  %r = "relax.image.affine_grid"(%a, %b) : (tensor<2x3xf32>, !relax.shape<[4, 4]>) -> tensor<1x2x4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x2x3xf32>, %b: !relax.shape<[4]>) {
  // expected-error @+1 {{operand 'size' (!relax.shape<[4]>) must have 2 or 3 entries: the spatial sizes}}
  %r = "relax.image.affine_grid"(%a, %b) : (tensor<1x2x3xf32>, !relax.shape<[4]>) -> tensor<1x2x4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x3x4xf32>, %b: !relax.shape<[4, 4]>) {
  // expected-error @+1 {{operand 'data' (tensor<1x3x4xf32>) must have size 2 in dimension 1 (rows), got 3}}
  %r = "relax.image.affine_grid"(%a, %b) : (tensor<1x3x4xf32>, !relax.shape<[4, 4]>) -> tensor<1x2x4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x2x2xf32>, %b: !relax.shape<[4, 4]>) {
  // expected-error @+1 {{operand 'data' (tensor<1x2x2xf32>) must have size 3 in dimension 2 (columns), got 2}}
  %r = "relax.image.affine_grid"(%a, %b) : (tensor<1x2x2xf32>, !relax.shape<[4, 4]>) -> tensor<1x2x4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x4x5xf32>, %b: !relax.shape<unit>) {
  // expected-error @+1 {{operand 'data' (tensor<1x4x5xf32>) must hold matrices of 2 or 3 rows}}
  %r = "relax.image.affine_grid"(%a, %b) : (tensor<1x4x5xf32>, !relax.shape<unit>) -> tensor<1x2x4x4xf32>
  return
}
