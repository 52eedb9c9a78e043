// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @prefetch
func.func @prefetch(%m: memref<4x?xf32>, %s: memref<f32>, %p: !llvm.ptr, %q: !llvm.ptr<1>, %i: index) {
  // CHECK: "tir.prefetch"({{.*}}) : (memref<4x?xf32>, index, index) -> ()
  "tir.prefetch"(%m, %i, %i) : (memref<4x?xf32>, index, index) -> ()
  // CHECK: "tir.prefetch"({{.*}}) : (memref<f32>) -> ()
  "tir.prefetch"(%s) : (memref<f32>) -> ()
  // CHECK: "tir.prefetch"({{.*}}) {cache = "instruction", locality = 0 : i64, rw = "write"} : (!llvm.ptr) -> ()
  "tir.prefetch"(%p) {rw = "write", locality = 0, cache = "instruction"} : (!llvm.ptr) -> ()
  // CHECK: "tir.prefetch"({{.*}}) : (!llvm.ptr<1>) -> ()
  "tir.prefetch"(%q) : (!llvm.ptr<1>) -> ()
  return
}
