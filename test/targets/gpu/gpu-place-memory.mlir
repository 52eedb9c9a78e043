// RUN: relax-opt %s --gpu-place-memory --split-input-file | FileCheck %s

// The host's memory is the device's: its bytes are asked for there, and given back there.
// CHECK-LABEL: func.func @f
// CHECK: %[[COUNT:.*]] = arith.index_cast %arg0 : index to i64
// CHECK: %[[ELEMENTS:.*]] = arith.muli
// CHECK: %[[BYTES:.*]] = arith.muli
// CHECK: %[[TABLE:.*]] = llvm.mlir.addressof @__relax_device : !llvm.ptr
// CHECK: %[[ADDRESS:.*]] = llvm.call @__relax_device_alloc(%[[TABLE]], %{{.*}}) : (!llvm.ptr, i64) -> !llvm.ptr
// CHECK: llvm.insertvalue %[[ADDRESS]]
// CHECK: llvm.call @__relax_device_free(%{{.*}}, %{{.*}}) : (!llvm.ptr, !llvm.ptr) -> ()
// CHECK-NOT: memref.alloc
// CHECK-NOT: memref.dealloc
module {
  llvm.mlir.global internal @__relax_device() : !llvm.ptr
  func.func @f(%n: index) {
    %a = memref.alloc(%n) {alignment = 64 : i64} : memref<?x4xf32>
    memref.dealloc %a : memref<?x4xf32>
    return
  }
}
