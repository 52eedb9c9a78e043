# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-compile %s --target 'vulkan{matrices=f16:16x16x16}' --stop=plan | FileCheck %s --check-prefix=PLAN
# RUN: relax-compile %s --target 'vulkan{matrices=f16:16x16x16}' --emit=asm | FileCheck %s

# A subgroup has 2 x 2 matrices, of each of which a thread gets four neighbours of two rows; blocks have 4 x 2 subgroups.
# PLAN: tir.plan = "order 0 1 2; carried 1; vector 1 x 4; tile 0: 4, 1: 2; blocks 2: 32; threads 0: 32, 1: 8;
# PLAN-SAME: shared 0 1; instruction cooperative_f16_16x16x16_32; rule cooperative"

# CHECK: spirv.module @__spv__matmul PhysicalStorageBuffer64 GLSL450 requires
# CHECK-SAME: #spirv.vce<v1.6, [{{.*}}CooperativeMatrixKHR{{.*}}], [SPV_KHR_cooperative_matrix]>
# CHECK-DAG: @matmul_shared : !spirv.ptr<!spirv.array<5120 x f16>, Workgroup>
# CHECK-DAG: @matmul_shared_1 : !spirv.ptr<!spirv.array<2304 x f16>, Workgroup>
# CHECK-DAG: @matmul_shared_2 : !spirv.ptr<!spirv.array<2560 x f32>, Workgroup>

# Sums are carried by the loop.
# CHECK: %[[ZERO:.*]] = spirv.CompositeConstruct %cst_f32 : (f32) -> !spirv.coopmatrix<16x16xf32, Subgroup, MatrixAcc>
# CHECK: spirv.Branch ^bb1(%{{.*}}, %[[ZERO]], %[[ZERO]], %[[ZERO]], %[[ZERO]] :
# CHECK-NEXT: ^bb1(%{{.*}}: i64, %[[SUM:[0-9]+]]: !spirv.coopmatrix<16x16xf32, Subgroup, MatrixAcc>,
# CHECK: spirv.ControlBarrier <Workgroup>
# CHECK: %[[LEFT:.*]] = spirv.KHR.CooperativeMatrixLoad %{{.*}}, %cst40_i32, <RowMajor> : {{.*}}16x16xf16, Subgroup, MatrixA
# CHECK: %[[RIGHT:.*]] = spirv.KHR.CooperativeMatrixLoad %{{.*}}, %cst72_i32, <RowMajor> : {{.*}}16x16xf16, Subgroup, MatrixB
# CHECK: spirv.KHR.CooperativeMatrixMulAdd %[[LEFT]], %[[RIGHT]], %[[SUM]] :
# CHECK: spirv.ControlBarrier <Workgroup>

# Results go through shared memory, one matrix of each subgroup after the other.
# CHECK: spirv.KHR.CooperativeMatrixStore %{{.*}}, %{{.*}}, %cst20_i32, <RowMajor>
# CHECK-NEXT: spirv.ControlBarrier <Workgroup>
# CHECK: spirv.Load "Workgroup" %{{.*}} : f32
# CHECK: spirv.ControlBarrier <Workgroup>
# CHECK-NEXT: spirv.KHR.CooperativeMatrixStore
from relax_mlir.script import ir as I, relax as R, tir as T


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((256, 96), "float16"), y: R.Tensor((96, 512), "float16")) -> R.Tensor((256, 512), "float32"):
        z = R.matmul(x, y, out_dtype="float32")
        return z
