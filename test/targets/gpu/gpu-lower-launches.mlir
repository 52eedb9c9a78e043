// RUN: relax-opt %s --gpu-lower-launches | FileCheck %s

// A kernel is launched by its place in the table, with the addresses of what it is passed; the host reads an element
// through a copy that waits. Either may fail.
module attributes {gpu.container_module, relax.device = "cuda", relax.kernels = ["other", "kernel", "whole"]} {
  // CHECK-LABEL: func.func @launched
  // CHECK: llvm.store %arg0, %[[VALUES:.*]] : !llvm.ptr, !llvm.ptr
  // CHECK: %[[FIRST:.*]] = llvm.getelementptr %[[VALUES]][0]
  // CHECK: llvm.store %[[FIRST]], %[[PLACES:.*]] : !llvm.ptr, !llvm.ptr
  // CHECK: %[[SIZE:.*]] = arith.index_cast %arg1 : index to i64
  // CHECK: llvm.store %[[SIZE]]
  // CHECK: %[[NUMBER:.*]] = arith.constant 1 : i64
  // CHECK: %[[TABLE:.*]] = llvm.mlir.addressof @__relax_device : !llvm.ptr
  // CHECK: %[[STATUS:.*]] = llvm.call @__relax_device_launch(%[[TABLE]], %[[NUMBER]], %{{.*}}, %{{.*}}, %{{.*}}, %[[PLACES]])
  // CHECK: "tir.return_unless_ok"(%[[STATUS]])
  llvm.mlir.global internal @__relax_device() : !llvm.ptr
  func.func @launched(%p: !llvm.ptr, %n: index) {
    %c1 = arith.constant 1 : index
    %c256 = arith.constant 256 : index
    gpu.launch_func @kernels::@kernel blocks in (%n, %c1, %c1) threads in (%c256, %c1, %c1) args(%p : !llvm.ptr, %n : index)
    return
  }
  // CHECK-LABEL: func.func @read
  // CHECK: %[[SLOT:.*]] = llvm.alloca
  // CHECK: memref.extract_strided_metadata %arg0
  // CHECK: %[[PLACE:.*]] = llvm.getelementptr
  // CHECK: %[[STATUS:.*]] = llvm.call @__relax_device_read(%{{.*}}, %[[SLOT]], %[[PLACE]], %{{.*}})
  // CHECK: "tir.return_unless_ok"(%[[STATUS]])
  // CHECK: llvm.load %[[SLOT]] : !llvm.ptr -> f32
  // CHECK-NOT: memref.load
  func.func @read(%x: memref<?x?xf32>, %i: index, %f: f32) -> f32 {
    %0 = memref.load %x[%i, %i] : memref<?x?xf32>
    return %0 : f32
  }
  // The launch requests shared memory beyond the declared amount.
  // CHECK-LABEL: func.func @asking
  // CHECK: %[[SHARED:.*]] = arith.constant 65536 : i64
  // CHECK: llvm.call @__relax_device_launch(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[SHARED]], %{{.*}})
  func.func @asking(%p: !llvm.ptr, %n: index) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @kernels::@other blocks in (%n, %c1, %c1) threads in (%n, %c1, %c1) args(%p : !llvm.ptr)
    return
  }
  // A parameter passed by its bytes is the data behind its pointer; another parameter is the pointer itself.
  // CHECK-LABEL: func.func @by_value
  // CHECK: llvm.store %arg0, %[[VALUES:.*]] : !llvm.ptr, !llvm.ptr
  // CHECK: %[[FIRST:.*]] = llvm.getelementptr %[[VALUES]][0]
  // CHECK: llvm.store %[[FIRST]], %[[PLACES:.*]] : !llvm.ptr, !llvm.ptr
  // CHECK: %[[SECOND:.*]] = llvm.getelementptr %[[PLACES]][8]
  // CHECK: llvm.store %arg1, %[[SECOND]] : !llvm.ptr, !llvm.ptr
  // CHECK: llvm.call @__relax_device_launch(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[PLACES]])
  func.func @by_value(%p: !llvm.ptr, %m: !llvm.ptr) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @kernels::@whole blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%p : !llvm.ptr, %m : !llvm.ptr)
    return
  }
  gpu.module @kernels {
    gpu.func @whole(%p: !llvm.ptr, %m: !llvm.ptr) kernel attributes {gpu.by_value = array<i64: 0, 128>} {
      gpu.return
    }
    gpu.func @other(%p: !llvm.ptr) kernel attributes {gpu.dynamic_shared = 65536 : i64} {
      gpu.return
    }
    gpu.func @kernel(%p: !llvm.ptr, %n: index) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
      gpu.return
    }
  }
}
