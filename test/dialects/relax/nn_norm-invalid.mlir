// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @batch_norm(%a: tensor<2x6x4x4xf32>, %b: tensor<6xf32>, %c: tensor<6xf32>, %d: tensor<6xf32>, %e: tensor<5xf32>) {
  // expected-error @+1 {{'relax.nn.batch_norm' op operand 'moving_var' (tensor<5xf32>) must have size 6 in dimension 0 (the data's along axis 1), got 5}}
  %r:3 = "relax.nn.batch_norm"(%a, %b, %c, %d, %e) {axis = 1}
      : (tensor<2x6x4x4xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<5xf32>)
      -> (tensor<2x6x4x4xf32>, tensor<6xf32>, tensor<6xf32>)
  return
}

// -----

func.func @batch_norm(%a: tensor<2x6x4x4xf32>, %b: tensor<6xf32>, %c: tensor<6xf32>, %d: tensor<6x1xf32>, %e: tensor<6xf32>) {
  // expected-error @+1 {{operand 'moving_mean' (tensor<6x1xf32>) must be 1-D, but is 2-D}}
  %r:3 = "relax.nn.batch_norm"(%a, %b, %c, %d, %e) {axis = 1}
      : (tensor<2x6x4x4xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x1xf32>, tensor<6xf32>)
      -> (tensor<2x6x4x4xf32>, tensor<6xf32>, tensor<6xf32>)
  return
}

// -----

func.func @batch_norm(%a: tensor<2x6x4x4xf32>, %b: tensor<6xf32>, %c: tensor<6xf32>, %d: tensor<6xf32>, %e: tensor<6xf32>) {
  // expected-error @+1 {{attribute 'axis' (4) is out of range for 4 dimensions: expects -4 to 3}}
  %r:3 = "relax.nn.batch_norm"(%a, %b, %c, %d, %e) {axis = 4}
      : (tensor<2x6x4x4xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>)
      -> (tensor<2x6x4x4xf32>, tensor<6xf32>, tensor<6xf32>)
  return
}

// -----

func.func @batch_norm(%a: tensor<2x6x4x4xf32>, %b: tensor<6xf32>, %c: tensor<6xf32>, %d: tensor<6xf32>, %e: tensor<6xf32>) {
  // expected-error @+1 {{misses attribute 'axis'}}
  %r:3 = "relax.nn.batch_norm"(%a, %b, %c, %d, %e)
      : (tensor<2x6x4x4xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>)
      -> (tensor<2x6x4x4xf32>, tensor<6xf32>, tensor<6xf32>)
  return
}

// -----

func.func @batch_norm(%a: tensor<2x6x4x4xf32>, %b: tensor<6xf32>, %c: tensor<6xf32>, %d: tensor<6xf32>, %e: tensor<6xf32>) {
  // expected-error @+1 {{attribute 'epsilon' (-1.0) must be 0 or more}}
  %r:3 = "relax.nn.batch_norm"(%a, %b, %c, %d, %e) {axis = 1, epsilon = -1.0}
      : (tensor<2x6x4x4xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>)
      -> (tensor<2x6x4x4xf32>, tensor<6xf32>, tensor<6xf32>)
  return
}

// -----

func.func @batch_norm(%a: tensor<2x6x4x4xf32>, %b: tensor<6xf32>, %c: tensor<6xf32>, %d: tensor<6xf32>, %e: tensor<6xf16>) {
  // expected-error @+1 {{operand 'data' (tensor<2x6x4x4xf32>) and operand 'moving_var' (tensor<6xf16>) must have the same element type}}
  %r:3 = "relax.nn.batch_norm"(%a, %b, %c, %d, %e) {axis = 1}
      : (tensor<2x6x4x4xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf16>)
      -> (tensor<2x6x4x4xf32>, tensor<6xf32>, tensor<6xf32>)
  return
}

// -----

func.func @batch_norm(%a: tensor<2x6xi8>, %b: tensor<6xi8>, %c: tensor<6xi8>, %d: tensor<6xi8>, %e: tensor<6xi8>) {
  // expected-error @+1 {{operand 'data' (tensor<2x6xi8>) must have float elements}}
  %r:3 = "relax.nn.batch_norm"(%a, %b, %c, %d, %e) {axis = 1}
      : (tensor<2x6xi8>, tensor<6xi8>, tensor<6xi8>, tensor<6xi8>, tensor<6xi8>)
      -> (tensor<2x6xi8>, tensor<6xi8>, tensor<6xi8>)
  return
}

// -----

func.func @batch_norm(%a: tensor<2x6x4x4xf32>, %b: tensor<6xf32>, %c: tensor<6xf32>, %d: tensor<6xf32>, %e: tensor<6xf32>) {
  // expected-error @+1 {{gives 3 results here, but 1 are stated}}
  %r = "relax.nn.batch_norm"(%a, %b, %c, %d, %e) {axis = 1}
      : (tensor<2x6x4x4xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>)
      -> tensor<2x6x4x4xf32>
  return
}

// -----

