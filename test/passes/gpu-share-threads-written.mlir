// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A loop with a body per thread: each iteration is a block with the stated number of threads. Buffers in the memory space
// of the block, or in none, are shared by its threads.
// RUN: relax-opt %s --gpu-outline-kernels | FileCheck %s --check-prefix=OUTLINED
// RUN: relax-opt %s --gpu-outline-kernels --gpu-share-threads | FileCheck %s

// OUTLINED: gpu.launch_func @kernels::@turn blocks in (%{{.*}}, %{{.*}}, %{{.*}}) threads in (%c64, %{{.*}}, %{{.*}})
// OUTLINED: gpu.func @turn({{.*}}) kernel attributes {gpu.form = "written", known_block_size = array<i32: 64, 1, 1>}
// OUTLINED: scf.for
// CHECK-DAG: memref.global "private" @{{.*}} : memref<64xf32, 3>
// CHECK-DAG: memref.global "private" @{{.*}} : memref<32xf32, 3>
// CHECK: gpu.func @turn
// CHECK-NOT: scf.for
// CHECK: %[[STEP:.*]] = gpu.block_id x
// CHECK-NOT: memref.alloc
// CHECK: gpu.thread_id x
// CHECK: gpu.barrier
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return
func.func @turn(%x: memref<4x64xf32>, %out: memref<4x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c63 = arith.constant 63 : index
  scf.for %row = %c0 to %c4 step %c1 {
    %shared = memref.alloc() : memref<64xf32, 3 : i64>
    %other = memref.alloc() : memref<32xf32>
    %thread = gpu.thread_id x
    %c32 = arith.constant 32 : index
    %lane = arith.remui %thread, %c32 : index
    %value = memref.load %x[%row, %thread] : memref<4x64xf32>
    memref.store %value, %shared[%thread] : memref<64xf32, 3 : i64>
    memref.store %value, %other[%lane] : memref<32xf32>
    gpu.barrier
    %place = arith.subi %c63, %thread : index
    %turned = memref.load %shared[%place] : memref<64xf32, 3 : i64>
    memref.store %turned, %out[%row, %thread] : memref<4x64xf32>
  } {tir.parallel = 1 : i64, tir.threads = 64 : i64}
  return
}
