// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @f(%b: i1) {
  // expected-error @+1 {{'tir.abs' op operand 'x' (i1) must be floating-point or an integer (iN, uiN or index)}}
  %0 = "tir.abs"(%b) : (i1) -> i1
  return
}

// -----

func.func @f(%i: si8) {
  // expected-error @+1 {{'tir.sign' op operand 'x' (si8) must be floating-point or an integer (iN, uiN or index)}}
  %0 = "tir.sign"(%i) : (si8) -> si8
  return
}

// -----

func.func @f(%i: i32, %u: ui32) {
  // expected-error @+1 {{'tir.floormod' op operand 'x1' (i32) and operand 'x2' (ui32) must have the same type}}
  %0 = "tir.floormod"(%i, %u) : (i32, ui32) -> i32
  return
}

// -----

func.func @f(%x: f32, %i: i32) {
  // expected-error @+1 {{'tir.clip' op operand 'x' (f32) and operand 'min' (i32) must have the same type}}
  %0 = "tir.clip"(%x, %i, %i) : (f32, i32, i32) -> f32
  return
}

// -----

func.func @f(%x: f32, %i: i32) {
  // expected-error @+1 {{'tir.clip' op operand 'x' (f32) and operand 'max' (i32) must have the same type}}
  %0 = "tir.clip"(%x, %x, %i) : (f32, f32, i32) -> f32
  return
}
