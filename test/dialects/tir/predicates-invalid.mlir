// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @f(%i: i32) {
  // expected-error @+1 {{'tir.isnan' op operand 'x' (i32) must be floating-point}}
  %0 = "tir.isnan"(%i) : (i32) -> i1
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{'tir.isinf' op result 'result' is stated as i8, but i1 is inferred}}
  %0 = "tir.isinf"(%x) : (f32) -> i8
  return
}

// -----

func.func @f(%v: vector<4xf32>) {
  // expected-error @+1 {{'tir.signbit' op result 'result' is stated as i1, but vector<4xi1> is inferred}}
  %0 = "tir.signbit"(%v) : (vector<4xf32>) -> i1
  return
}
