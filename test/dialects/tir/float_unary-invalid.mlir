// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @f(%i: i32) {
  // expected-error @+1 {{'tir.exp' op operand 'x' (i32) must be floating-point}}
  %0 = "tir.exp"(%i) : (i32) -> i32
  return
}

// -----

func.func @f(%v: vector<4xi8>) {
  // expected-error @+1 {{'tir.sqrt' op operand 'x' (vector<4xi8>) must be floating-point}}
  %0 = "tir.sqrt"(%v) : (vector<4xi8>) -> vector<4xi8>
  return
}

// -----

func.func @f(%t: tensor<4xf32>) {
  // expected-error @+1 {{'tir.exp' op operand 'x' must be a scalar or vector of numbers, got tensor<4xf32>}}
  %0 = "tir.exp"(%t) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%m: memref<4xf32>) {
  // expected-error @+1 {{'tir.exp' op operand 'x' must be a scalar or vector of numbers, got memref<4xf32>}}
  %0 = "tir.exp"(%m) : (memref<4xf32>) -> f32
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{'tir.exp' op result 'result' is stated as f64, but f32 is inferred}}
  %0 = "tir.exp"(%x) : (f32) -> f64
  return
}

// -----

func.func @f(%v: vector<4xf32>) {
  // expected-error @+1 {{'tir.exp' op result 'result' is stated as vector<8xf32>, but vector<4xf32> is inferred}}
  %0 = "tir.exp"(%v) : (vector<4xf32>) -> vector<8xf32>
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{'tir.exp' op expects 1 operand (x), got 2}}
  %0 = "tir.exp"(%x, %x) : (f32, f32) -> f32
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{'tir.exp' op gives 1 result here, but 2 are stated}}
  %0:2 = "tir.exp"(%x) : (f32) -> (f32, f32)
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{'tir.exp' op has no attribute 'fast' (known: none)}}
  %0 = "tir.exp"(%x) {fast = true} : (f32) -> f32
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{'tir.lround' op attribute 'dtype' (f64) must be an integer (iN, uiN or index)}}
  %0 = "tir.lround"(%x) {dtype = f64} : (f32) -> f64
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{'tir.lrint' op attribute 'dtype' expects an element type, got "i32"}}
  %0 = "tir.lrint"(%x) {dtype = "i32"} : (f32) -> i32
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{'tir.lrint' op has no attribute 'dtyp'; did you mean 'dtype'? (known: dtype)}}
  %0 = "tir.lrint"(%x) {dtyp = i32} : (f32) -> i32
  return
}

// -----

func.func @f(%i: i32) {
  // expected-error @+1 {{'tir.lround' op operand 'x' (i32) must be floating-point}}
  %0 = "tir.lround"(%i) : (i32) -> i64
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{'tir.ilogb' op result 'result' is stated as f32, but i32 is inferred}}
  %0 = "tir.ilogb"(%x) : (f32) -> f32
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{'tir.frexp' op result #1 ('exponent') is stated as i64, but i32 is inferred}}
  %0:2 = "tir.frexp"(%x) : (f32) -> (f32, i64)
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{'tir.modf' op result #0 ('fraction') is stated as f64, but f32 is inferred}}
  %0:2 = "tir.modf"(%x) : (f32) -> (f64, f32)
  return
}
