// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @f(%m: f32, %x: f32, %l: i32) {
  // expected-error @+1 {{'tir.tvm_warp_shuffle' op operand 'mask' (f32) must be an integer scalar}}
  %0 = "tir.tvm_warp_shuffle"(%m, %x, %l) : (f32, f32, i32) -> f32
  return
}

// -----

func.func @f(%m: i8, %x: f32, %l: i32) {
  // expected-error @+1 {{'tir.tvm_warp_shuffle' op operand 'mask' (i8) must have 32 or 64 bits}}
  %0 = "tir.tvm_warp_shuffle"(%m, %x, %l) : (i8, f32, i32) -> f32
  return
}

// -----

func.func @f(%m: i32, %x: f32, %l: vector<2xi32>) {
  // expected-error @+1 {{'tir.tvm_warp_shuffle' op operand 'warp_id' (vector<2xi32>) must be an integer scalar}}
  %0 = "tir.tvm_warp_shuffle"(%m, %x, %l) : (i32, f32, vector<2xi32>) -> f32
  return
}

// -----

func.func @f(%m: i32, %x: f32, %l: f32) {
  // expected-error @+1 {{'tir.tvm_warp_shuffle_up' op operand 'offset' (f32) must be an integer scalar}}
  %0 = "tir.tvm_warp_shuffle_up"(%m, %x, %l) : (i32, f32, f32) -> f32
  return
}

// -----

func.func @f(%m: i32, %x: f32, %l: f32) {
  // expected-error @+1 {{'tir.tvm_warp_shuffle_xor' op operand 'lane_mask' (f32) must be an integer scalar}}
  %0 = "tir.tvm_warp_shuffle_xor"(%m, %x, %l) : (i32, f32, f32) -> f32
  return
}

// -----

func.func @f(%m: i32, %x: memref<f32>, %l: i32) {
  // expected-error @+1 {{'tir.tvm_warp_shuffle_down' op operand 'value' must be a scalar or vector of numbers, got memref<f32>}}
  %0 = "tir.tvm_warp_shuffle_down"(%m, %x, %l) : (i32, memref<f32>, i32) -> f32
  return
}

// -----

func.func @f(%m: i32, %x: f32, %l: i32) {
  // expected-error @+1 {{'tir.tvm_warp_shuffle' op attribute 'width' (12) must be a power of two}}
  %0 = "tir.tvm_warp_shuffle"(%m, %x, %l) {width = 12} : (i32, f32, i32) -> f32
  return
}

// -----

func.func @f(%m: i32, %x: f32, %l: i32) {
  // expected-error @+1 {{'tir.tvm_warp_shuffle' op attribute 'warp_size' (0) must be a power of two}}
  %0 = "tir.tvm_warp_shuffle"(%m, %x, %l) {warp_size = 0} : (i32, f32, i32) -> f32
  return
}

// -----

func.func @f(%m: i32, %x: f32, %l: i32) {
  // expected-error @+1 {{'tir.tvm_warp_shuffle' op attribute 'width' (64) must not exceed attribute 'warp_size' (32)}}
  %0 = "tir.tvm_warp_shuffle"(%m, %x, %l) {width = 64} : (i32, f32, i32) -> f32
  return
}

// -----

func.func @f(%m: i32, %x: f32, %l: i32) {
  // expected-error @+1 {{'tir.tvm_warp_shuffle' op result 'result' is stated as i32, but f32 is inferred}}
  %0 = "tir.tvm_warp_shuffle"(%m, %x, %l) : (i32, f32, i32) -> i32
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'tir.tvm_warp_activemask' op attribute 'dtype' (i16) must be i32 or i64}}
  %0 = "tir.tvm_warp_activemask"() {dtype = i16} : () -> i16
  return
}
