// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @f(%m: memref<?xf32>) {
  // expected-error @+1 {{'tir.packed' op attribute 'tir.dtypes' must be a list of 1}}
  "tir.packed"(%m) {func = "my.function", tir.types = []} : (memref<?xf32>) -> ()
  return
}

// -----

func.func @f(%m: memref<?xf32>) {
  // expected-error @+1 {{'tir.packed' op attribute 'tir.types' must be a list of 0}}
  "tir.packed"(%m) {func = "my.function", tir.dtypes = ["f32"], tir.types = [f32]} : (memref<?xf32>) -> ()
  return
}

// -----

func.func @f(%p: !llvm.ptr) {
  // expected-error @+1 {{'tir.give_tensor' op operand 'source' (!llvm.ptr) must be a memref}}
  "tir.give_tensor"(%p, %p) {dtype = f32} : (!llvm.ptr, !llvm.ptr) -> ()
  return
}

// -----

func.func @place() {
  // expected-error @+1 {{'tir.place' op gives an address, an !llvm.ptr}}
  %0 = "tir.place"() : () -> i64
  return
}
