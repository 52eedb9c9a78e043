// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @gelu(%a: tensor<2x3xi32>) {
  // expected-error @+1 {{'relax.nn.gelu' op operand 'x' (tensor<2x3xi32>) must have float elements}}
  %r = "relax.nn.gelu"(%a) : (tensor<2x3xi32>) -> tensor<2x3xi32>
  return
}

// -----

func.func @gelu_tanh(%a: tensor<2x3xi32>) {
  // expected-error @+1 {{'relax.nn.gelu_tanh' op operand 'x' (tensor<2x3xi32>) must have float elements}}
  %r = "relax.nn.gelu_tanh"(%a) : (tensor<2x3xi32>) -> tensor<2x3xi32>
  return
}

// -----

func.func @selu(%a: tensor<2x3xi32>) {
  // expected-error @+1 {{'relax.nn.selu' op operand 'x' (tensor<2x3xi32>) must have float elements}}
  %r = "relax.nn.selu"(%a) : (tensor<2x3xi32>) -> tensor<2x3xi32>
  return
}

// -----

func.func @silu(%a: tensor<2x3xi32>) {
  // expected-error @+1 {{'relax.nn.silu' op operand 'x' (tensor<2x3xi32>) must have float elements}}
  %r = "relax.nn.silu"(%a) : (tensor<2x3xi32>) -> tensor<2x3xi32>
  return
}

// -----

func.func @leakyrelu(%a: tensor<2x3xi32>) {
  // expected-error @+1 {{'relax.nn.leakyrelu' op operand 'data' (tensor<2x3xi32>) must have float elements}}
  %r = "relax.nn.leakyrelu"(%a) : (tensor<2x3xi32>) -> tensor<2x3xi32>
  return
}

// -----

func.func @softplus(%a: tensor<2x3xi32>) {
  // expected-error @+1 {{'relax.nn.softplus' op operand 'data' (tensor<2x3xi32>) must have float elements}}
  %r = "relax.nn.softplus"(%a) : (tensor<2x3xi32>) -> tensor<2x3xi32>
  return
}

// -----

func.func @softmax(%a: tensor<2x3xi32>) {
  // expected-error @+1 {{'relax.nn.softmax' op operand 'data' (tensor<2x3xi32>) must have float elements}}
  %r = "relax.nn.softmax"(%a) : (tensor<2x3xi32>) -> tensor<2x3xi32>
  return
}

// -----

func.func @log_softmax(%a: tensor<2x3xi32>) {
  // expected-error @+1 {{'relax.nn.log_softmax' op operand 'data' (tensor<2x3xi32>) must have float elements}}
  %r = "relax.nn.log_softmax"(%a) : (tensor<2x3xi32>) -> tensor<2x3xi32>
  return
}

// -----

func.func @relu(%a: tensor<2xi1>) {
  // expected-error @+1 {{operand 'x' (tensor<2xi1>) must have float or int elements}}
  %r = "relax.nn.relu"(%a) : (tensor<2xi1>) -> tensor<2xi1>
  return
}

// -----

func.func @prelu(%a: tensor<2x3xi32>, %b: tensor<3xi32>) {
  // expected-error @+1 {{operand 'data' (tensor<2x3xi32>) must have float elements}}
  %r = "relax.nn.prelu"(%a, %b) : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  return
}

// -----

func.func @prelu(%a: tensor<2x3xf32>, %b: tensor<3xf16>) {
  // expected-error @+1 {{operand 'data' (tensor<2x3xf32>) and operand 'alpha' (tensor<3xf16>) must have the same element type}}
  %r = "relax.nn.prelu"(%a, %b) : (tensor<2x3xf32>, tensor<3xf16>) -> tensor<2x3xf32>
  return
}

// -----

func.func @prelu(%a: tensor<2x3xf32>, %b: tensor<2xf32>) {
  // expected-error @+1 {{operand 'alpha' (tensor<2xf32>) must have 1 element or 3, the size of the data along axis 1}}
  %r = "relax.nn.prelu"(%a, %b) : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @prelu(%a: tensor<2x3xf32>, %b: tensor<1x3xf32>) {
  // expected-error @+1 {{operand 'alpha' (tensor<1x3xf32>) must be 1-D, but is 2-D}}
  %r = "relax.nn.prelu"(%a, %b) : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @prelu(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  // expected-error @+1 {{attribute 'axis' (1) is out of range for 1 dimensions: expects -1 to 0}}
  %r = "relax.nn.prelu"(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @softplus(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{attribute 'beta' (0.0) must not be 0: the result is divided by it}}
  %r = "relax.nn.softplus"(%a) {beta = 0.0} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @softmax(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{attribute 'axis' (2) is out of range for 2 dimensions: expects -2 to 1}}
  %r = "relax.nn.softmax"(%a) {axis = 2} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @log_softmax(%a: tensor<f32>) {
  // expected-error @+1 {{attribute 'axis' (-1) is out of range: a 0-D tensor has no axes}}
  %r = "relax.nn.log_softmax"(%a) : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @dropout(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{attribute 'rate' (1.5) must be between 0 and 1}}
  %r:2 = "relax.nn.dropout"(%a) {rate = 1.5} : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @dropout(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{result #1 ('mask') is stated as tensor<2x3xi1>, but tensor<2x3xf32> is inferred}}
  %r:2 = "relax.nn.dropout"(%a) : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xi1>)
  return
}
