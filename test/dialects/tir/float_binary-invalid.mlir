// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: f32, %y: f64) {
  // expected-error @+1 {{'tir.pow' op operand 'x1' (f32) and operand 'x2' (f64) must have the same type}}
  %0 = "tir.pow"(%x, %y) : (f32, f64) -> f32
  return
}

// -----

func.func @f(%x: f32, %v: vector<4xf32>) {
  // expected-error @+1 {{'tir.pow' op operand 'x1' (f32) and operand 'x2' (vector<4xf32>) must have the same type: nothing broadcasts here (vector.broadcast makes a vector of a scalar)}}
  %0 = "tir.pow"(%x, %v) : (f32, vector<4xf32>) -> vector<4xf32>
  return
}

// -----

func.func @f(%v: vector<4xf32>, %w: vector<8xf32>) {
  // expected-error @+1 {{'tir.hypot' op operand 'x1' (vector<4xf32>) and operand 'x2' (vector<8xf32>) must have the same type}}
  %0 = "tir.hypot"(%v, %w) : (vector<4xf32>, vector<8xf32>) -> vector<4xf32>
  return
}

// -----

func.func @f(%v: vector<4xf32>, %w: vector<[4]xf32>) {
  // expected-error @+1 {{must have the same type}}
  %0 = "tir.hypot"(%v, %w) : (vector<4xf32>, vector<[4]xf32>) -> vector<4xf32>
  return
}

// -----

func.func @f(%i: i32) {
  // expected-error @+1 {{'tir.atan2' op operand 'x1' (i32) must be floating-point}}
  %0 = "tir.atan2"(%i, %i) : (i32, i32) -> i32
  return
}

// -----

func.func @f(%x: f32, %y: f16) {
  // expected-error @+1 {{'tir.fma' op operand 'x1' (f32) and operand 'x3' (f16) must have the same type}}
  %0 = "tir.fma"(%x, %x, %y) : (f32, f32, f16) -> f32
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{'tir.ldexp' op operand 'x2' (f32) must be an integer (iN, uiN or index)}}
  %0 = "tir.ldexp"(%x, %x) : (f32, f32) -> f32
  return
}

// -----

func.func @f(%i: i32) {
  // expected-error @+1 {{'tir.scalbn' op operand 'x1' (i32) must be floating-point}}
  %0 = "tir.scalbn"(%i, %i) : (i32, i32) -> i32
  return
}

// -----

func.func @f(%v: vector<4xf32>, %w: vector<2xi32>) {
  // expected-error @+1 {{'tir.ldexp' op operand 'x1' (vector<4xf32>) and operand 'x2' (vector<2xi32>) must have the same shape}}
  %0 = "tir.ldexp"(%v, %w) : (vector<4xf32>, vector<2xi32>) -> vector<4xf32>
  return
}

// -----

func.func @f(%v: vector<4xf32>, %i: i32) {
  // expected-error @+1 {{'tir.ldexp' op operand 'x1' (vector<4xf32>) and operand 'x2' (i32) must have the same shape: nothing broadcasts here}}
  %0 = "tir.ldexp"(%v, %i) : (vector<4xf32>, i32) -> vector<4xf32>
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{'tir.remquo' op result #1 ('quotient') is stated as f32, but i32 is inferred}}
  %0:2 = "tir.remquo"(%x, %x) : (f32, f32) -> (f32, f32)
  return
}
