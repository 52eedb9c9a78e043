// RUN: relax-opt %s --spirv-split-vectors --canonicalize --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: gpu.func @kernel
// CHECK: %[[V:.*]] = vector.load %{{.*}} : memref<64xf16>, vector<8xf16>
// CHECK-COUNT-8: vector.extract %[[V]][{{[0-7]}}] : f16 from vector<8xf16>
// CHECK: scf.for {{.*}} -> (i32, f16, f16, f16, f16, f16, f16, f16, f16)
// CHECK-COUNT-8: arith.addf %{{.*}}, %{{.*}} : f16
// CHECK: vector.from_elements {{.*}} : vector<8xf16>
// CHECK: vector.store
gpu.module @kernels {
  gpu.func @kernel(%x: memref<64xf16>, %y: memref<1xi32>, %n: index, %is: i1) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %cst = arith.constant dense<1.0> : vector<8xf16>
    %v = vector.load %x[%c0] : memref<64xf16>, vector<8xf16>
    %0:2 = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %v, %count = %zero) -> (vector<8xf16>, i32) {
      %1 = arith.addf %sum, %cst : vector<8xf16>
      %2 = arith.addi %count, %one : i32
      scf.yield %1, %2 : vector<8xf16>, i32
    }
    vector.store %0#0, %x[%c0] : memref<64xf16>, vector<8xf16>
    memref.store %0#1, %y[%c0] : memref<1xi32>
    gpu.return
  }

  // A branch passes lanes on; a condition is as many as there are lanes.
  // CHECK-LABEL: gpu.func @branches
  // CHECK: scf.if %{{.*}} -> (f16, f16, f16, f16, f16, f16, f16, f16)
  // CHECK: %[[CONDITIONS:.*]] = vector.broadcast %{{.*}} : i1 to vector<4xi1>
  // CHECK: arith.select %[[CONDITIONS]], %{{.*}}, %{{.*}} : vector<4xi1>, vector<4xf32>
  gpu.func @branches(%x: memref<64xf16>, %y: memref<8xf32>, %is: i1, %a: vector<4xf32>, %b: f16) kernel {
    %c0 = arith.constant 0 : index
    %0 = scf.if %is -> (vector<8xf16>) {
      %v = vector.load %x[%c0] : memref<64xf16>, vector<8xf16>
      scf.yield %v : vector<8xf16>
    } else {
      %s = vector.broadcast %b : f16 to vector<8xf16>
      scf.yield %s : vector<8xf16>
    }
    vector.store %0, %x[%c0] : memref<64xf16>, vector<8xf16>
    %w = vector.load %y[%c0] : memref<8xf32>, vector<4xf32>
    %1 = arith.select %is, %a, %w : vector<4xf32>
    vector.store %1, %y[%c0] : memref<8xf32>, vector<4xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @kernel(%x: memref<64xf32>, %y: vector<8xf32>) kernel {
    %c0 = arith.constant 0 : index
    // expected-error @+1 {{'vector.shuffle' op uses vectors that SPIR-V does not support}}
    %0 = vector.shuffle %y, %y [0, 1, 2, 3, 4, 5, 6, 8] : vector<8xf32>, vector<8xf32>
    vector.store %0, %x[%c0] : memref<64xf32>, vector<8xf32>
    gpu.return
  }
}
