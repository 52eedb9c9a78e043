// RUN: relax-opt %s --host-define-support | FileCheck %s

// What programs share is declared in them; here it is defined, with all that it calls, and visible to nobody else.
// CHECK-NOT: llvm.func hidden
// CHECK-LABEL: llvm.func @main(
// CHECK: llvm.call @__relax_fail_type(
llvm.func hidden @__relax_fail_type(!llvm.ptr, i32) -> i32
llvm.func @main(%format: !llvm.ptr, %index: i32) -> i32 {
  %0 = llvm.call @__relax_fail_type(%format, %index) : (!llvm.ptr, i32) -> i32
  llvm.return %0 : i32
}
// CHECK-DAG: llvm.func @TVMFFIGetTypeInfo(i32) -> !llvm.ptr
// CHECK-DAG: llvm.func internal @__relax_fail(
// CHECK: llvm.func internal @__relax_fail_type(
// CHECK: llvm.call @__relax_fail(
