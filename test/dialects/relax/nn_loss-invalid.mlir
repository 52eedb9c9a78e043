// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @f(%a: tensor<3x5xi32>, %b: tensor<3x5xi32>) {
  // expected-error @+1 {{operand 'predictions' (tensor<3x5xi32>) must have float elements}}
  %r = "relax.nn.cross_entropy_with_logits"(%a, %b) : (tensor<3x5xi32>, tensor<3x5xi32>) -> tensor<i32>
  return
}

// -----

func.func @f(%a: tensor<3x5xf32>, %b: tensor<3x5xf64>) {
  // expected-error @+1 {{operand 'predictions' (tensor<3x5xf32>) and operand 'labels' (tensor<3x5xf64>) must have the same element type}}
  %r = "relax.nn.cross_entropy_with_logits"(%a, %b) : (tensor<3x5xf32>, tensor<3x5xf64>) -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<3x5xf32>, %b: tensor<3x4xf32>) {
  // expected-error @+1 {{operand 'labels' (tensor<3x4xf32>) must have the shape of operand 'predictions' (tensor<3x5xf32>)}}
  %r = "relax.nn.cross_entropy_with_logits"(%a, %b) : (tensor<3x5xf32>, tensor<3x4xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<3x5xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{operand 'labels' (tensor<3xf32>) must have the shape of operand 'predictions' (tensor<3x5xf32>)}}
  %r = "relax.nn.cross_entropy_with_logits"(%a, %b) : (tensor<3x5xf32>, tensor<3xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<3x5xi32>, %b: tensor<3xi32>) {
  // expected-error @+1 {{operand 'predictions' (tensor<3x5xi32>) must have float elements}}
  %r = "relax.nn.nll_loss"(%a, %b) : (tensor<3x5xi32>, tensor<3xi32>) -> tensor<i32>
  return
}

// -----

func.func @f(%a: tensor<3x5xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{operand 'targets' (tensor<3xf32>) must have int elements}}
  %r = "relax.nn.nll_loss"(%a, %b) : (tensor<3x5xf32>, tensor<3xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<f32>, %b: tensor<i64>) {
  // expected-error @+1 {{operand 'predictions' (tensor<f32>) must be at least 1-D}}
  %r = "relax.nn.nll_loss"(%a, %b) : (tensor<f32>, tensor<i64>) -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<3x5xf32>, %b: tensor<4xi64>) {
  // expected-error @+1 {{operand 'targets' (tensor<4xi64>) must have the shape of operand 'predictions' (tensor<3x5xf32>) without classes}}
  %r = "relax.nn.nll_loss"(%a, %b) : (tensor<3x5xf32>, tensor<4xi64>) -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<3x5xf32>, %b: tensor<i64>) {
  // expected-error @+1 {{operand 'targets' (tensor<i64>) must have the shape of operand 'predictions' (tensor<3x5xf32>) without classes}}
  %r = "relax.nn.nll_loss"(%a, %b) : (tensor<3x5xf32>, tensor<i64>) -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<5xf32>, %b: tensor<1xi64>) {
  // expected-error @+1 {{operand 'targets' (tensor<1xi64>) must have the shape of operand 'predictions' (tensor<5xf32>) without classes}}
  %r = "relax.nn.nll_loss"(%a, %b) : (tensor<5xf32>, tensor<1xi64>) -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<3x5xf32>, %b: tensor<3xi64>, %c: tensor<5xf16>) {
  // expected-error @+1 {{operand 'predictions' (tensor<3x5xf32>) and operand 'weights' (tensor<5xf16>) must have the same element type}}
  %r = "relax.nn.nll_loss"(%a, %b, %c) : (tensor<3x5xf32>, tensor<3xi64>, tensor<5xf16>) -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<3x5xf32>, %b: tensor<3xi64>, %c: tensor<1x5xf32>) {
  // expected-error @+1 {{operand 'weights' (tensor<1x5xf32>) must be 1-D, but is 2-D}}
  %r = "relax.nn.nll_loss"(%a, %b, %c) : (tensor<3x5xf32>, tensor<3xi64>, tensor<1x5xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<3x5xf32>, %b: tensor<3xi64>, %c: tensor<3xf32>) {
  // expected-error @+1 {{operand 'predictions' (tensor<3x5xf32>) and operand 'weights' (tensor<3xf32>) must have the same number of classes, got 5 and 3}}
  %r = "relax.nn.nll_loss"(%a, %b, %c) : (tensor<3x5xf32>, tensor<3xi64>, tensor<3xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<5xf32>, %b: tensor<i64>, %c: tensor<3xf32>) {
  // expected-error @+1 {{must have the same number of classes, got 5 and 3}}
  %r = "relax.nn.nll_loss"(%a, %b, %c) : (tensor<5xf32>, tensor<i64>, tensor<3xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<3x5xf32>, %b: tensor<3xi64>) {
  // expected-error @+1 {{attribute 'reduction' expects one of 'none', 'sum', 'mean', got 'avg'}}
  %r = "relax.nn.nll_loss"(%a, %b) {reduction = "avg"} : (tensor<3x5xf32>, tensor<3xi64>) -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<3x5xf32>, %b: tensor<3xi64>) {
  // expected-error @+1 {{result 'result' is stated as tensor<3xf32>, but tensor<f32> is inferred}}
  %r = "relax.nn.nll_loss"(%a, %b) : (tensor<3x5xf32>, tensor<3xi64>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%a: tensor<3x5xf32>) {
  // expected-error @+1 {{expects 2 or 3 operands (predictions, targets, weights), got 1: missing 'targets'}}
  %r = "relax.nn.nll_loss"(%a) : (tensor<3x5xf32>) -> tensor<f32>
  return
}
