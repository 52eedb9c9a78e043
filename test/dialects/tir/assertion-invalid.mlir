// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @f(%n: i64) {
  // expected-error @+1 {{'tir.assert' op operand 'condition' (i64) must be a scalar of type i1}}
  "tir.assert"(%n) {message = "no"} : (i64) -> ()
  return
}

// -----

func.func @f(%c: i1, %x: f32) {
  // expected-error @+1 {{'tir.assert' op operand 'numbers' #0 (f32) must be an integer}}
  "tir.assert"(%c, %x) {message = "no {}"} : (i1, f32) -> ()
  return
}

// -----

func.func @f(%c: i1, %n: i64) {
  // expected-error @+1 {{'tir.assert' op shows 4 numbers, at most 3 are possible}}
  "tir.assert"(%c, %n, %n, %n, %n) {message = "{} {} {} {}"} : (i1, i64, i64, i64, i64) -> ()
  return
}

// -----

func.func @f(%c: i1, %n: i64) {
  // expected-error @+1 {{'tir.assert' op attribute 'message' has 2 places {} for 1 numbers}}
  "tir.assert"(%c, %n) {message = "{} {}"} : (i1, i64) -> ()
  return
}

// -----

func.func @f(%c: i1) {
  // expected-error @+1 {{'tir.assert' op attribute 'kind' ('no name') must name a Python exception}}
  "tir.assert"(%c) {message = "no", kind = "no name"} : (i1) -> ()
  return
}
