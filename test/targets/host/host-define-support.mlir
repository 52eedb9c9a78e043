// RUN: relax-opt %s --host-define-support | FileCheck %s

// Programs declare shared support functions; the pass defines them, with all that they call, as private.
// CHECK-NOT: llvm.func hidden
// CHECK-LABEL: llvm.func @main(
// CHECK: llvm.call @__relax_give_object(
llvm.func hidden @__relax_give_object(!llvm.ptr, !llvm.ptr) -> i32
llvm.func @main(%any: !llvm.ptr, %place: !llvm.ptr) -> i32 {
  %0 = llvm.call @__relax_give_object(%any, %place) : (!llvm.ptr, !llvm.ptr) -> i32
  llvm.return %0 : i32
}
// CHECK-DAG: llvm.func @TVMFFIObjectIncRef(!llvm.ptr) -> i32
// CHECK-DAG: llvm.func internal @__relax_fail(
// CHECK: llvm.func internal @__relax_give_object(
// CHECK: llvm.call @TVMFFIObjectIncRef(
