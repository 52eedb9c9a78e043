// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: f32) {
  // expected-error @+1 {{'tir.prefetch' op operand 'address' (f32) must be a memref of known rank or a pointer}}
  "tir.prefetch"(%x) : (f32) -> ()
  return
}

// -----

func.func @f(%m: memref<*xf32>) {
  // expected-error @+1 {{'tir.prefetch' op operand 'address' (memref<*xf32>) must be a memref of known rank or a pointer}}
  "tir.prefetch"(%m) : (memref<*xf32>) -> ()
  return
}

// -----

func.func @f(%m: memref<4x4xf32>, %i: index) {
  // expected-error @+1 {{'tir.prefetch' op operand 'address' (memref<4x4xf32>) takes 2 indices, got 1}}
  "tir.prefetch"(%m, %i) : (memref<4x4xf32>, index) -> ()
  return
}

// -----

func.func @f(%p: !llvm.ptr, %i: index) {
  // expected-error @+1 {{'tir.prefetch' op operand 'address' (!llvm.ptr) takes 0 indices, got 1}}
  "tir.prefetch"(%p, %i) : (!llvm.ptr, index) -> ()
  return
}

// -----

func.func @f(%m: memref<4xf32>, %i: i32) {
  // expected-error @+1 {{'tir.prefetch' op operand 'indices' #0 (i32) must be of type index}}
  "tir.prefetch"(%m, %i) : (memref<4xf32>, i32) -> ()
  return
}

// -----

func.func @f(%p: !llvm.ptr) {
  // expected-error @+1 {{'tir.prefetch' op attribute 'locality' (4) must be between 0 (none) and 3 (keep close)}}
  "tir.prefetch"(%p) {locality = 4} : (!llvm.ptr) -> ()
  return
}

// -----

func.func @f(%p: !llvm.ptr) {
  // expected-error @+1 {{'tir.prefetch' op attribute 'rw' expects one of 'read', 'write', got 'reed'; did you mean 'read'?}}
  "tir.prefetch"(%p) {rw = "reed"} : (!llvm.ptr) -> ()
  return
}

// -----

func.func @f(%p: !llvm.ptr) {
  // expected-error @+1 {{'tir.prefetch' op attribute 'cache' expects one of 'data', 'instruction', got 3 : i64}}
  "tir.prefetch"(%p) {cache = 3} : (!llvm.ptr) -> ()
  return
}
