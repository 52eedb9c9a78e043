// RUN: relax-opt %s --host-lower-packed | FileCheck %s

// Arguments are described by constants, and lie as words on the stack: a tensor is its address and sizes. Results
// are checked, copied, and released.
// Called functions have slots in one table, which the loader fills with the functions of the program.
// CHECK: module attributes {relax.calls = ["my.function", "my.other"]}
// CHECK-LABEL: func.func @call(
// CHECK: %[[ARRAY:.*]] = builtin.unrealized_conversion_cast %arg0 : memref<?xi8> to !llvm.struct
// CHECK-NEXT: %[[DATA:.*]] = llvm.extractvalue %[[ARRAY]][1]
// CHECK: arith.extsi %arg1 : i8 to i64
// CHECK: %[[SLOT:.*]] = llvm.mlir.addressof @__relax_functions :
// CHECK: llvm.store %[[DATA]], %[[WORDS:[0-9]+]] : !llvm.ptr, !llvm.ptr
// CHECK: %[[STATUS:.*]] = llvm.call @__relax_call(%[[SLOT]], {{.*}}, %[[WORDS]], %[[ANY:[0-9]+]]) :
// CHECK-NEXT: "tir.return_unless_ok"(%[[STATUS]])
// CHECK-NEXT: %[[GIVEN:.*]] = llvm.getelementptr %[[ANY]]
// CHECK: llvm.call @__relax_check_tensor(%[[GIVEN]]
// CHECK: llvm.call @__relax_take_tensor(%[[GIVEN]]
// CHECK: builtin.unrealized_conversion_cast {{.*}} to memref<?xf32>
// CHECK-NEXT: "tir.release"(%[[GIVEN]])
func.func @call(%x: memref<?xi8>, %n: i8) -> memref<?xf32> {
  %0 = "tir.packed"(%x, %n) {func = "my.function", tir.dtypes = ["ui8", "i8"], tir.types = [tensor<?xf32>]}
    : (memref<?xi8>, i8) -> memref<?xf32>
  return %0 : memref<?xf32>
}

// CHECK-LABEL: func.func @other(
// CHECK: %[[TABLE:.*]] = llvm.mlir.addressof @__relax_functions :
// CHECK-NEXT: %[[SECOND:.*]] = llvm.getelementptr %[[TABLE]][8]
// CHECK: llvm.call @__relax_call(%[[SECOND]],
func.func @other(%n: i8) {
  "tir.packed"(%n) {func = "my.other", tir.dtypes = ["i8"], tir.types = []} : (i8) -> ()
  return
}

// CHECK-LABEL: func.func @give(
// CHECK: llvm.call @__relax_give_tensor({{.*}}, %arg1) : (!llvm.ptr, i32, i32, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
// CHECK: llvm.call @__relax_give_object(%arg2, %arg1)
func.func @give(%x: memref<?xf32>, %place: !llvm.ptr, %object: !llvm.ptr) {
  "tir.give_tensor"(%x, %place) {dtype = f32} : (memref<?xf32>, !llvm.ptr) -> ()
  "tir.give_object"(%object, %place) : (!llvm.ptr, !llvm.ptr) -> ()
  return
}
// CHECK-DAG: llvm.mlir.global internal constant @__relax_numbers.{{.*}}(dense<[70, 1, 67585, 1, 0, 0]> : tensor<6xi64>)
// CHECK-DAG: llvm.func hidden @__relax_call(
// CHECK-DAG: llvm.mlir.global internal @__relax_functions() {{.*}} : !llvm.array<2 x ptr>
// CHECK-DAG: llvm.func @__tvm_ffi___relax_set_functions(
