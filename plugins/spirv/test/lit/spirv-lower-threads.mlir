// RUN: relax-opt %s --spirv-lower-threads="subgroup=8 most=128" --split-input-file --verify-diagnostics | FileCheck %s
// RUN: relax-opt %s --spirv-lower-threads="api=opencl most=128" --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=OPENCL

// Values of one subgroup are shuffled, of several go through memory.
// CHECK: spirv.GlobalVariable @kernel_exchanged_i32 : !spirv.ptr<!spirv.array<64 x i32>, Workgroup>
// CHECK-LABEL: gpu.func @kernel
// CHECK-SAME: %[[X:.*]]: i32
// CHECK: spirv.ControlBarrier <Workgroup>, <Workgroup>, <AcquireRelease|UniformMemory|WorkgroupMemory>
// CHECK: %[[NEAR:.*]] = spirv.GroupNonUniformShuffleXor <Subgroup> %[[X]], %{{.*}} : i32, i32
// CHECK: gpu.thread_id
// CHECK: spirv.Store "Workgroup" %{{.*}}, %[[NEAR]] : i32
// CHECK: spirv.ControlBarrier
// CHECK: %[[FAR:.*]] = spirv.Load "Workgroup" %{{.*}} : i32
// CHECK: spirv.ControlBarrier
// CHECK: memref.store %[[FAR]]
// OPENCL-LABEL: gpu.func @kernel
// OPENCL: spirv.ControlBarrier <Workgroup>, <Workgroup>, <AcquireRelease|WorkgroupMemory|CrossWorkgroupMemory>
// OPENCL-COUNT-2: spirv.GroupNonUniformShuffleXor
gpu.module @kernels {
  gpu.func @kernel(%x: i32, %y: memref<1xi32>, %i: index) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c4 = arith.constant 4 : i32
    %c8 = arith.constant 8 : i32
    %c32 = arith.constant 32 : i32
    gpu.barrier
    %0, %1 = gpu.shuffle xor %x, %c4, %c32 : i32
    %2, %3 = gpu.shuffle xor %0, %c8, %c32 : i32
    memref.store %2, %y[%i] : memref<1xi32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @kernel(%x: i32) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c4 = arith.constant 4 : i32
    %c32 = arith.constant 32 : i32
    // expected-error @+1 {{SPIR-V targets do not support shuffles of mode up}}
    %0, %1 = gpu.shuffle up %x, %c4, %c32 : i32
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+2 {{kernel 'wide' has blocks of 256 threads, 128 at most}}
  // expected-note @+1 {{the target's option 'threads' sets the maximum}}
  gpu.func @wide() kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    gpu.return
  }
}
