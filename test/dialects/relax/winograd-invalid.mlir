// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<1x2x5x6x4xf16>, %w: tensor<3x16x8x8xf32>) {
  // expected-error @+1 {{operand 'data' (tensor<1x2x5x6x4xf16>) must have elements of f32}}
  %r = "relax.nn.conv2d_winograd"(%x, %w) {padding = [1, 1, 1, 1], operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<1x2x5x6x4xf16>, tensor<3x16x8x8xf32>) -> tensor<1x6x5x6x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x2x5x6x4xf32>, %w: tensor<3x16x8x8xf32>) {
  // expected-error @+1 {{attribute 'rows' (0) must be positive}}
  %r = "relax.nn.conv2d_winograd"(%x, %w) {rows = 0 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<1x2x5x6x4xf32>, tensor<3x16x8x8xf32>) -> tensor<1x6x5x6x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x2x5x6x4xf32>, %w: tensor<3x16x8x8xf32>) {
  // expected-error @+1 {{attribute 'tiles' (-1) must be positive}}
  %r = "relax.nn.conv2d_winograd"(%x, %w) {tiles = -1 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<1x2x5x6x4xf32>, tensor<3x16x8x8xf32>) -> tensor<1x6x5x6x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x2x5x6x4xf32>, %w: tensor<3x16x8x8xf32>) {
  // expected-error @+1 {{must have 0 or 1 for top, left, bottom and right}}
  %r = "relax.nn.conv2d_winograd"(%x, %w) {padding = [1, 1], operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<1x2x5x6x4xf32>, tensor<3x16x8x8xf32>) -> tensor<1x6x5x6x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x2x5x6x4xf32>, %w: tensor<3x16x8x8xf32>) {
  // expected-error @+1 {{must have 0 or 1 for top, left, bottom and right}}
  %r = "relax.nn.conv2d_winograd"(%x, %w) {padding = [1, 2, 1, 1], operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<1x2x5x6x4xf32>, tensor<3x16x8x8xf32>) -> tensor<1x6x5x6x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x2x5x6x4xf32>, %w: tensor<3x25x8x8xf32>) {
  // expected-error @+1 {{must have one of [16, 36] points of a tile, got 25}}
  %r = "relax.nn.conv2d_winograd"(%x, %w) {padding = [1, 1, 1, 1], operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<1x2x5x6x4xf32>, tensor<3x25x8x8xf32>) -> tensor<1x6x5x6x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x2x5x6x4xf32>, %w: tensor<3x16x12x8xf32>) {
  // expected-error @+1 {{must have as many channels as operand 'data'}}
  %r = "relax.nn.conv2d_winograd"(%x, %w) {padding = [1, 1, 1, 1], operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<1x2x5x6x4xf32>, tensor<3x16x12x8xf32>) -> tensor<1x6x5x6x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x2x5x6x4xf32>, %w: tensor<3x16x8x6xf32>) {
  // expected-error @+1 {{must have columns for whole blocks of operand 'data'}}
  %r = "relax.nn.conv2d_winograd"(%x, %w) {padding = [1, 1, 1, 1], operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<1x2x5x6x4xf32>, tensor<3x16x8x6xf32>) -> tensor<1x6x5x6x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x2x5x6x4xf32>, %w: tensor<3x16x8x8xf32>, %b: tensor<3x4xf32>) {
  // expected-error @+1 {{operand 'bias' (tensor<3x4xf32>) must have a number for each column of each panel}}
  %r = "relax.nn.conv2d_winograd"(%x, %w, %b) {padding = [1, 1, 1, 1], operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (tensor<1x2x5x6x4xf32>, tensor<3x16x8x8xf32>, tensor<3x4xf32>) -> tensor<1x6x5x6x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x2x5x2x4xf32>, %w: tensor<3x16x8x8xf32>) {
  // expected-error @+1 {{is too small along W: a window is 3 wide, the padded data 2}}
  %r = "relax.nn.conv2d_winograd"(%x, %w) {padding = [1, 0, 1, 0], operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<1x2x5x2x4xf32>, tensor<3x16x8x8xf32>) -> tensor<1x6x5x6x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x2x5x6x4xf32>, %w: tensor<3x16x8x8xf32>, %y: tensor<1x6x5x7x4xf32>) {
  // expected-error @+1 {{operand 'residual' (tensor<1x6x5x7x4xf32>) must have the result's}}
  %r = "relax.nn.conv2d_winograd"(%x, %w, %y) {padding = [1, 1, 1, 1], operandSegmentSizes = array<i32: 1, 1, 0, 1>} : (tensor<1x2x5x6x4xf32>, tensor<3x16x8x8xf32>, tensor<1x6x5x7x4xf32>) -> tensor<1x6x5x6x4xf32>
  return
}
