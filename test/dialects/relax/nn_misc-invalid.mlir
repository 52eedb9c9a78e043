// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @batch_flatten(%a: tensor<3xf32>) {
  // expected-error @+1 {{'relax.nn.batch_flatten' op operand 'data' (tensor<3xf32>) must be 2-D or more, but is 1-D}}
  %r = "relax.nn.batch_flatten"(%a) : (tensor<3xf32>) -> tensor<3x1xf32>
  return
}

// -----

func.func @pad(%a: tensor<3x4xf32>) {
  // expected-error @+1 {{misses attribute 'pad_width'}}
  %r = "relax.nn.pad"(%a) : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @pad(%a: tensor<3x4xf32>) {
  // expected-error @+1 {{attribute 'pad_width' ((1, 2)) must have 4 entries, before and after each dimension of operand 'data' (tensor<3x4xf32>), got 2}}
  %r = "relax.nn.pad"(%a) {pad_width = array<i64: 1, 2>} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @pad(%a: tensor<*xf32>) {
  // expected-error @+1 {{attribute 'pad_width' ((1, 2, 3)) must have two entries for each dimension}}
  %r = "relax.nn.pad"(%a) {pad_width = array<i64: 1, 2, 3>} : (tensor<*xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @pad(%a: tensor<3x4xf32>) {
  // expected-error @+1 {{attribute 'pad_width' ((0, 0, -3, -2)) removes 5 of 4 elements along axis 1}}
  %r = "relax.nn.pad"(%a) {pad_width = array<i64: 0, 0, -3, -2>} : (tensor<3x4xf32>) -> tensor<3x0xf32>
  return
}

// -----

func.func @pad(%a: tensor<3x0xf32>) {
  // expected-error @+1 {{operand 'data' (tensor<3x0xf32>) is empty along axis 1: there is nothing to pad it with in mode 'circular'}}
  %r = "relax.nn.pad"(%a) {pad_width = array<i64: 0, 0, 0, 2>, pad_mode = "circular"}
      : (tensor<3x0xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @pad(%a: tensor<3xf32>) {
  // expected-error @+1 {{attribute 'pad_mode' expects one of 'constant', 'reflect', 'replicate', 'circular', got 'reflekt'; did you mean 'reflect'?}}
  %r = "relax.nn.pad"(%a) {pad_width = array<i64: 0, 0>, pad_mode = "reflekt"}
      : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @pixel_shuffle(%a: tensor<8x4xf32>) {
  // expected-error @+1 {{operand 'data' (tensor<8x4xf32>) must be 3-D or more (..., C, H, W), but is 2-D}}
  %r = "relax.nn.pixel_shuffle"(%a) {upscale_factor = 2} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @pixel_shuffle(%a: tensor<8x4x4xf32>) {
  // expected-error @+1 {{attribute 'upscale_factor' (0) must be 1 or more}}
  %r = "relax.nn.pixel_shuffle"(%a) {upscale_factor = 0} : (tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
  return
}

// -----

func.func @pixel_shuffle(%a: tensor<6x4x4xf32>) {
  // expected-error @+1 {{operand 'data' (tensor<6x4x4xf32>) must have a number of channels that 4 divides, the square of attribute 'upscale_factor' (2), got 6}}
  %r = "relax.nn.pixel_shuffle"(%a) {upscale_factor = 2} : (tensor<6x4x4xf32>) -> tensor<1x8x8xf32>
  return
}
