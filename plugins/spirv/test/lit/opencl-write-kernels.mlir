// RUN: relax-opt %s --opencl-write-kernels --split-input-file --verify-diagnostics | FileCheck %s

// CHECK: relax.kernels_text = "
// CHECK-SAME: #pragma OPENCL EXTENSION cl_khr_fp64 : enable\0A#pragma OPENCL FP_CONTRACT OFF
// CHECK-SAME: __kernel __attribute__((reqd_work_group_size(64, 1, 1)))\0Avoid kernel_sums(ulong v0, ulong v1) {
// CHECK-SAME: __local float shared_words[64];
// Signedness comes from the operations.
// CHECK-SAME: const ulong [[AT:v[0-9]+]] = get_local_id(0);
// CHECK-SAME: as_ulong(min(as_long([[AT]]), as_long(v1)))
// A vector where there is no place for one.
// CHECK-SAME: __global float4 *[[P:v[0-9]+]] = (__global float4 *)v0;
// CHECK-SAME: vload4(0, (__global float *)[[P]]);
// CHECK-SAME: .s2;
// CHECK-SAME: float [[SUM:v[0-9]+]] = {{v[0-9]+}};
// CHECK-SAME: for (ulong [[I:v[0-9]+]] = {{v[0-9]+}}; (long)[[I]] < (long)[[AT]]; [[I]] += {{v[0-9]+}}) {
// CHECK-SAME: [[SUM]] = {{v[0-9]+}};
// CHECK-SAME: barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
// CHECK-SAME: while (true) {
// CHECK-SAME: if (!{{v[0-9]+}}) {\0A{{ +}}break;
// CHECK-SAME: const double {{v[0-9]+}} = (double)(
// CHECK-SAME: relax.words = array<i64: 2>
module {
  gpu.module @kernels {
    spirv.GlobalVariable @words : !spirv.ptr<!spirv.array<64 x f32>, Workgroup>
    gpu.func @sums(%x: i64, %n: i64) kernel attributes {known_block_size = array<i32: 64, 1, 1>, relax.words = array<i64: 2>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %thread = gpu.thread_id x
      %count = arith.index_cast %n : i64 to index
      %least = arith.minsi %thread, %count : index
      %p = spirv.ConvertUToPtr %x : i64 to !spirv.ptr<vector<4xf32>, CrossWorkgroup>
      %v = spirv.Load "CrossWorkgroup" %p ["Aligned", 4] : vector<4xf32>
      %lane = vector.extract %v[2] : f32 from vector<4xf32>
      %sum = scf.for %i = %c0 to %thread step %c1 iter_args(%s = %lane) -> (f32) {
        %t = arith.addf %s, %lane : f32
        scf.yield %t : f32
      }
      %words = spirv.mlir.addressof @words : !spirv.ptr<!spirv.array<64 x f32>, Workgroup>
      %at = arith.index_cast %least : index to i64
      %place = spirv.AccessChain %words[%at] : !spirv.ptr<!spirv.array<64 x f32>, Workgroup>, i64 -> !spirv.ptr<f32, Workgroup>
      spirv.Store "Workgroup" %place, %sum : f32
      spirv.ControlBarrier <Workgroup>, <Workgroup>, <AcquireRelease|WorkgroupMemory>
      %end = scf.while (%k = %least) : (index) -> index {
        %more = arith.cmpi ult, %k, %count : index
        scf.condition(%more) %k : index
      } do {
      ^bb0(%k: index):
        %next = arith.addi %k, %c1 : index
        scf.yield %next : index
      }
      %half = spirv.Load "Workgroup" %place : f32
      %wide = arith.extf %half : f32 to f64
      %q = spirv.ConvertUToPtr %n : i64 to !spirv.ptr<f64, CrossWorkgroup>
      spirv.Store "CrossWorkgroup" %q, %wide ["Aligned", 8] : f64
      gpu.return
    }
  }
}

// -----

module {
  gpu.module @kernels {
    gpu.func @sums(%x: i64) kernel attributes {known_block_size = array<i32: 64, 1, 1>, relax.words = array<i64: 1>} {
      %c = arith.constant 1 : i32
      // expected-error@below {{target 'opencl' cannot write 'math.ipowi' op in kernel 'sums': it has no counterpart in OpenCL C}}
      // expected-note@below {{without the option language=c kernels are SPIR-V}}
      %m = math.ipowi %c, %c : i32
      gpu.return
    }
  }
}
