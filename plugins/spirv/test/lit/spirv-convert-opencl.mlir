// RUN: relax-opt %s --spirv-convert="api=opencl subgroup=16" | FileCheck %s

// One module from which programs are built. A kernel with shuffles declares its subgroup size.
// CHECK: spirv.module @__spv__first Physical64 OpenCL
// CHECK-NOT: no_contraction
// CHECK: spirv.func @first(%{{.*}}: i64
// CHECK: spirv.func @second
// CHECK: spirv.EntryPoint "Kernel" @first
// CHECK: spirv.ExecutionMode @first "ContractionOff"
// CHECK: spirv.EntryPoint "Kernel" @second
// CHECK: spirv.ExecutionMode @second "ContractionOff"
// CHECK: spirv.ExecutionMode @second "SubgroupSize", 16
// CHECK-NOT: spirv.module
gpu.module @kernels {
  gpu.func @first(%a: i64) kernel attributes {known_block_size = array<i32: 64, 1, 1>, relax.words = array<i64: 1>} {
    %0 = spirv.ConvertUToPtr %a : i64 to !spirv.ptr<f32, CrossWorkgroup>
    %1 = spirv.Load "CrossWorkgroup" %0 ["Aligned", 4] : f32
    %2 = arith.addf %1, %1 : f32
    spirv.Store "CrossWorkgroup" %0, %2 ["Aligned", 4] : f32
    gpu.return
  }
  gpu.func @second() kernel attributes {known_block_size = array<i32: 32, 1, 1>, relax.words = array<i64: 0>} {
    %c4 = arith.constant 4 : i32
    %0 = spirv.GroupNonUniformShuffleXor <Subgroup> %c4, %c4 : i32, i32
    gpu.return
  }
}
