// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @max_pool2d(%a: tensor<1x3x9x9xf32>) {
  // expected-error @+1 {{'relax.nn.max_pool2d' op attribute 'pool_size' ((1, 2, 3)) must have 1 or 2 entries, got 3}}
  %r = "relax.nn.max_pool2d"(%a) {pool_size = array<i64: 1, 2, 3>}
      : (tensor<1x3x9x9xf32>) -> tensor<1x3x9x9xf32>
  return
}

// -----

func.func @max_pool2d(%a: tensor<1x3x9x9xf32>) {
  // expected-error @+1 {{attribute 'pool_size' ((0, 0)) must be 1 or more, got 0}}
  %r = "relax.nn.max_pool2d"(%a) {pool_size = 0} : (tensor<1x3x9x9xf32>) -> tensor<1x3x9x9xf32>
  return
}

// -----

func.func @max_pool2d(%a: tensor<1x3x9x9xf32>) {
  // expected-error @+1 {{attribute 'strides' ((1, -2)) must be 1 or more, got -2}}
  %r = "relax.nn.max_pool2d"(%a) {strides = array<i64: 1, -2>} : (tensor<1x3x9x9xf32>) -> tensor<1x3x9x9xf32>
  return
}

// -----

func.func @max_pool2d(%a: tensor<1x3x9x9xf32>) {
  // expected-error @+1 {{attribute 'dilation' ((0, 0)) must be 1 or more, got 0}}
  %r = "relax.nn.max_pool2d"(%a) {dilation = 0} : (tensor<1x3x9x9xf32>) -> tensor<1x3x9x9xf32>
  return
}

// -----

func.func @max_pool2d(%a: tensor<1x3x9x9xf32>) {
  // expected-error @+1 {{attribute 'padding' ((0, -1)) must be 0 or more, got -1}}
  %r = "relax.nn.max_pool2d"(%a) {padding = array<i64: 0, -1>} : (tensor<1x3x9x9xf32>) -> tensor<1x3x9x9xf32>
  return
}

// -----

func.func @avg_pool3d(%a: tensor<1x3x9x9x9xf32>) {
  // expected-error @+1 {{attribute 'padding' ((1, 2)) must have 1, 3 or 6 entries, got 2}}
  %r = "relax.nn.avg_pool3d"(%a) {padding = array<i64: 1, 2>}
      : (tensor<1x3x9x9x9xf32>) -> tensor<1x3x9x9x9xf32>
  return
}

// -----

func.func @max_pool1d(%a: tensor<1x3x9xf32>) {
  // expected-error @+1 {{operand 'data' (tensor<1x3x9xf32>) is too small along W: a window is 12 wide, the padded data 11}}
  %r = "relax.nn.max_pool1d"(%a) {pool_size = 12, padding = 1} : (tensor<1x3x9xf32>) -> tensor<1x3x9xf32>
  return
}

// -----

func.func @max_pool1d(%a: tensor<1x3x1xf32>) {
  // expected-error @+1 {{operand 'data' (tensor<1x3x1xf32>) is too small along W: a window is 7 wide, the padded data 1}}
  %r = "relax.nn.max_pool1d"(%a) {pool_size = 7, strides = 3, ceil_mode = true}
      : (tensor<1x3x1xf32>) -> tensor<1x3x9xf32>
  return
}

// -----

func.func @max_pool1d(%a: tensor<1x3x9x9xf32>) {
  // expected-error @+1 {{operand 'data' (tensor<1x3x9x9xf32>) must be 3-D to have layout 'NCW', but is 4-D}}
  %r = "relax.nn.max_pool1d"(%a) : (tensor<1x3x9x9xf32>) -> tensor<1x3x9x9xf32>
  return
}

// -----

func.func @max_pool2d(%a: tensor<1x3x9x9xf32>) {
  // expected-error @+1 {{attribute 'layout' (NCHL) names an unknown dimension 'L'}}
  %r = "relax.nn.max_pool2d"(%a) {layout = "NCHL"} : (tensor<1x3x9x9xf32>) -> tensor<1x3x9x9xf32>
  return
}

// -----

func.func @max_pool2d(%a: tensor<1x3x9x9xf32>) {
  // expected-error @+1 {{attribute 'out_layout' (NC) misses dimension 'H'}}
  %r = "relax.nn.max_pool2d"(%a) {out_layout = "NC"} : (tensor<1x3x9x9xf32>) -> tensor<1x3x9x9xf32>
  return
}

// -----

func.func @max_pool2d(%a: tensor<1x3x9x9xi1>) {
  // expected-error @+1 {{operand 'data' (tensor<1x3x9x9xi1>) must have float or int elements}}
  %r = "relax.nn.max_pool2d"(%a) : (tensor<1x3x9x9xi1>) -> tensor<1x3x9x9xf32>
  return
}

// -----

func.func @max_pool2d(%a: tensor<1x3x9x9xf32>) {
  // expected-error @+1 {{attribute 'ceil_mode' expects true or false, got 1 : i64}}
  %r = "relax.nn.max_pool2d"(%a) {ceil_mode = 1} : (tensor<1x3x9x9xf32>) -> tensor<1x3x9x9xf32>
  return
}

// -----

func.func @max_pool2d(%a: tensor<1x3x9x9xf32>) {
  // expected-error @+1 {{result 'result' is stated as tensor<1x3x9x9xf32>, but tensor<1x3x8x8xf32> is inferred}}
  %r = "relax.nn.max_pool2d"(%a) {pool_size = 2} : (tensor<1x3x9x9xf32>) -> tensor<1x3x9x9xf32>
  return
}

// -----

func.func @adaptive_avg_pool3d(%a: tensor<1x3x9x9x9xf32>) {
  // expected-error @+1 {{attribute 'output_size' ((1, 2)) must have 1 or 3 entries, got 2}}
  %r = "relax.nn.adaptive_avg_pool3d"(%a) {output_size = array<i64: 1, 2>}
      : (tensor<1x3x9x9x9xf32>) -> tensor<1x3x9x9x9xf32>
  return
}

// -----

func.func @adaptive_avg_pool2d(%a: tensor<1x3x9x9xf32>) {
  // expected-error @+1 {{attribute 'output_size' ((0, 0)) must be 1 or more, got 0}}
  %r = "relax.nn.adaptive_avg_pool2d"(%a) {output_size = 0} : (tensor<1x3x9x9xf32>) -> tensor<1x3x9x9xf32>
  return
}

// -----

func.func @adaptive_avg_pool1d(%a: tensor<1x3x0xf32>) {
  // expected-error @+1 {{operand 'data' (tensor<1x3x0xf32>) must not be empty along W}}
  %r = "relax.nn.adaptive_avg_pool1d"(%a) {output_size = 3} : (tensor<1x3x0xf32>) -> tensor<1x3x3xf32>
  return
}

// -----

func.func @adaptive_avg_pool1d(%a: tensor<1x3x9xi1>) {
  // expected-error @+1 {{operand 'data' (tensor<1x3x9xi1>) must have float or int elements}}
  %r = "relax.nn.adaptive_avg_pool1d"(%a) {output_size = 3} : (tensor<1x3x9xi1>) -> tensor<1x3x3xf32>
  return
}
