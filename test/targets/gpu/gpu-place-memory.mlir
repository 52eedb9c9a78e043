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

// -----

// What functions need for themselves lies behind the graph's temporaries, for all of them at the same place: there is room
// for the one that needs most. Memory of unknown size is asked for where it was.
// CHECK-LABEL: func.func @two
// CHECK-SAME: (%[[X:.*]]: memref<64xf32>, %[[PLACE:.*]]: !llvm.ptr) -> i32
// CHECK: %[[FIRST:.*]] = llvm.getelementptr %[[PLACE]][0]
// CHECK: llvm.insertvalue %[[FIRST]]
// CHECK: %[[SECOND:.*]] = llvm.getelementptr %[[PLACE]][512]
// CHECK: llvm.insertvalue %[[SECOND]]
// CHECK-NOT: @__relax_device
// CHECK: return
// CHECK-LABEL: func.func @one
// CHECK-SAME: index, %[[PLACE:.*]]: !llvm.ptr) {
// CHECK: llvm.getelementptr %[[PLACE]][0]
// CHECK: llvm.call @__relax_device_alloc(
// CHECK: llvm.call @__relax_device_free(
// CHECK: return
// CHECK-LABEL: func.func @main
// CHECK: %[[OWN:.*]] = arith.constant 1024 : i64
// CHECK: %[[ARENA:.*]] = llvm.call @__relax_device_alloc(
// CHECK: %[[SCRATCH:.*]] = llvm.getelementptr %[[ARENA]][1024]
// CHECK-NOT: @__relax_device_alloc
// CHECK: call @two(%{{.*}}, %[[SCRATCH]])
// CHECK: call @one(%{{.*}}, %[[SCRATCH]])
// CHECK: llvm.call @__relax_device_free(
// CHECK-LABEL: func.func @without_arena
// CHECK: call @alone(%{{.*}}) :
// CHECK-LABEL: func.func @alone
// CHECK-SAME: (%{{[^,]*}}: memref<64xf32>) {
// CHECK: llvm.call @__relax_device_alloc(
module {
  llvm.mlir.global internal @__relax_device() : !llvm.ptr
  func.func @two(%x: memref<64xf32>) -> i32 {
    %c0 = arith.constant 0 : i32
    %a = memref.alloc() : memref<100xf32>
    %b = memref.alloc() : memref<8xi8>
    memref.dealloc %a : memref<100xf32>
    memref.dealloc %b : memref<8xi8>
    return %c0 : i32
  }
  func.func @one(%x: memref<64xf32>, %n: index) {
    %a = memref.alloc() : memref<2xf32>
    memref.dealloc %a : memref<2xf32>
    %b = memref.alloc(%n) : memref<?xf32>
    memref.dealloc %b : memref<?xf32>
    return
  }
  func.func @main(%x: memref<64xf32>, %n: index) {
    %arena = memref.alloc() {relax.arena} : memref<1000xi8>
    %0 = call @two(%x) : (memref<64xf32>) -> i32
    call @one(%x, %n) : (memref<64xf32>, index) -> ()
    memref.dealloc %arena : memref<1000xi8>
    return
  }
  func.func @without_arena(%x: memref<64xf32>) {
    call @alone(%x) : (memref<64xf32>) -> ()
    return
  }
  func.func @alone(%x: memref<64xf32>) {
    %a = memref.alloc() : memref<2xf32>
    memref.dealloc %a : memref<2xf32>
    return
  }
}