func.func @layer_norm(%a: tensor<2x6x4x4xf32>, %b: tensor<6xf32>, %c: tensor<6xf32>) {
  // expected-error @+1 {{attribute 'axes' (()) must name at least one axis}}
  %r = "relax.nn.layer_norm"(%a, %b, %c) {axes = array<i64>}
      : (tensor<2x6x4x4xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x6x4x4xf32>
  return
}

// -----

func.func @layer_norm(%a: tensor<2x6x4x4xf32>, %b: tensor<6xf32>, %c: tensor<6xf32>) {
  // expected-error @+1 {{attribute 'axes' (-5) is out of range for 4 dimensions}}
  %r = "relax.nn.layer_norm"(%a, %b, %c) {axes = -5}
      : (tensor<2x6x4x4xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x6x4x4xf32>
  return
}

// -----

func.func @layer_norm(%a: tensor<2x6x4x4xf32>, %b: tensor<6x6xf32>, %c: tensor<6x6xf32>) {
  // expected-error @+1 {{attribute 'axes' ((1, -3)) names axis 1 twice}}
  %r = "relax.nn.layer_norm"(%a, %b, %c) {axes = array<i64: 1, -3>}
      : (tensor<2x6x4x4xf32>, tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<2x6x4x4xf32>
  return
}

// -----

func.func @layer_norm(%a: tensor<2x6x4x4xf32>, %b: tensor<6xf32>, %c: tensor<6xf32>) {
  // expected-error @+1 {{operand 'gamma' (tensor<6xf32>) must be 2-D, but is 1-D}}
  %r = "relax.nn.layer_norm"(%a, %b, %c) {axes = array<i64: 1, 2>}
      : (tensor<2x6x4x4xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x6x4x4xf32>
  return
}

// -----

func.func @rms_norm(%a: tensor<2x6x4x4xf32>, %b: tensor<6xf32>) {
  // expected-error @+1 {{operand 'weight' (tensor<6xf32>) must have size 4 in dimension 0 (the data's along axis -1), got 6}}
  %r = "relax.nn.rms_norm"(%a, %b) : (tensor<2x6x4x4xf32>, tensor<6xf32>) -> tensor<2x6x4x4xf32>
  return
}

// -----

func.func @instance_norm(%a: tensor<2x6x4x4xf32>, %b: tensor<6xf32>, %c: tensor<6xf32>) {
  // expected-error @+1 {{attribute 'axes' ((1, 2)) must not hold attribute 'channel_axis' (1)}}
  %r = "relax.nn.instance_norm"(%a, %b, %c) {channel_axis = 1, axes = array<i64: 1, 2>}
      : (tensor<2x6x4x4xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x6x4x4xf32>
  return
}

// -----

func.func @instance_norm(%a: tensor<2x6x4x4xf32>, %b: tensor<6xf32>, %c: tensor<6xf32>) {
  // expected-error @+1 {{attribute 'channel_axis' (9) is out of range for 4 dimensions}}
  %r = "relax.nn.instance_norm"(%a, %b, %c) {channel_axis = 9, axes = array<i64: 2>}
      : (tensor<2x6x4x4xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x6x4x4xf32>
  return
}

// -----

func.func @instance_norm(%a: tensor<2x6x4x4xf32>, %b: tensor<6xf32>, %c: tensor<7xf32>) {
  // expected-error @+1 {{operand 'beta' (tensor<7xf32>) must have size 6}}
  %r = "relax.nn.instance_norm"(%a, %b, %c) {channel_axis = 1, axes = array<i64: 2>}
      : (tensor<2x6x4x4xf32>, tensor<6xf32>, tensor<7xf32>) -> tensor<2x6x4x4xf32>
  return
}

// -----

func.func @group_norm(%a: tensor<2x6x4x4xf32>, %b: tensor<6xf32>, %c: tensor<6xf32>) {
  // expected-error @+1 {{attribute 'num_groups' (4) must divide the 6 channels of operand 'data' (tensor<2x6x4x4xf32>)}}
  %r = "relax.nn.group_norm"(%a, %b, %c) {num_groups = 4, channel_axis = 1, axes = array<i64: 2, 3>}
      : (tensor<2x6x4x4xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x6x4x4xf32>
  return
}

// -----

func.func @group_norm(%a: tensor<2x6x4x4xf32>, %b: tensor<6xf32>, %c: tensor<6xf32>) {
  // expected-error @+1 {{attribute 'num_groups' (0) must be 1 or more}}
  %r = "relax.nn.group_norm"(%a, %b, %c) {num_groups = 0, channel_axis = 1, axes = array<i64: 2, 3>}
      : (tensor<2x6x4x4xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x6x4x4xf32>
  return
}

// -----

func.func @group_norm(%a: tensor<2x6x4x4xf32>, %b: tensor<6xf32>, %c: tensor<6xf32>) {
  // expected-error @+1 {{attribute 'axes' ((-3,)) must not hold attribute 'channel_axis' (1)}}
  %r = "relax.nn.group_norm"(%a, %b, %c) {num_groups = 3, channel_axis = 1, axes = array<i64: -3>}
      : (tensor<2x6x4x4xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x6x4x4xf32>
  return
}
