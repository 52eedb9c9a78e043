// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{attribute 'dtype' (complex<f32>) must be a float or int or bool type}}
  %r = "relax.astype"(%a) {dtype = complex<f32>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{attribute 'dtype' expects an element type, got tensor<4xf32>}}
  %r = "relax.astype"(%a) {dtype = tensor<4xf32>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{result 'result' is stated as tensor<4xf32>, but tensor<4xi8> is inferred}}
  %r = "relax.astype"(%a) {dtype = i8} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f() {
  %c0 = arith.constant 1.0 : f32
  // expected-error @+1 {{operand 'x' must be a tensor, got f32}}
  %r = "relax.astype"(%c0) {dtype = i8} : (f32) -> tensor<i8>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{attribute 'dtype' (f64) has 64 bits and operand 'x' (tensor<4xf32>) 32: bits stay as many as they are}}
  %r = "relax.bitcast"(%a) {dtype = f64} : (tensor<4xf32>) -> tensor<4xf64>
  return
}
