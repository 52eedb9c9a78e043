// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s
// RUN: relax-opt %s --canonicalize --cse | FileCheck %s

// CHECK-LABEL: func.func @f
func.func @f(%m: memref<?xf32>, %s: i32, %p: !llvm.ptr) {
  // CHECK: "tir.packed"(%arg0) {func = "my.function", tir.dtypes = ["f32"], tir.types = [tensor<4xf32>]} : (memref<?xf32>) -> memref<?xf32>
  %0 = "tir.packed"(%m) {func = "my.function", tir.dtypes = ["f32"], tir.types = [tensor<4xf32>]} : (memref<?xf32>) -> memref<?xf32>
  // CHECK: "tir.return_unless_ok"(%arg1) : (i32) -> ()
  "tir.return_unless_ok"(%s) : (i32) -> ()
  // CHECK: "tir.give_tensor"(%{{.*}}, %arg2) {dtype = f32} : (memref<?xf32>, !llvm.ptr) -> ()
  "tir.give_tensor"(%0, %p) {dtype = f32} : (memref<?xf32>, !llvm.ptr) -> ()
  // CHECK: "tir.give_object"(%arg2, %arg2) : (!llvm.ptr, !llvm.ptr) -> ()
  "tir.give_object"(%p, %p) : (!llvm.ptr, !llvm.ptr) -> ()
  // CHECK: "tir.release"(%arg2) : (!llvm.ptr) -> ()
  "tir.release"(%p) : (!llvm.ptr) -> ()
  // CHECK: "tir.place"() : () -> !llvm.ptr
  %place = "tir.place"() : () -> !llvm.ptr
  return
}

// CHECK-LABEL: func.func @random_keys
// CHECK-COUNT-2: "tir.random_key"() : () -> i64
func.func @random_keys() -> (i64, i64) {
  %0 = "tir.random_key"() : () -> i64
  %1 = "tir.random_key"() : () -> i64
  return %0, %1 : i64, i64
}
