// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @conv2d(%a: tensor<1x3x9x9xf32>, %b: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{'relax.nn.conv2d' op attribute 'strides' ((1, 2, 3)) must have 1 or 2 entries, got 3}}
  %r = "relax.nn.conv2d"(%a, %b) {strides = array<i64: 1, 2, 3>}
      : (tensor<1x3x9x9xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x7x7xf32>
  return
}

// -----

func.func @conv1d(%a: tensor<1x3x9xf32>, %b: tensor<4x3x3xf32>) {
  // expected-error @+1 {{attribute 'dilation' ((1, 1)) must have 1 entry, got 2}}
  %r = "relax.nn.conv1d"(%a, %b) {dilation = array<i64: 1, 1>}
      : (tensor<1x3x9xf32>, tensor<4x3x3xf32>) -> tensor<1x4x7xf32>
  return
}

// -----

func.func @conv2d(%a: tensor<1x3x9x9xf32>, %b: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{attribute 'strides' ((0, 1)) must be 1 or more, got 0}}
  %r = "relax.nn.conv2d"(%a, %b) {strides = array<i64: 0, 1>}
      : (tensor<1x3x9x9xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x7x7xf32>
  return
}

// -----

func.func @conv2d(%a: tensor<1x3x9x9xf32>, %b: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{attribute 'padding' ((1, 2, 3)) must have 1, 2 or 4 entries, got 3}}
  %r = "relax.nn.conv2d"(%a, %b) {padding = array<i64: 1, 2, 3>}
      : (tensor<1x3x9x9xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x7x7xf32>
  return
}

// -----

func.func @conv2d(%a: tensor<1x3x9x9xf32>, %b: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{attribute 'padding' ((-1, -1)) must be 0 or more, got -1}}
  %r = "relax.nn.conv2d"(%a, %b) {padding = -1}
      : (tensor<1x3x9x9xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x7x7xf32>
  return
}

// -----

func.func @conv2d(%a: tensor<1x3x9x9xf32>, %b: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{attribute 'strides' expects a list of integers, got "2"}}
  %r = "relax.nn.conv2d"(%a, %b) {strides = "2"}
      : (tensor<1x3x9x9xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x7x7xf32>
  return
}

// -----

func.func @conv2d(%a: tensor<1x3x9x9xf32>, %b: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{attribute 'groups' (0) must be 1 or more}}
  %r = "relax.nn.conv2d"(%a, %b) {groups = 0}
      : (tensor<1x3x9x9xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x7x7xf32>
  return
}

// -----

func.func @conv2d(%a: tensor<1x9x9x9xf32>, %b: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{attribute 'groups' (3) must divide the 4 output channels of operand 'weight' (tensor<4x3x3x3xf32>)}}
  %r = "relax.nn.conv2d"(%a, %b) {groups = 3}
      : (tensor<1x9x9x9xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x7x7xf32>
  return
}

// -----

func.func @conv2d_transpose(%a: tensor<1x3x9x9xf32>, %b: tensor<3x4x3x3xf32>) {
  // expected-error @+1 {{attribute 'groups' (2) must divide the 3 input channels of operand 'weight' (tensor<3x4x3x3xf32>)}}
  %r = "relax.nn.conv2d_transpose"(%a, %b) {groups = 2}
      : (tensor<1x3x9x9xf32>, tensor<3x4x3x3xf32>) -> tensor<1x4x11x11xf32>
  return
}

// -----

func.func @conv2d(%a: tensor<1x3x9x9xf32>, %b: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{operand 'data' (tensor<1x3x9x9xf32>) must have as many channels as operand 'weight' (tensor<4x3x3x3xf32>) takes: 3 in the data, 6 by the input channels of the weight times groups}}
  %r = "relax.nn.conv2d"(%a, %b) {groups = 2}
      : (tensor<1x3x9x9xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x7x7xf32>
  return
}

// -----

