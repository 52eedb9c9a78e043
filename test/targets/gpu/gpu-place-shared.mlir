// RUN: relax-opt %s --gpu-place-shared=most=101376 --split-input-file --verify-diagnostics | FileCheck %s

// More than 48 KB: one array without a size for all such kernels, with the offset of each piece and the size that a
// launch must request. Smaller kernels keep their declared arrays.
// CHECK-LABEL: gpu.module @kernels
// CHECK-NEXT: memref.global @dynamic_shared : memref<0xi8, 3> {alignment = 1024 : i64}
// CHECK-NEXT: memref.global "private" @less_shared : memref<1024xf32, 3> = uninitialized
// CHECK-NOT: memref.global
gpu.module @kernels {
  memref.global "private" @first_shared : memref<3xi8, 3> = uninitialized {alignment = 16 : i64}
  memref.global "private" @second_shared : memref<2x64x128xf32, 3> = uninitialized {alignment = 1024 : i64}
  memref.global "private" @less_shared : memref<1024xf32, 3> = uninitialized {alignment = 16 : i64}
  memref.global "private" @other_shared : memref<13000xf32, 3> = uninitialized {alignment = 16 : i64}
  // CHECK-LABEL: gpu.func @more
  // CHECK-SAME: gpu.dynamic_shared = 66560 : i64
  gpu.func @more(%i: index) kernel {
    // CHECK: %[[ALL:.*]] = memref.get_global @dynamic_shared : memref<0xi8, 3>
    // CHECK: %[[PLACE:.*]] = arith.constant 0 : index
    // CHECK: memref.view %[[ALL]][%[[PLACE]]][] : memref<0xi8, 3> to memref<3xi8, 3>
    %0 = memref.get_global @first_shared : memref<3xi8, 3>
    // CHECK: %[[NEXT:.*]] = arith.constant 1024 : index
    // CHECK: memref.view %{{.*}}[%[[NEXT]]][] : memref<0xi8, 3> to memref<2x64x128xf32, 3>
    %1 = memref.get_global @second_shared : memref<2x64x128xf32, 3>
    %2 = memref.load %0[%i] : memref<3xi8, 3>
    %3 = memref.load %1[%i, %i, %i] : memref<2x64x128xf32, 3>
    gpu.return
  }
  // CHECK-LABEL: gpu.func @less
  // CHECK-NOT: gpu.dynamic_shared
  // CHECK: memref.get_global @less_shared
  gpu.func @less(%i: index) kernel {
    %0 = memref.get_global @less_shared : memref<1024xf32, 3>
    %1 = memref.load %0[%i] : memref<1024xf32, 3>
    gpu.return
  }
  // CHECK-LABEL: gpu.func @other
  // CHECK-SAME: gpu.dynamic_shared = 52000 : i64
  // CHECK: memref.get_global @dynamic_shared
  gpu.func @other(%i: index) kernel {
    %0 = memref.get_global @other_shared : memref<13000xf32, 3>
    %1 = memref.load %0[%i] : memref<13000xf32, 3>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  memref.global "private" @shared : memref<30000xf32, 3> = uninitialized {alignment = 16 : i64}
  // expected-error @below {{kernel 'much' needs 120000 bytes of shared memory, a block may have 101376: use smaller tiles, or fewer 'stages' in the plan}}
  gpu.func @much(%i: index) kernel {
    %0 = memref.get_global @shared : memref<30000xf32, 3>
    %1 = memref.load %0[%i] : memref<30000xf32, 3>
    gpu.return
  }
}
