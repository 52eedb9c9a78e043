// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @f(%a: tensor<2x4x8x16xf32>, %b: tensor<2x4x8x16xf32>) {
  // expected-error @+1 {{'relax.nn.attention' op expects 3 operands (query, key, value), got 2: missing 'value'}}
  %r = "relax.nn.attention"(%a, %b) : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x8x16xi32>, %b: tensor<2x4x8x16xi32>, %c: tensor<2x4x8x16xi32>) {
  // expected-error @+1 {{operand 'query' (tensor<2x4x8x16xi32>) must have float elements}}
  %r = "relax.nn.attention"(%a, %b, %c) : (tensor<2x4x8x16xi32>, tensor<2x4x8x16xi32>, tensor<2x4x8x16xi32>) -> tensor<2x4x8x16xi32>
  return
}

// -----

func.func @f(%a: tensor<2x4x8x16xf32>, %b: tensor<2x4x8x16xf16>, %c: tensor<2x4x8x16xf32>) {
  // expected-error @+1 {{must have the same element type}}
  %r = "relax.nn.attention"(%a, %b, %c) : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf16>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x128xf32>, %b: tensor<2x4x8x16xf32>, %c: tensor<2x4x8x16xf32>) {
  // expected-error @+1 {{operand 'query' (tensor<2x4x128xf32>) must be 4-D, but is 3-D}}
  %r = "relax.nn.attention"(%a, %b, %c) : (tensor<2x4x128xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x8x16xf32>, %b: tensor<2x4x128xf32>, %c: tensor<2x4x8x16xf32>) {
  // expected-error @+1 {{operand 'key' (tensor<2x4x128xf32>) must be 4-D, but is 3-D}}
  %r = "relax.nn.attention"(%a, %b, %c) : (tensor<2x4x8x16xf32>, tensor<2x4x128xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x8x16xf32>, %b: tensor<2x4x8x16xf32>, %c: tensor<2x4x128xf32>) {
  // expected-error @+1 {{operand 'value' (tensor<2x4x128xf32>) must be 4-D, but is 3-D}}
  %r = "relax.nn.attention"(%a, %b, %c) : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x128xf32>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x8x16xf32>, %b: tensor<3x4x8x16xf32>, %c: tensor<2x4x8x16xf32>) {
  // expected-error @+1 {{operand 'query' (tensor<2x4x8x16xf32>) and operand 'key' (tensor<3x4x8x16xf32>) must have the same batch size, got 2 and 3}}
  %r = "relax.nn.attention"(%a, %b, %c) : (tensor<2x4x8x16xf32>, tensor<3x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x8x16xf32>, %b: tensor<2x4x8x16xf32>, %c: tensor<3x4x8x16xf32>) {
  // expected-error @+1 {{operand 'value' (tensor<3x4x8x16xf32>) must have the same batch size, got 2 and 3}}
  %r = "relax.nn.attention"(%a, %b, %c) : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<3x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x8x16xf32>, %b: tensor<2x4x8x16xf32>, %c: tensor<2x5x8x16xf32>) {
  // expected-error @+1 {{must have the same length, got 4 and 5}}
  %r = "relax.nn.attention"(%a, %b, %c) : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x5x8x16xf32>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x8x16xf32>, %b: tensor<2x4x8x32xf32>, %c: tensor<2x4x8x16xf32>) {
  // expected-error @+1 {{must have the same size of a head, got 16 and 32}}
  %r = "relax.nn.attention"(%a, %b, %c) : (tensor<2x4x8x16xf32>, tensor<2x4x8x32xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x8x16xf32>, %b: tensor<2x4x3x16xf32>, %c: tensor<2x4x8x16xf32>) {
  // expected-error @+1 {{operand 'query' (tensor<2x4x8x16xf32>) must have a multiple of the heads of operand 'key' (tensor<2x4x3x16xf32>), got 8 and 3}}
  %r = "relax.nn.attention"(%a, %b, %c) : (tensor<2x4x8x16xf32>, tensor<2x4x3x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x8x16xf32>, %b: tensor<2x4x8x16xf32>, %c: tensor<2x4x16x16xf32>) {
  // expected-error @+1 {{must have a multiple of the heads of operand 'value' (tensor<2x4x16x16xf32>), got 8 and 16}}
  %r = "relax.nn.attention"(%a, %b, %c) : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x16x16xf32>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x8x16xf32>, %b: tensor<2x4x8x16xf32>, %c: tensor<2x4x0x16xf32>) {
  // expected-error @+1 {{must have a multiple of the heads of operand 'value' (tensor<2x4x0x16xf32>), got 8 and 0}}
  %r = "relax.nn.attention"(%a, %b, %c) : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x0x16xf32>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x8x16xf32>, %b: tensor<2x4x8x16xf32>, %c: tensor<2x4x8x16xf32>) {
  // expected-error @+1 {{attribute 'causal_mask' expects one of 'TopLeft', 'BottomRight', got 'topLeft'; did you mean 'TopLeft'?}}
  %r = "relax.nn.attention"(%a, %b, %c) {causal_mask = "topLeft"} : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x8x16xf32>, %b: tensor<2x4x8x16xf32>, %c: tensor<2x4x8x16xf32>) {
  // expected-error @+1 {{attribute 'window_size' (0) must be positive}}
  %r = "relax.nn.attention"(%a, %b, %c) {window_size = 0 : i64} : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x8x16xf32>, %b: tensor<2x4x8x16xf32>, %c: tensor<2x4x8x16xf32>) {
  // expected-error @+1 {{attribute 'scale' expects a number, got}}
  %r = "relax.nn.attention"(%a, %b, %c) {scale = "half"} : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x8x16xf32>, %b: tensor<2x4x8x16xf32>, %c: tensor<2x4x8x16xf32>) {
  // expected-error @+1 {{result 'result' is stated as tensor<2x4x8x8xf32>, but tensor<2x4x8x16xf32> is inferred}}
  %r = "relax.nn.attention"(%a, %b, %c) : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x8x16xf32>, %b: tensor<2x4x8x16xf32>, %c: tensor<2x4x8x16xf32>, %d: tensor<2x8x4x4xi1>) {
  // expected-error @+1 {{operand 'bias' (tensor<2x8x4x4xi1>) must have float elements}}
  %r = "relax.nn.attention_bias"(%a, %b, %c, %d) : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x8x4x4xi1>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x8x16xf32>, %b: tensor<2x4x8x16xf32>, %c: tensor<2x4x8x16xf32>, %d: tensor<4x4xf32>) {
  // expected-error @+1 {{operand 'bias' (tensor<4x4xf32>) must be 4-D, but is 2-D}}
  %r = "relax.nn.attention_bias"(%a, %b, %c, %d) : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<4x4xf32>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x8x16xf32>, %b: tensor<2x4x8x16xf32>, %c: tensor<2x4x8x16xf32>, %d: tensor<3x8x4x4xf32>) {
  // expected-error @+1 {{operand 'bias' (tensor<3x8x4x4xf32>) must have size 2 in dimension 0 (batches; 1 broadcasts), got 3}}
  %r = "relax.nn.attention_bias"(%a, %b, %c, %d) : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<3x8x4x4xf32>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x8x16xf32>, %b: tensor<2x4x8x16xf32>, %c: tensor<2x4x8x16xf32>, %d: tensor<2x4x4x4xf32>) {
  // expected-error @+1 {{operand 'bias' (tensor<2x4x4x4xf32>) must have size 8 in dimension 1 (heads; 1 broadcasts), got 4}}
  %r = "relax.nn.attention_bias"(%a, %b, %c, %d) : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x4x4xf32>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x8x16xf32>, %b: tensor<2x4x8x16xf32>, %c: tensor<2x4x8x16xf32>, %d: tensor<2x8x2x4xf32>) {
  // expected-error @+1 {{operand 'bias' (tensor<2x8x2x4xf32>) must have size 4 in dimension 2 (queries; 1 broadcasts), got 2}}
  %r = "relax.nn.attention_bias"(%a, %b, %c, %d) : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x8x2x4xf32>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x8x16xf32>, %b: tensor<2x4x8x16xf32>, %c: tensor<2x4x8x16xf32>, %d: tensor<2x8x4x1xf32>) {
  // expected-error @+1 {{operand 'bias' (tensor<2x8x4x1xf32>) must have size 4 in dimension 3 (keys), got 1}}
  %r = "relax.nn.attention_bias"(%a, %b, %c, %d) : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x8x4x1xf32>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x8x16xf32>, %b: tensor<2x4x8x16xf32>, %c: tensor<2x4x8x16xf32>, %d: tensor<3xi32>, %e: tensor<3xi32>, %f: tensor<i32>) {
  // expected-error @+1 {{operand 'query' (tensor<2x4x8x16xf32>) must have size 1 in dimension 0 (batch), got 2}}
  %r = "relax.nn.attention_var_len"(%a, %b, %c, %d, %e, %f) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0>} : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<3xi32>, tensor<3xi32>, tensor<i32>) -> tensor<1x4x8x16xf32>
  return
}

// -----

func.func @f(%a: tensor<1x4x8x16xf32>, %b: tensor<1x4x8x16xf32>, %c: tensor<1x4x8x16xf32>, %d: tensor<3xi64>, %e: tensor<3xi32>, %f: tensor<i32>) {
  // expected-error @+1 {{operand 'seqstart_q' (tensor<3xi64>) must have elements of type i32}}
  %r = "relax.nn.attention_var_len"(%a, %b, %c, %d, %e, %f) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0>} : (tensor<1x4x8x16xf32>, tensor<1x4x8x16xf32>, tensor<1x4x8x16xf32>, tensor<3xi64>, tensor<3xi32>, tensor<i32>) -> tensor<1x4x8x16xf32>
  return
}

// -----

func.func @f(%a: tensor<1x4x8x16xf32>, %b: tensor<1x4x8x16xf32>, %c: tensor<1x4x8x16xf32>, %d: tensor<3xi32>, %e: tensor<i32>, %f: tensor<i32>) {
  // expected-error @+1 {{operand 'seqstart_k' (tensor<i32>) must be 1-D, but is 0-D}}
  %r = "relax.nn.attention_var_len"(%a, %b, %c, %d, %e, %f) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0>} : (tensor<1x4x8x16xf32>, tensor<1x4x8x16xf32>, tensor<1x4x8x16xf32>, tensor<3xi32>, tensor<i32>, tensor<i32>) -> tensor<1x4x8x16xf32>
  return
}

// -----

func.func @f(%a: tensor<1x4x8x16xf32>, %b: tensor<1x4x8x16xf32>, %c: tensor<1x4x8x16xf32>, %d: tensor<3xi32>, %e: tensor<4xi32>, %f: tensor<i32>) {
  // expected-error @+1 {{must have the same number of sequences, got 3 and 4}}
  %r = "relax.nn.attention_var_len"(%a, %b, %c, %d, %e, %f) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0>} : (tensor<1x4x8x16xf32>, tensor<1x4x8x16xf32>, tensor<1x4x8x16xf32>, tensor<3xi32>, tensor<4xi32>, tensor<i32>) -> tensor<1x4x8x16xf32>
  return
}