func.func @conv2d_transpose(%a: tensor<1x3x9x9xf32>, %b: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{takes: 3 in the data, 4 by the input channels of the weight}}
  %r = "relax.nn.conv2d_transpose"(%a, %b)
      : (tensor<1x3x9x9xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x11x11xf32>
  return
}

// -----

func.func @conv2d(%a: tensor<1x3x9x2xf32>, %b: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{operand 'data' (tensor<1x3x9x2xf32>) is too small along W: a window is 3 wide, the padded data 2}}
  %r = "relax.nn.conv2d"(%a, %b) : (tensor<1x3x9x2xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x7x7xf32>
  return
}

// -----

func.func @conv2d(%a: tensor<1x3x9x9xf32>, %b: tensor<4x3x0x3xf32>) {
  // expected-error @+1 {{operand 'weight' (tensor<4x3x0x3xf32>) must not be empty along H}}
  %r = "relax.nn.conv2d"(%a, %b) : (tensor<1x3x9x9xf32>, tensor<4x3x0x3xf32>) -> tensor<1x4x7x7xf32>
  return
}

// -----

func.func @conv2d(%a: tensor<3x9x9xf32>, %b: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{operand 'data' (tensor<3x9x9xf32>) must be 4-D to have layout 'NCHW', but is 3-D}}
  %r = "relax.nn.conv2d"(%a, %b) : (tensor<3x9x9xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x7x7xf32>
  return
}

// -----

func.func @conv2d(%a: tensor<1x1x9x9x4xf32>, %b: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{operand 'data' (tensor<1x1x9x9x4xf32>) must have 3 elements in dimension 4 to have layout 'NCHW3c', but has 4}}
  %r = "relax.nn.conv2d"(%a, %b) {data_layout = "NCHW3c"}
      : (tensor<1x1x9x9x4xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x7x7xf32>
  return
}

// -----

func.func @conv2d(%a: tensor<1x3x9x9xf32>, %b: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{attribute 'data_layout' (NCHX) names an unknown dimension 'X' (expects the dimensions N, C, H, W in any order, such as 'NCHW')}}
  %r = "relax.nn.conv2d"(%a, %b) {data_layout = "NCHX"}
      : (tensor<1x3x9x9xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x7x7xf32>
  return
}

// -----

func.func @conv2d(%a: tensor<1x3x9x9xf32>, %b: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{attribute 'kernel_layout' (OIHH) names dimension 'H' twice}}
  %r = "relax.nn.conv2d"(%a, %b) {kernel_layout = "OIHH"}
      : (tensor<1x3x9x9xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x7x7xf32>
  return
}

// -----

func.func @conv2d(%a: tensor<1x3x9x9xf32>, %b: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{attribute 'out_layout' (NCW) misses dimension 'H'}}
  %r = "relax.nn.conv2d"(%a, %b) {out_layout = "NCW"}
      : (tensor<1x3x9x9xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x7x7xf32>
  return
}

// -----

func.func @conv2d(%a: tensor<1x3x9x9xf32>, %b: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{attribute 'out_layout' (NCHWc) needs a size of 1 to 999999999 before block 'c', such as '4c'}}
  %r = "relax.nn.conv2d"(%a, %b) {out_layout = "NCHWc"}
      : (tensor<1x3x9x9xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x7x7xf32>
  return
}

// -----

func.func @conv2d(%a: tensor<1x3x9x9xf32>, %b: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{attribute 'out_layout' (N4CHW) gives dimension 'C' a size, but only blocks have one, such as '4c'}}
  %r = "relax.nn.conv2d"(%a, %b) {out_layout = "N4CHW"}
      : (tensor<1x3x9x9xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x7x7xf32>
  return
}

// -----

func.func @conv2d(%a: tensor<1x3x9x9xf32>, %b: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{attribute 'out_layout' (NCHW4) ends in the size 4, which needs the letter of its block}}
  %r = "relax.nn.conv2d"(%a, %b) {out_layout = "NCHW4"}
      : (tensor<1x3x9x9xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x7x7xf32>
  return
}

