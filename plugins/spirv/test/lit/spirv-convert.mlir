// RUN: relax-opt %s --spirv-convert | FileCheck %s
// RUN: relax-opt %s --spirv-convert=version=1.3 | FileCheck %s --check-prefix=NEWER

// Arithmetic is done as it is written. A module for each kernel has what that one uses.
// CHECK: module attributes {{.*}}relax.words = array<i64: 1, 0>
// CHECK: spirv.module @__spv__first PhysicalStorageBuffer64 GLSL450
// CHECK-SAME: <v1.5, [SignedZeroInfNanPreserve, {{.*}}PhysicalStorageBufferAddresses{{.*}}], []>
// NEWER: spirv.module @__spv__first {{.*}}<v1.6, [SignedZeroInfNanPreserve, {{.*}}], []>
// CHECK-NOT: @second
// CHECK: spirv.GlobalVariable @first_words : !spirv.ptr<!spirv.struct<(!spirv.array<1 x i64, stride=8> [0])>, PushConstant>
// CHECK: spirv.func @first()
// CHECK: spirv.FAdd %{{.*}}, %{{.*}} {no_contraction} : f32
// CHECK: spirv.EntryPoint "GLCompute" @first, @first_words{{$}}
// CHECK: spirv.ExecutionMode @first "SignedZeroInfNanPreserve", 32
// CHECK: spirv.ExecutionMode @first "LocalSize", 64, 1, 1
// CHECK: spirv.module @__spv__second
// CHECK-NOT: first_words
// CHECK: spirv.ExecutionMode @second "LocalSize", 32, 1, 1
// CHECK-NOT: gpu.module
gpu.module @kernels {
  spirv.GlobalVariable @first_words : !spirv.ptr<!spirv.struct<(!spirv.array<1 x i64, stride=8> [0])>, PushConstant>
  gpu.func @first() kernel attributes {known_block_size = array<i32: 64, 1, 1>, relax.words = array<i64: 1>} {
    %words = spirv.mlir.addressof @first_words : !spirv.ptr<!spirv.struct<(!spirv.array<1 x i64, stride=8> [0])>, PushConstant>
    %c0 = spirv.Constant 0 : i32
    %0 = spirv.AccessChain %words[%c0, %c0] : !spirv.ptr<!spirv.struct<(!spirv.array<1 x i64, stride=8> [0])>, PushConstant>, i32, i32 -> !spirv.ptr<i64, PushConstant>
    %1 = spirv.Load "PushConstant" %0 : i64
    %2 = spirv.ConvertUToPtr %1 : i64 to !spirv.ptr<f32, PhysicalStorageBuffer>
    %3 = spirv.Load "PhysicalStorageBuffer" %2 ["Aligned", 4] : f32
    %4 = arith.addf %3, %3 : f32
    spirv.Store "PhysicalStorageBuffer" %2, %4 ["Aligned", 4] : f32
    gpu.return
  }
  gpu.func @second() kernel attributes {known_block_size = array<i32: 32, 1, 1>, relax.words = array<i64: 0>} {
    %c4 = arith.constant 4 : i32
    %0 = spirv.GroupNonUniformShuffleXor <Subgroup> %c4, %c4 : i32, i32
    gpu.return
  }
}
