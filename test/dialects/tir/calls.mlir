// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @extern
func.func @extern(%s: f32, %i: i32, %v: vector<4xf32>, %m: memref<?x4xf32, strided<[?, 1]>>, %p: !llvm.ptr) {
  // CHECK: "tir.call_extern"() {func = "VTADepPop"} : () -> ()
  "tir.call_extern"() {func = "VTADepPop"} : () -> ()
  // CHECK: "tir.call_extern"({{.*}}) {func = "VTADepPop"} : (i32, i32) -> i32
  %0 = "tir.call_extern"(%i, %i) {func = "VTADepPop"} : (i32, i32) -> i32
  // CHECK: "tir.call_extern"({{.*}}) {func = "sum"} : (memref<?x4xf32, strided<[?, 1]>>) -> f32
  %1 = "tir.call_extern"(%m) {func = "sum"} : (memref<?x4xf32, strided<[?, 1]>>) -> f32
  // CHECK: "tir.call_extern"({{.*}}) {func = "next"} : (!llvm.ptr) -> !llvm.ptr
  %2 = "tir.call_extern"(%p) {func = "next"} : (!llvm.ptr) -> !llvm.ptr
  // CHECK: "tir.call_extern"({{.*}}) {func = "all"} : (f32, i32, vector<4xf32>, memref<?x4xf32, strided<[?, 1]>>, !llvm.ptr) -> ()
  "tir.call_extern"(%s, %i, %v, %m, %p) {func = "all"}
      : (f32, i32, vector<4xf32>, memref<?x4xf32, strided<[?, 1]>>, !llvm.ptr) -> ()
  // CHECK: "tir.call_pure_extern"({{.*}}) {func = "sinf"} : (f32) -> f32
  %3 = "tir.call_pure_extern"(%s) {func = "sinf"} : (f32) -> f32
  // CHECK: "tir.call_pure_extern"({{.*}}) {func = "_ZGVbN4v_sinf"} : (vector<4xf32>) -> vector<4xf32>
  %4 = "tir.call_pure_extern"(%v) {func = "_ZGVbN4v_sinf"} : (vector<4xf32>) -> vector<4xf32>
  return
}

// CHECK-LABEL: func.func @packed
func.func @packed(%x: i64, %m: memref<4xf32>, %p: !llvm.ptr, %o: !relax.object) {
  // CHECK: "tir.call_packed"({{.*}}) {func = "my.log"} : (memref<4xf32>) -> ()
  "tir.call_packed"(%m) {func = "my.log"} : (memref<4xf32>) -> ()
  // CHECK: "tir.call_packed"({{.*}}) {func = "my.count"} : (i64) -> i64
  %0 = "tir.call_packed"(%x) {func = "my.count"} : (i64) -> i64
  // CHECK: "tir.call_packed"({{.*}}) {func = "my.make"} : (!relax.object) -> !relax.object
  %1 = "tir.call_packed"(%o) {func = "my.make"} : (!relax.object) -> !relax.object
  // CHECK: "tir.call_packed"({{.*}}) {func = "my.free"} : (!llvm.ptr) -> ()
  "tir.call_packed"(%p) {func = "my.free"} : (!llvm.ptr) -> ()
  return
}
