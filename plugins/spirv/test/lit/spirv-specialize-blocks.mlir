// RUN: relax-opt %s --spirv-specialize-blocks | FileCheck %s

// A thread's number among all threads is that of a block that code was written for, and of a thread of it.
// CHECK: spirv.SpecConstant @points_threads spec_id(0) = 256 : i32
// CHECK: spirv.SpecConstant @points_threads_one = 1 : i32
// CHECK: spirv.SpecConstantComposite @points_threads_size (@points_threads, @points_threads_one, @points_threads_one) : vector<3xi32>
// CHECK-LABEL: gpu.func @points
// CHECK: %[[SAID:.*]] = spirv.mlir.referenceof @points_threads : i32
// CHECK: %[[SIZE:.*]] = arith.index_cast{{.*}} %[[SAID]] : i32 to index
// CHECK: %[[B:.*]] = gpu.block_id x
// CHECK: %[[BEFORE:.*]] = arith.muli %[[B]], %[[SIZE]] : index
// CHECK: %[[T:.*]] = gpu.thread_id x
// CHECK: %[[ALL:.*]] = arith.addi %[[BEFORE]], %[[T]] : index
// CHECK: %[[KNOWN:.*]] = arith.constant 256 : index
// CHECK: %[[BLOCK:.*]] = arith.divui %[[ALL]], %[[KNOWN]] : index
// CHECK: %[[THREAD:.*]] = arith.remui %[[ALL]], %[[KNOWN]] : index
// CHECK: %[[Z:.*]] = gpu.block_id z
// CHECK: func.call @use(%[[BLOCK]], %[[THREAD]], %[[Z]])
gpu.module @kernels {
  func.func private @use(index, index, index)
  memref.global "private" @held : memref<4xf32, 3>
  gpu.func @points() kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %b = gpu.block_id x
    %t = gpu.thread_id x
    %z = gpu.block_id z
    func.call @use(%b, %t, %z) : (index, index, index) -> ()
    gpu.return
  }

  // All devices have blocks of so many.
  // CHECK-LABEL: gpu.func @small
  // CHECK-NOT: spirv.
  // CHECK: gpu.return
  gpu.func @small() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %b = gpu.block_id x
    %t = gpu.thread_id x
    func.call @use(%b, %t, %t) : (index, index, index) -> ()
    gpu.return
  }

  // Threads that wait for each other, shuffle, or share memory.
  // CHECK-LABEL: gpu.func @waits
  // CHECK-NOT: spirv.
  // CHECK: gpu.return
  gpu.func @waits() kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %b = gpu.block_id x
    %t = gpu.thread_id x
    gpu.barrier
    func.call @use(%b, %t, %t) : (index, index, index) -> ()
    gpu.return
  }

  // CHECK-LABEL: gpu.func @shuffles
  // CHECK-NOT: spirv.
  // CHECK: gpu.return
  gpu.func @shuffles(%x: i32) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %one = arith.constant 1 : i32
    %width = arith.constant 32 : i32
    %t = gpu.thread_id x
    %y, %is = gpu.shuffle xor %x, %one, %width : i32
    func.call @use(%t, %t, %t) : (index, index, index) -> ()
    gpu.return
  }

  // CHECK-LABEL: gpu.func @shares
  // CHECK-NOT: spirv.
  // CHECK: gpu.return
  gpu.func @shares() kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %held = memref.get_global @held : memref<4xf32, 3>
    %t = gpu.thread_id x
    %four = arith.constant 4 : index
    %place = arith.remui %t, %four : index
    %x = arith.constant 1.0 : f32
    memref.store %x, %held[%place] : memref<4xf32, 3>
    gpu.return
  }
}
