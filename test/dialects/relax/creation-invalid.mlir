// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @f(%a: !relax.shape<[4]>, %b: tensor<1xf32>) {
  // expected-error @+1 {{operand 'fill_value' (tensor<1xf32>) must be 0-D, but is 1-D}}
  %r = "relax.full"(%a, %b) : (!relax.shape<[4]>, tensor<1xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<2xi64>, %b: tensor<f32>) {
  // expected-error @+1 {{operand 'shape' must be a shape (!relax.shape), got tensor<2xi64>}}
  %r = "relax.full"(%a, %b) : (tensor<2xi64>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: !relax.shape<[4]>, %b: tensor<f32>) {
  // expected-error @+1 {{attribute 'dtype' (complex<f32>) must be a float or int or bool type}}
  %r = "relax.full"(%a, %b) {dtype = complex<f32>} : (!relax.shape<[4]>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<1xf32>) {
  // expected-error @+1 {{operand 'fill_value' (tensor<1xf32>) must be 0-D, but is 1-D}}
  %r = "relax.full_like"(%a, %b) : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<f32>) {
  // expected-error @+1 {{attribute 'dtype' (none) must be a float or int or bool type}}
  %r = "relax.full_like"(%a, %b) {dtype = none} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: !relax.shape<[4]>) {
  // expected-error @+1 {{attribute 'dtype' (complex<f32>) must be a float or int or bool type}}
  %r = "relax.ones"(%a) {dtype = complex<f32>} : (!relax.shape<[4]>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{result 'result' is stated as tensor<4xf32>, but tensor<4xi8> is inferred}}
  %r = "relax.ones_like"(%a) {dtype = i8} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: !relax.shape<[4]>) {
  // expected-error @+1 {{result 'result' is stated as tensor<5xf32>, but tensor<4xf32> is inferred}}
  %r = "relax.zeros"(%a) {dtype = f32} : (!relax.shape<[4]>) -> tensor<5xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{attribute 'dtype' expects an element type, got "f32"}}
  %r = "relax.zeros_like"(%a) {dtype = "f32"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f() {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 4 : i64
  %c2 = arith.constant 0 : i64
  // expected-error @+1 {{operand 'step' must not be zero}}
  %r = "relax.arange"(%c0, %c1, %c2) : (i64, i64, i64) -> tensor<4xi64>
  return
}

// -----

func.func @f() {
  %c0 = arith.constant true
  %c1 = arith.constant 4 : i64
  %c2 = arith.constant 1 : i64
  // expected-error @+1 {{operand 'start' (i1) must be an integer or a float}}
  %r = "relax.arange"(%c0, %c1, %c2) : (i1, i64, i64) -> tensor<4xi64>
  return
}

// -----

func.func @f() {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 0x7FF0000000000000 : f64
  %c2 = arith.constant 1 : i64
  // expected-error @+1 {{cannot count from 0 to inf by 1}}
  %r = "relax.arange"(%c0, %c1, %c2) : (i64, f64, i64) -> tensor<4xf32>
  return
}

// -----

func.func @f() {
  %c0 = arith.constant -9223372036854775808 : i64
  %c1 = arith.constant 9223372036854775807 : i64
  %c2 = arith.constant 1 : i64
  // expected-error @+1 {{gives 18446744073709551615 elements from -9223372036854775808 to 9223372036854775807 by 1, more than a tensor can have}}
  %r = "relax.arange"(%c0, %c1, %c2) : (i64, i64, i64) -> tensor<?xi64>
  return
}

// -----

func.func @f() {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 4 : i64
  %c2 = arith.constant 1 : i64
  // expected-error @+1 {{attribute 'dtype' (i1) must be a float or int type}}
  %r = "relax.arange"(%c0, %c1, %c2) {dtype = i1} : (i64, i64, i64) -> tensor<4xi1>
  return
}

// -----

func.func @f(%a: tensor<i64>) {
  %c1 = arith.constant 4 : i64
  %c2 = arith.constant 1 : i64
  // expected-error @+1 {{operand 'start' must be a scalar, got tensor<i64>}}
  %r = "relax.arange"(%a, %c1, %c2) : (tensor<i64>, i64, i64) -> tensor<4xi64>
  return
}

// -----

func.func @f() {
  %c0 = arith.constant 4 : i64
  // expected-error @+1 {{expects 3 operands (start, end, step), got 1: missing 'end', 'step'}}
  %r = "relax.arange"(%c0) : (i64) -> tensor<4xi64>
  return
}

// -----

func.func @f() {
  %c0 = arith.constant -3 : i64
  %c1 = arith.constant 3 : i64
  %c2 = arith.constant 0 : i64
  // expected-error @+1 {{operand 'n' is a size and cannot be -3}}
  %r = "relax.eye"(%c0, %c1, %c2) : (i64, i64, i64) -> tensor<?x?xf32>
  return
}

// -----

func.func @f() {
  %c0 = arith.constant 3.0 : f64
  %c1 = arith.constant 3 : i64
  %c2 = arith.constant 0 : i64
  // expected-error @+1 {{operand 'n' (f64) must be an integer}}
  %r = "relax.eye"(%c0, %c1, %c2) : (f64, i64, i64) -> tensor<?x?xf32>
  return
}

// -----

func.func @f() {
  %c0 = arith.constant 3 : i64
  %c1 = arith.constant -1 : i64
  %c2 = arith.constant 0 : i64
  // expected-error @+1 {{operand 'm' is a size and cannot be -1}}
  %r = "relax.eye"(%c0, %c1, %c2) : (i64, i64, i64) -> tensor<3x?xf32>
  return
}

// -----

func.func @f() {
  %c0 = arith.constant 3 : i64
  %c1 = arith.constant 3 : i64
  %c2 = arith.constant true
  // expected-error @+1 {{operand 'k' (i1) must be an integer}}
  %r = "relax.eye"(%c0, %c1, %c2) : (i64, i64, i1) -> tensor<3x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3x4xf32>) {
  %c1 = arith.constant 0 : i64
  // expected-error @+1 {{operand 'x' (tensor<2x3x4xf32>) must be 2-D, but is 3-D}}
  %r = "relax.eye_like"(%a, %c1) : (tensor<2x3x4xf32>, i64) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>) {
  %c1 = arith.constant 1.0 : f32
  // expected-error @+1 {{operand 'k' (f32) must be an integer}}
  %r = "relax.eye_like"(%a, %c1) : (tensor<4x4xf32>, f32) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  %c1 = arith.constant 0 : i64
  // expected-error @+1 {{operand 'x' (tensor<4xf32>) must be at least 2-D, but is 1-D}}
  %r = "relax.tril"(%a, %c1) : (tensor<4xf32>, i64) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>) {
  %c1 = arith.constant 1.0 : f32
  // expected-error @+1 {{operand 'k' (f32) must be an integer}}
  %r = "relax.triu"(%a, %c1) : (tensor<4x4xf32>, f32) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  %c1 = arith.constant 1 : i64
  %c2 = arith.constant 0 : i64
  // expected-error @+1 {{operand 'indices' (tensor<4xf32>) must have int elements}}
  %r = "relax.one_hot"(%a, %c1, %c2) {depth = 5 : i64} : (tensor<4xf32>, i64, i64) -> tensor<4x5xi64>
  return
}

// -----

func.func @f(%a: tensor<4xi64>) {
  %c1 = arith.constant 1 : i64
  %c2 = arith.constant 0.0 : f32
  // expected-error @+1 {{operand 'on_value' (i64) and operand 'off_value' (f32) must have the same type}}
  %r = "relax.one_hot"(%a, %c1, %c2) {depth = 5 : i64} : (tensor<4xi64>, i64, f32) -> tensor<4x5xi64>
  return
}

// -----

func.func @f(%a: tensor<4xi64>) {
  %c1 = arith.constant 1 : i64
  %c2 = arith.constant 0 : i64
  // expected-error @+1 {{attribute 'depth' (0) must be positive}}
  %r = "relax.one_hot"(%a, %c1, %c2) {depth = 0 : i64} : (tensor<4xi64>, i64, i64) -> tensor<4x?xi64>
  return
}

// -----

func.func @f(%a: tensor<4xi64>) {
  %c1 = arith.constant 1 : i64
  %c2 = arith.constant 0 : i64
  // expected-error @+1 {{attribute 'axis' (2) is out of range for 2 dimensions: expects -2 to 1}}
  %r = "relax.one_hot"(%a, %c1, %c2) {axis = 2 : i64, depth = 5 : i64} : (tensor<4xi64>, i64, i64) -> tensor<4x5xi64>
  return
}

// -----

func.func @f() {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant true
  %c2 = arith.constant 0.5 : f32
  %c3 = arith.constant 0.5 : f32
  // expected-error @+1 {{operand 'window_size' must be positive, got 0}}
  %r = "relax.hamming_window"(%c0, %c1, %c2, %c3) {dtype = f32} : (i64, i1, f32, f32) -> tensor<?xf32>
  return
}

// -----

func.func @f() {
  %c0 = arith.constant 4.0 : f32
  %c1 = arith.constant true
  %c2 = arith.constant 0.5 : f32
  %c3 = arith.constant 0.5 : f32
  // expected-error @+1 {{operand 'window_size' (f32) must be an integer}}
  %r = "relax.hamming_window"(%c0, %c1, %c2, %c3) {dtype = f32} : (f32, i1, f32, f32) -> tensor<4xf32>
  return
}

// -----

func.func @f() {
  %c0 = arith.constant 4 : i64
  %c1 = arith.constant 1.0 : f32
  %c2 = arith.constant 0.5 : f32
  %c3 = arith.constant 0.5 : f32
  // expected-error @+1 {{operand 'periodic' (f32) must be a boolean}}
  %r = "relax.hamming_window"(%c0, %c1, %c2, %c3) {dtype = f32} : (i64, f32, f32, f32) -> tensor<4xf32>
  return
}

// -----

func.func @f() {
  %c0 = arith.constant 4 : i64
  %c1 = arith.constant true
  %c2 = arith.constant 0.5 : f32
  %c3 = arith.constant true
  // expected-error @+1 {{operand 'beta' (i1) must be an integer or a float}}
  %r = "relax.hamming_window"(%c0, %c1, %c2, %c3) {dtype = f32} : (i64, i1, f32, i1) -> tensor<4xf32>
  return
}

// -----

func.func @f() {
  %c0 = arith.constant 4 : i64
  %c1 = arith.constant true
  %c2 = arith.constant 0.5 : f32
  %c3 = arith.constant 0.5 : f32
  // expected-error @+1 {{attribute 'dtype' (i32) must be a float type}}
  %r = "relax.hamming_window"(%c0, %c1, %c2, %c3) {dtype = i32} : (i64, i1, f32, f32) -> tensor<4xi32>
  return
}
