// RUN: relax-opt %s --host-lower-packed | FileCheck %s

// A tensor goes as pointer and sizes to a function that makes a tensor object of it; its status is checked.
// CHECK-LABEL: func.func @call(
// CHECK: %[[OUT:.*]] = llvm.alloca {{.*}} x i8
// CHECK: %[[ARRAY:.*]] = builtin.unrealized_conversion_cast %arg0 : memref<?xi8> to !llvm.struct
// CHECK-NEXT: llvm.extractvalue %[[ARRAY]][1]
// CHECK: %[[STATUS:.*]] = llvm.call @__relax_call.{{.*}}, %[[OUT]]) : (!llvm.ptr, i64, i64, !llvm.ptr) -> i32
// CHECK: "tir.return_unless_ok"(%[[STATUS]])
// CHECK: llvm.load %[[OUT]] : !llvm.ptr -> !llvm.ptr
// CHECK: builtin.unrealized_conversion_cast {{.*}} to memref<?xf32>
func.func @call(%x: memref<?xi8>, %n: i8) -> memref<?xf32> {
  %0 = "tir.packed"(%x, %n) {func = "my.function", tir.dtypes = ["ui8", "i8"], tir.types = [tensor<?xf32>]}
    : (memref<?xi8>, i8) -> memref<?xf32>
  return %0 : memref<?xf32>
}

// CHECK-LABEL: func.func @give(
// CHECK: llvm.call @__relax_give.f32.1({{.*}}, %arg1) : (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> i32
// CHECK: llvm.call @__relax_give_object(%arg2, %arg1)
func.func @give(%x: memref<?xf32>, %place: !llvm.ptr, %object: !llvm.ptr) {
  "tir.give_tensor"(%x, %place) {dtype = f32} : (memref<?xf32>, !llvm.ptr) -> ()
  "tir.give_object"(%object, %place) : (!llvm.ptr, !llvm.ptr) -> ()
  return
}
// CHECK: llvm.func internal @__relax_call_global.my.function(
