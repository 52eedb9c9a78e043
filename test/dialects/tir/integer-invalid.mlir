// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: f32) {
  // expected-error @+1 {{'tir.popcount' op operand 'x' (f32) must be an integer (iN, uiN or index)}}
  %0 = "tir.popcount"(%x) : (f32) -> f32
  return
}

// -----

func.func @f(%b: i1) {
  // expected-error @+1 {{'tir.clz' op operand 'x' (i1) must be an integer (iN, uiN or index)}}
  %0 = "tir.clz"(%b) : (i1) -> i1
  return
}

// -----

func.func @f(%i: i32, %j: i64) {
  // expected-error @+1 {{'tir.gcd' op operand 'x1' (i32) and operand 'x2' (i64) must have the same type}}
  %0 = "tir.gcd"(%i, %j) : (i32, i64) -> i32
  return
}

// -----

func.func @f(%i: i32, %j: i64) {
  // expected-error @+1 {{'tir.fshl' op operand 'x1' (i32) and operand 'x3' (i64) must have the same type}}
  %0 = "tir.fshl"(%i, %i, %j) : (i32, i32, i64) -> i32
  return
}

// -----

func.func @f(%i: i64) {
  // expected-error @+1 {{'tir.q_multiply_shift' op operand 'x' (i64) must have elements of type i32}}
  %0 = "tir.q_multiply_shift"(%i, %i, %i) {q = 31} : (i64, i64, i64) -> i64
  return
}

// -----

func.func @f(%i: i32, %v: vector<4xi32>) {
  // expected-error @+1 {{'tir.q_multiply_shift' op operand 'x' (vector<4xi32>) and operand 's' (i32) must have the same type: nothing broadcasts here}}
  %0 = "tir.q_multiply_shift"(%v, %v, %i) {q = 31} : (vector<4xi32>, vector<4xi32>, i32) -> vector<4xi32>
  return
}

// -----

func.func @f(%i: i32) {
  // expected-error @+1 {{'tir.q_multiply_shift' op attribute 'q' (0) must be a number of fractional bits between 1 and 31}}
  %0 = "tir.q_multiply_shift"(%i, %i, %i) {q = 0} : (i32, i32, i32) -> i32
  return
}

// -----

func.func @f(%i: i32) {
  // expected-error @+1 {{'tir.q_multiply_shift' op attribute 'q' (32) must be a number of fractional bits between 1 and 31}}
  %0 = "tir.q_multiply_shift"(%i, %i, %i) {q = 32} : (i32, i32, i32) -> i32
  return
}

// -----

func.func @q_at_its_bounds(%i: i32) {
  %0 = "tir.q_multiply_shift"(%i, %i, %i) {q = 1} : (i32, i32, i32) -> i32
  %1 = "tir.q_multiply_shift"(%i, %i, %i) {q = 31} : (i32, i32, i32) -> i32
  return
}

// -----

func.func @f(%i: i32) {
  // expected-error @+1 {{'tir.q_multiply_shift' op attribute 'q' expects an integer, got 3.100000e+01 : f64}}
  %0 = "tir.q_multiply_shift"(%i, %i, %i) {q = 31.0} : (i32, i32, i32) -> i32
  return
}

// -----

func.func @f(%i: i32) {
  // expected-error @+1 {{'tir.q_multiply_shift' op misses attribute 'q' (an integer)}}
  %0 = "tir.q_multiply_shift"(%i, %i, %i) : (i32, i32, i32) -> i32
  return
}

// -----

func.func @f(%i: i32) {
  // expected-error @+1 {{'tir.q_multiply_shift_per_axis' op attribute 'is_lshift_required' expects true or false, got 1 : i64}}
  %0 = "tir.q_multiply_shift_per_axis"(%i, %i, %i, %i) {q = 31, is_lshift_required = 1, is_rshift_required = false} : (i32, i32, i32, i32) -> i32
  return
}
