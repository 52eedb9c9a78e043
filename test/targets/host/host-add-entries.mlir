// RUN: relax-opt %s --host-add-entries | FileCheck %s
// RUN: relax-opt %s --host-add-entries --host-add-entries | FileCheck %s

// Public functions of the graph get an entry; everything else is private.
// CHECK: module attributes {relax.entries = ["{\22inputs\22: [{{.*}}\22name\22: \22x\22{{.*}}\22name\22: \22main\22{{.*}}", "{\22inputs\22: [
// CHECK-SAME: \22kind\22: \22list\22, \22name\22: \22xs\22}, {{.*}}\22name\22: \22y\22, {{.*}}\22written\22: true}], \22name\22: \22into\22{{.*}}"]}
// CHECK: func.func private @main({{.*}}llvm.linkage = #llvm.linkage<internal>
func.func @main(%x: memref<?xf32>, %y: memref<?xf32>) attributes {relax.inputs = [tensor<?xf32, #relax.sym<["n"]>>],
    relax.results = [tensor<?xf32, #relax.sym<["n + 1"]>>], relax.input_names = ["x"]} {
  return
}
// The entry checks the number of arguments, each of them, and the sizes of results before it asks for memory.
// CHECK: func.func @__tvm_ffi_main(%{{.*}}: !llvm.ptr, %[[ARGS:.*]]: !llvm.ptr, %{{.*}}: i32, %[[RESULT:.*]]: !llvm.ptr)
// CHECK: "tir.assert"({{.*}}) {kind = "TypeError", message = "expected 1 argument (x), got {}"}
// CHECK: %[[STATUS:.*]] = llvm.call @__relax_check_tensor(%[[ARGS]], {{.*}}, %[[OUT:.*]])
// CHECK-NEXT: "tir.return_unless_ok"(%[[STATUS]])
// CHECK: "tir.assert"({{.*}}) {kind = "ValueError", message = "the size 'n + 1' does not fit in 64 bits"}
// CHECK: llvm.call @__relax_allocate(
// CHECK: call @main(%{{.*}}, %{{.*}}) : (memref<?xf32>, memref<?xf32>) -> ()
// CHECK: llvm.call @__relax_move(%[[SLOT:.*]], %[[RESULT]])
// CHECK-NEXT: "tir.release"(%[[SLOT]])
// CHECK-NEXT: return

// CHECK: func.func private @helper() attributes {llvm.linkage = #llvm.linkage<internal>
// CHECK-NOT: @__tvm_ffi_helper
func.func private @helper() attributes {relax.inputs = [], relax.results = [], relax.input_names = []} {
  return
}
// CHECK: func.func private @exp() attributes {llvm.linkage
func.func @exp() {
  return
}
// A write to an input is recorded by the input's number.
func.func @into(%a: memref<4xf32>, %b: memref<4xf32>, %y: memref<4xf32>) attributes {
    relax.inputs = [tensor<4xf32>, tensor<4xf32>, tensor<4xf32>], relax.results = [],
    relax.input_names = ["a", "b", "c"], relax.written = array<i64: 2>, relax.input_groups = [
      {kind = "list", size = 2 : i64, name = "xs"}, {kind = "value", size = 1 : i64, name = "y"}]} {
  return
}