// -----

func.func @conv2d(%a: tensor<1x3x9x9xf32>, %b: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{attribute 'out_dtype' (i1) must be a float or integer type}}
  %r = "relax.nn.conv2d"(%a, %b) {out_dtype = i1}
      : (tensor<1x3x9x9xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x7x7xf32>
  return
}

// -----

func.func @conv2d(%a: tensor<1x3x9x9xf32>, %b: tensor<4x3x3x3xf16>) {
  // expected-error @+1 {{operand 'data' (tensor<1x3x9x9xf32>) and operand 'weight' (tensor<4x3x3x3xf16>) must have the same element type where attribute 'out_dtype' is absent}}
  %r = "relax.nn.conv2d"(%a, %b) : (tensor<1x3x9x9xf32>, tensor<4x3x3x3xf16>) -> tensor<1x4x7x7xf32>
  return
}

// -----

func.func @conv2d(%a: tensor<1x3x9x9xi1>, %b: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{operand 'data' (tensor<1x3x9x9xi1>) must have float or int elements}}
  %r = "relax.nn.conv2d"(%a, %b) {out_dtype = f32}
      : (tensor<1x3x9x9xi1>, tensor<4x3x3x3xf32>) -> tensor<1x4x7x7xf32>
  return
}

// -----

func.func @conv2d(%a: tensor<1x3x9x9xf32>, %b: tensor<4x3x3x3xi1>) {
  // expected-error @+1 {{operand 'weight' (tensor<4x3x3x3xi1>) must have float or int elements}}
  %r = "relax.nn.conv2d"(%a, %b) {out_dtype = f32}
      : (tensor<1x3x9x9xf32>, tensor<4x3x3x3xi1>) -> tensor<1x4x7x7xf32>
  return
}

// -----

func.func @conv2d_transpose(%a: tensor<1x3x9x9xf32>, %b: tensor<3x4x3x3xf32>) {
  // expected-error @+1 {{attribute 'output_padding' ((2, 2)) must be less than the stride or the dilation, got 2 for a stride of 2 and a dilation of 1}}
  %r = "relax.nn.conv2d_transpose"(%a, %b) {output_padding = 2, strides = 2}
      : (tensor<1x3x9x9xf32>, tensor<3x4x3x3xf32>) -> tensor<1x4x11x11xf32>
  return
}

// -----

func.func @conv2d_transpose(%a: tensor<1x3x9x9xf32>, %b: tensor<3x4x3x3xf32>) {
  // expected-error @+1 {{attribute 'padding' ((20, 20)) removes all of the result along H, which is 11 wide without padding}}
  %r = "relax.nn.conv2d_transpose"(%a, %b) {padding = 20}
      : (tensor<1x3x9x9xf32>, tensor<3x4x3x3xf32>) -> tensor<1x4x11x11xf32>
  return
}

// -----

func.func @conv2d(%a: tensor<1x3x9x9xf32>, %b: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{has no attribute 'output_padding'}}
  %r = "relax.nn.conv2d"(%a, %b) {output_padding = 1}
      : (tensor<1x3x9x9xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x7x7xf32>
  return
}

// -----

func.func @conv2d(%a: tensor<1x3x9x9xf32>, %b: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{result 'result' is stated as tensor<1x4x7x8xf32>, but tensor<1x4x7x7xf32> is inferred}}
  %r = "relax.nn.conv2d"(%a, %b) : (tensor<1x3x9x9xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x7x8xf32>
  return
}

// -----

func.func @conv2d_transpose(%a: tensor<1x3x9x9xf32>, %b: tensor<3x4x3x3xf32>) {
  // expected-error @+1 {{attribute 'output_padding' ((-1, -1)) must be 0 or more, got -1}}
  %r = "relax.nn.conv2d_transpose"(%a, %b) {output_padding = -1}
      : (tensor<1x3x9x9xf32>, tensor<3x4x3x3xf32>) -> tensor<1x4x11x11xf32>
  return
}
