// RUN: relax-opt %s --host-add-entries | FileCheck %s

// Public functions of the graph get an entry; everything else is nobody's business outside.
// CHECK: module attributes {relax.entries = ["{\22inputs\22: [{{.*}}\22name\22: \22x\22{{.*}}\22name\22: \22main\22{{.*}}"]}
// CHECK: llvm.func internal @main_impl(
// CHECK-NOT: relax.inputs
// CHECK: llvm.func internal @helper_impl(
// CHECK: llvm.func internal @exp()
// CHECK-NOT: @__tvm_ffi_helper
// CHECK: llvm.func @__tvm_ffi_main(
llvm.func @main(%p: !llvm.ptr, %a: !llvm.ptr, %o: i64, %s: i64, %t: i64) -> i32
    attributes {relax.inputs = [tensor<?xf32, #relax.sym<["n"]>>], relax.results = [], relax.input_names = ["x"]} {
  %0 = llvm.mlir.constant(0 : i32) : i32
  llvm.return %0 : i32
}
llvm.func @helper() -> i32
    attributes {sym_visibility = "private", relax.inputs = [], relax.results = [], relax.input_names = []} {
  %0 = llvm.mlir.constant(0 : i32) : i32
  llvm.return %0 : i32
}
llvm.func @exp() {
  llvm.return
}