// -----

func.func @f(%a: tensor<1x4x8x16xf32>, %b: tensor<1x4x8x16xf32>, %c: tensor<1x4x8x16xf32>, %d: tensor<3xi32>, %e: tensor<3xi32>, %f: tensor<2xi32>) {
  // expected-error @+1 {{operand 'max_seqlen_q' (tensor<2xi32>) must hold one element}}
  %r = "relax.nn.attention_var_len"(%a, %b, %c, %d, %e, %f) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0>} : (tensor<1x4x8x16xf32>, tensor<1x4x8x16xf32>, tensor<1x4x8x16xf32>, tensor<3xi32>, tensor<3xi32>, tensor<2xi32>) -> tensor<1x4x8x16xf32>
  return
}

// -----

func.func @f(%a: tensor<1x4x8x16xf32>, %b: tensor<1x4x8x16xf32>, %c: tensor<1x4x8x16xf32>, %d: tensor<3xi32>, %e: tensor<3xi32>, %f: tensor<f32>) {
  // expected-error @+1 {{operand 'max_seqlen_q' (tensor<f32>) must have elements of type i32}}
  %r = "relax.nn.attention_var_len"(%a, %b, %c, %d, %e, %f) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0>} : (tensor<1x4x8x16xf32>, tensor<1x4x8x16xf32>, tensor<1x4x8x16xf32>, tensor<3xi32>, tensor<3xi32>, tensor<f32>) -> tensor<1x4x8x16xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x8x16xf32>, %b: tensor<2x8x5x16xf32>) {
  %n = "relax.prim_value"() {value = "6"} : () -> i64
  // expected-error @+1 {{operand 'length' (i64) must be at most the rows of operand 'key' (tensor<2x8x5x16xf32>), got 6 and 5}}
  %r = "relax.nn.attention_cached"(%a, %b, %b, %n)
      : (tensor<2x4x8x16xf32>, tensor<2x8x5x16xf32>, tensor<2x8x5x16xf32>, i64) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x8x16xf32>, %b: tensor<2x3x5x16xf32>, %n: i64) {
  // expected-error @+1 {{must have a multiple of the heads of operand 'key'}}
  %r = "relax.nn.attention_cached"(%a, %b, %b, %n)
      : (tensor<2x4x8x16xf32>, tensor<2x3x5x16xf32>, tensor<2x3x5x16xf32>, i64) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x8x16xf32>, %b: tensor<2x8x5x16xf32>, %bias: tensor<1x1x4x5xf32>) {
  %n = "relax.prim_value"() {value = "4"} : () -> i64
  // expected-error @+1 {{operand 'bias' (tensor<1x1x4x5xf32>)}}
  %r = "relax.nn.attention_cached"(%a, %b, %b, %bias, %n)
      : (tensor<2x4x8x16xf32>, tensor<2x8x5x16xf32>, tensor<2x8x5x16xf32>, tensor<1x1x4x5xf32>, i64) -> tensor<2x4x8x16xf32>
  return
}
