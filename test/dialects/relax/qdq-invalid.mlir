// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @f(%a: tensor<4xf64>, %b: tensor<f32>, %c: tensor<i8>) {
  // expected-error @+1 {{operand 'data' (tensor<4xf64>) must have elements of f16, bf16 or f32}}
  %r = "relax.quantize"(%a, %b, %c) : (tensor<4xf64>, tensor<f32>, tensor<i8>) -> tensor<4xi8>
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<i8>, %c: tensor<i8>) {
  // expected-error @+1 {{operand 'scale' (tensor<i8>) must have elements of f16, bf16 or f32}}
  %r = "relax.quantize"(%a, %b, %c) : (tensor<4xf32>, tensor<i8>, tensor<i8>) -> tensor<4xi8>
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<f32>, %c: tensor<f32>) {
  // expected-error @+1 {{operand 'zero_point' (tensor<f32>) must have elements of integers of at most 32 bits or floats of at most 16}}
  %r = "relax.quantize"(%a, %b, %c) : (tensor<4xf32>, tensor<f32>, tensor<f32>) -> tensor<4xi8>
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<f32>, %c: tensor<i8>) {
  // expected-error @+1 {{attribute 'out_dtype' (i32) must be integers of at most 16 bits or floats of at most 8}}
  %r = "relax.quantize"(%a, %b, %c) {out_dtype = i32} : (tensor<4xf32>, tensor<f32>, tensor<i8>) -> tensor<4xi32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<4x1xf32>, %c: tensor<i8>) {
  // expected-error @+1 {{operand 'scale' (tensor<4x1xf32>) must be 0-D or 1-D, but is 2-D}}
  %r = "relax.quantize"(%a, %b, %c) : (tensor<4xf32>, tensor<4x1xf32>, tensor<i8>) -> tensor<4xi8>
  return
}

// -----

func.func @f(%a: tensor<2x4xf32>, %b: tensor<f32>, %c: tensor<3xi8>) {
  // expected-error @+1 {{operand 'zero_point' (tensor<3xi8>) must have 1 or 4 elements, as operand 'data' (tensor<2x4xf32>) has along axis 1}}
  %r = "relax.quantize"(%a, %b, %c) : (tensor<2x4xf32>, tensor<f32>, tensor<3xi8>) -> tensor<2x4xi8>
  return
}

// -----

func.func @f(%a: tensor<f32>, %b: tensor<2xf32>, %c: tensor<i8>) {
  // expected-error @+1 {{operand 'scale' (tensor<2xf32>) must have 1 element, as operand 'data' (tensor<f32>) has along axis 0}}
  %r = "relax.quantize"(%a, %b, %c) : (tensor<f32>, tensor<2xf32>, tensor<i8>) -> tensor<i8>
  return
}

// -----

func.func @f(%a: tensor<2x4xf32>, %b: tensor<f32>, %c: tensor<i8>) {
  // expected-error @+1 {{attribute 'axis' (2) is out of range for 2 dimensions: expects -2 to 1}}
  %r = "relax.quantize"(%a, %b, %c) {axis = 2 : i64} : (tensor<2x4xf32>, tensor<f32>, tensor<i8>) -> tensor<2x4xi8>
  return
}

// -----

func.func @f(%a: tensor<?x4xf32, #relax.sym<["n + 2", 4]>>, %b: tensor<?xf32, #relax.sym<["n + 3"]>>, %c: tensor<i8>) {
  // expected-error @+1 {{must have 1 or n + 2 elements, as operand 'data'}}
  %r = "relax.quantize"(%a, %b, %c) {axis = 0 : i64} : (tensor<?x4xf32, #relax.sym<["n + 2", 4]>>, tensor<?xf32, #relax.sym<["n + 3"]>>, tensor<i8>) -> tensor<?x4xi8, #relax.sym<["n + 2", 4]>>
  return
}

// -----

func.func @f(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i8>) {
  // expected-error @+1 {{attribute 'axis' (1) is out of range for 1 dimensions: expects -1 to 0}}
  %r = "relax.quantize"(%a, %b, %c) {axis = 1 : i64} : (tensor<f32>, tensor<f32>, tensor<i8>) -> tensor<i8>
  return
}

// -----

func.func @f(%a: tensor<4xi64>, %b: tensor<f32>, %c: tensor<i8>) {
  // expected-error @+1 {{operand 'data' (tensor<4xi64>) must have elements of integers of at most 32 bits or floats of at most 16, or f32}}
  %r = "relax.dequantize"(%a, %b, %c) : (tensor<4xi64>, tensor<f32>, tensor<i8>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xi8>, %b: tensor<f32>, %c: tensor<i8>) {
  // expected-error @+1 {{attribute 'out_dtype' (i8) must be f16, bf16 or f32}}
  %r = "relax.dequantize"(%a, %b, %c) {out_dtype = i8} : (tensor<4xi8>, tensor<f32>, tensor<i8>) -> tensor<4xi8>
  return
}

// -----

func.func @f(%a: tensor<2x4xi8>, %b: tensor<3xf32>, %c: tensor<i8>) {
  // expected-error @+1 {{operand 'scale' (tensor<3xf32>) must have 1 or 4 elements, as operand 'data' (tensor<2x4xi8>) has along axis 1}}
  %r = "relax.dequantize"(%a, %b, %c) : (tensor<2x4xi8>, tensor<3xf32>, tensor<i8>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xi32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i8>) {
  // expected-error @+1 {{operand 'multiplier' (tensor<f32>) must have elements of i16 for form 'q15'}}
  %r = "relax.requantize"(%a, %b, %c, %d) {form = "q15"} : (tensor<4xi32>, tensor<f32>, tensor<i32>, tensor<i8>) -> tensor<4xi8>
  return
}

// -----

func.func @f(%a: tensor<4xi32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i8>) {
  // expected-error @+1 {{attribute 'double_rounding' (True) needs form 'q31', got 'float'}}
  %r = "relax.requantize"(%a, %b, %c, %d) {double_rounding = true} : (tensor<4xi32>, tensor<f32>, tensor<i32>, tensor<i8>) -> tensor<4xi8>
  return
}

// -----

func.func @f(%a: tensor<4xi32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<ui8>) {
  // expected-error @+1 {{operand 'zero_point' (tensor<ui8>) must have elements of i8 or i32}}
  %r = "relax.requantize"(%a, %b, %c, %d) : (tensor<4xi32>, tensor<f32>, tensor<i32>, tensor<ui8>) -> tensor<4xi8>
  return
}

// -----

func.func @f(%a: tensor<2x4xi32>, %b: tensor<f32>, %c: tensor<3xi32>, %d: tensor<i8>) {
  // expected-error @+1 {{operand 'shift' (tensor<3xi32>) must have 1 or 4 elements, as operand 'data' (tensor<2x4xi32>) has along axis 1}}
  %r = "relax.requantize"(%a, %b, %c, %d) : (tensor<2x4xi32>, tensor<f32>, tensor<3xi32>, tensor<i8>) -> tensor<2x4xi8>
  return
}
