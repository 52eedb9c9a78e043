// RUN: relax-opt %s --spirv-lower-memory | FileCheck %s

// Columns of a matrix that is the other way in memory; bytes with signs are said to have some, as types do not say so.
// CHECK-LABEL: gpu.func @matrices
// CHECK-DAG: %[[ZERO:.*]] = spirv.CompositeConstruct %{{.*}} : (f32) -> !spirv.coopmatrix<8x8xf32, Subgroup, MatrixAcc>
// CHECK: scf.for {{.*}} iter_args(%[[SUM:[a-z0-9]+]] = %[[ZERO]], %[[BYTES:[a-z0-9]+]] = %{{[0-9]+}}, %[[MORE:[a-z0-9]+]] = %{{[0-9]+}})
// CHECK-SAME: !spirv.coopmatrix<8x8xf32, Subgroup, MatrixAcc>, !spirv.coopmatrix<8x8xi32, Subgroup, MatrixAcc>
// CHECK: %[[P:.*]] = spirv.AccessChain %{{.*}} : !spirv.ptr<!spirv.array<768 x f16>, Workgroup>, i64 -> !spirv.ptr<f16, Workgroup>
// CHECK: %[[X:.*]] = spirv.KHR.CooperativeMatrixLoad %[[P]], %[[LINE:.*]], <ColumnMajor> : !spirv.ptr<f16, Workgroup>, i32
// CHECK-SAME: -> !spirv.coopmatrix<8x16xf16, Subgroup, MatrixA>
// CHECK: %[[Y:.*]] = spirv.KHR.CooperativeMatrixLoad %{{.*}}, %{{.*}}, <RowMajor> : {{.*}} -> !spirv.coopmatrix<16x8xf16, Subgroup, MatrixB>
// CHECK: spirv.KHR.CooperativeMatrixMulAdd %[[X]], %[[Y]], %[[SUM]] : !spirv.coopmatrix
// CHECK: spirv.KHR.CooperativeMatrixMulAdd %{{.*}}, %{{.*}}, %[[BYTES]], <ASigned|BSigned|CSigned|ResultSigned> :
// CHECK: spirv.KHR.CooperativeMatrixMulAdd %{{.*}}, %{{.*}}, %[[MORE]] :
// CHECK: spirv.KHR.CooperativeMatrixStore %{{.*}}, %{{.*}}, %{{.*}}, <RowMajor> : !spirv.ptr<f32, Workgroup>
// CHECK-NOT: memref
// CHECK-NOT: mma_matrix
module attributes {gpu.container_module} {
  gpu.module @m {
    memref.global "private" @x : memref<2x16x24xf16, 3>
    memref.global "private" @b : memref<16x24xi8, 3>
    memref.global "private" @z : memref<8x12xf32, 3>
    gpu.func @matrices(%n: index) kernel {
      %x = memref.get_global @x : memref<2x16x24xf16, 3>
      %b = memref.get_global @b : memref<16x24xi8, 3>
      %z = memref.get_global @z : memref<8x12xf32, 3>
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = arith.constant 0.0 : f32
      %none = arith.constant 0 : i32
      %first = gpu.subgroup_mma_constant_matrix %zero : !gpu.mma_matrix<8x8xf32, "COp">
      %bytes = gpu.subgroup_mma_constant_matrix %none : !gpu.mma_matrix<8x8xi32, "COp">
      %sums:3 = scf.for %i = %c0 to %n step %c1 iter_args(%f = %first, %s = %bytes, %u = %bytes)
          -> (!gpu.mma_matrix<8x8xf32, "COp">, !gpu.mma_matrix<8x8xi32, "COp">, !gpu.mma_matrix<8x8xi32, "COp">) {
        %left = gpu.subgroup_mma_load_matrix %x[%i, %c0, %c0] {leadDimension = 24 : index, transpose} : memref<2x16x24xf16, 3> -> !gpu.mma_matrix<8x16xf16, "AOp">
        %right = gpu.subgroup_mma_load_matrix %x[%i, %c0, %c0] {leadDimension = 24 : index} : memref<2x16x24xf16, 3> -> !gpu.mma_matrix<16x8xf16, "BOp">
        %0 = gpu.subgroup_mma_compute %left, %right, %f : !gpu.mma_matrix<8x16xf16, "AOp">, !gpu.mma_matrix<16x8xf16, "BOp"> -> !gpu.mma_matrix<8x8xf32, "COp">
        %2 = gpu.subgroup_mma_load_matrix %b[%c0, %c0] {leadDimension = 24 : index} : memref<16x24xi8, 3> -> !gpu.mma_matrix<8x16xsi8, "AOp">
        %3 = gpu.subgroup_mma_load_matrix %b[%c0, %c0] {leadDimension = 24 : index} : memref<16x24xi8, 3> -> !gpu.mma_matrix<16x8xsi8, "BOp">
        %4 = gpu.subgroup_mma_compute %2, %3, %s : !gpu.mma_matrix<8x16xsi8, "AOp">, !gpu.mma_matrix<16x8xsi8, "BOp"> -> !gpu.mma_matrix<8x8xi32, "COp">
        %5 = gpu.subgroup_mma_load_matrix %b[%c0, %c0] {leadDimension = 24 : index} : memref<16x24xi8, 3> -> !gpu.mma_matrix<8x16xui8, "AOp">
        %6 = gpu.subgroup_mma_load_matrix %b[%c0, %c0] {leadDimension = 24 : index} : memref<16x24xi8, 3> -> !gpu.mma_matrix<16x8xui8, "BOp">
        %7 = gpu.subgroup_mma_compute %5, %6, %u : !gpu.mma_matrix<8x16xui8, "AOp">, !gpu.mma_matrix<16x8xui8, "BOp"> -> !gpu.mma_matrix<8x8xi32, "COp">
        scf.yield %0, %4, %7 : !gpu.mma_matrix<8x8xf32, "COp">, !gpu.mma_matrix<8x8xi32, "COp">, !gpu.mma_matrix<8x8xi32, "COp">
      }
      gpu.subgroup_mma_store_matrix %sums#0, %z[%c0, %c0] {leadDimension = 12 : index} : !gpu.mma_matrix<8x8xf32, "COp">, memref<8x12xf32, 3>
      gpu.return
    }
  }
}
