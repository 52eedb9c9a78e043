// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{attribute 'axis' (2) is out of range for 2 dimensions: expects -2 to 1}}
  %r = "relax.sum"(%a) {axis = array<i64: 0, 2>} : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{attribute 'axis' ((1, -1)) names axis 1 twice}}
  %r = "relax.prod"(%a) {axis = array<i64: 1, -1>} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<f32>) {
  // expected-error @+1 {{attribute 'axis' (0) is out of range: a 0-D tensor has no axes}}
  %r = "relax.max"(%a) {axis = 0 : i64} : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<4xcomplex<f32>>) {
  // expected-error @+1 {{operand 'x' (tensor<4xcomplex<f32>>) must have float or int or bool elements}}
  %r = "relax.min"(%a) : (tensor<4xcomplex<f32>>) -> tensor<complex<f32>>
  return
}

// -----

func.func @f(%a: tensor<4xi1>) {
  // expected-error @+1 {{operand 'x' (tensor<4xi1>) must have float or int elements}}
  %r = "relax.mean"(%a) : (tensor<4xi1>) -> tensor<i1>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{attribute 'axis' expects}}
  %r = "relax.std"(%a) {axis = "last"} : (tensor<4xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{attribute 'keepdims' expects true or false, got 1 : i64}}
  %r = "relax.variance"(%a) {keepdims = 1 : i64} : (tensor<4xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{has no attribute 'keepdim'; did you mean 'keepdims'?}}
  %r = "relax.variance"(%a) {keepdim = true} : (tensor<4xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<4xi1>) {
  // expected-error @+1 {{operand 'data' (tensor<4xi1>) must have float or int elements}}
  %r = "relax.median"(%a) : (tensor<4xi1>) -> tensor<i1>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{gives 2 results here, but 1 are stated}}
  %r = "relax.median"(%a) {axis = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{result #1 ('indices') is stated as tensor<2xi32>, but tensor<2xi64> is inferred}}
  %r:2 = "relax.median"(%a) {axis = array<i64: 1>} : (tensor<2x3xf32>) -> (tensor<2xf32>, tensor<2xi32>)
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{attribute 'axis' (2) is out of range for 2 dimensions: expects -2 to 1}}
  %r = "relax.argmax"(%a) {axis = 2 : i64} : (tensor<2x3xf32>) -> tensor<2xi64>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{result 'result' is stated as tensor<i32>, but tensor<i64> is inferred}}
  %r = "relax.argmin"(%a) : (tensor<2x3xf32>) -> tensor<i32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{attribute 'axis' (-3) is out of range for 2 dimensions: expects -2 to 1}}
  %r = "relax.cumsum"(%a) {axis = -3 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{result 'result' is stated as tensor<5xf32>, but tensor<6xf32> is inferred}}
  %r = "relax.cumsum"(%a) : (tensor<2x3xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{attribute 'dtype' (complex<f32>) must be a float or int type}}
  %r = "relax.cumprod"(%a) {dtype = complex<f32>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xcomplex<f32>>) {
  // expected-error @+1 {{operand 'data' (tensor<4xcomplex<f32>>) must have float or int or bool elements}}
  %r = "relax.cumprod"(%a) : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xi1>) {
  // expected-error @+1 {{operand 'data' (tensor<4xi1>) has bool elements: attribute 'dtype' must name the result's type}}
  %r = "relax.cumsum"(%a) : (tensor<4xi1>) -> tensor<4xi1>
  return
}

// -----

func.func @f(%a: tensor<4xi32>) {
  // expected-error @+1 {{attribute 'dtype' (i1) must be a float or int type}}
  %r = "relax.cumprod"(%a) {dtype = i1} : (tensor<4xi32>) -> tensor<4xi1>
  return
}
