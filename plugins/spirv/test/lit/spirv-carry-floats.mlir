// RUN: relax-opt %s --spirv-carry-floats --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: gpu.module @kernels
// CHECK: memref.global "private" @shared : memref<8xi16, 3>
// CHECK: gpu.func @kernel(%[[X:.*]]: memref<?xi16>, %[[Y:.*]]: i16, %[[I:.*]]: index)
// CHECK: %[[ONE:.*]] = arith.constant 16256 : i16
// CHECK: %[[SPREAD:.*]] = arith.constant dense<16256> : vector<4xi16>
// CHECK: %[[V:.*]] = memref.load %[[X]][%[[I]]] : memref<?xi16>
// CHECK: scf.if %{{.*}} -> (i16)
// CHECK: arith.select %{{.*}}, %[[ONE]], %{{.*}} : i16
// CHECK: vector.store %[[SPREAD]], %{{.*}} : memref<?xi16>, vector<4xi16>
gpu.module @kernels {
  memref.global "private" @shared : memref<8xbf16, 3> = uninitialized
  gpu.func @kernel(%x: memref<?xbf16>, %y: bf16, %i: index) kernel {
    %one = arith.constant 1.0 : bf16
    %spread = arith.constant dense<1.0> : vector<4xbf16>
    %v = memref.load %x[%i] : memref<?xbf16>
    %c0 = arith.constant 0 : index
    %is = arith.cmpi eq, %i, %c0 : index
    %0 = scf.if %is -> (bf16) {
      scf.yield %v : bf16
    } else {
      scf.yield %y : bf16
    }
    %1 = arith.select %is, %one, %0 : bf16
    memref.store %1, %x[%i] : memref<?xbf16>
    vector.store %spread, %x[%i] : memref<?xbf16>, vector<4xbf16>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @kernel(%x: bf16) kernel {
    // expected-error @+1 {{'arith.addf' op computes with bf16, which SPIR-V devices do not support}}
    %0 = arith.addf %x, %x : bf16
    gpu.return
  }
}
