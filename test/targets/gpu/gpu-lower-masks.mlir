// RUN: relax-opt %s --gpu-lower-masks --canonicalize | FileCheck %s

// The first lanes: one vector where all are there, else one by one.
// CHECK-LABEL: gpu.func @first_lanes
// CHECK-SAME: (%[[MEMORY:.*]]: memref<8x9xf32>, %[[ROW:.*]]: index, %[[COLUMN:.*]]: index, %[[COUNT:.*]]: index)
// CHECK: %[[ALL:.*]] = arith.cmpi sge, %[[COUNT]], %c4
// CHECK: %[[READ:.*]] = scf.if %[[ALL]] -> (vector<4xf32>) {
// CHECK-NEXT: vector.load %[[MEMORY]][%[[ROW]], %[[COLUMN]]] : memref<8x9xf32>, vector<4xf32>
// CHECK: } else {
// CHECK-NEXT: %[[HAS:.*]] = arith.cmpi sgt, %[[COUNT]], %c0
// CHECK-NEXT: %[[FIRST:.*]] = scf.if %[[HAS]] -> (f32) {
// CHECK-NEXT: memref.load %[[MEMORY]][%[[ROW]], %[[COLUMN]]]
// CHECK: } else {
// CHECK-NEXT: scf.yield %[[NOTHING:.*]] : f32
// CHECK: arith.cmpi sgt, %[[COUNT]], %c1
// CHECK: memref.load
// CHECK: arith.cmpi sgt, %[[COUNT]], %c2
// CHECK: memref.load
// CHECK: arith.cmpi sgt, %[[COUNT]], %c3
// CHECK: memref.load
// CHECK: vector.from_elements %[[FIRST]]
// CHECK: arith.cmpi sge, %[[COUNT]], %c4
// CHECK: vector.store %[[READ]], %[[MEMORY]][%[[ROW]], %[[COLUMN]]]
// CHECK: } else {
// CHECK-COUNT-4: memref.store
// CHECK-NOT: vector.masked
gpu.module @kernels {
  gpu.func @first_lanes(%x: memref<8x9xf32>, %i: index, %j: index, %count: index) kernel {
    %none = arith.constant dense<0.0> : vector<4xf32>
    %mask = vector.create_mask %count : vector<4xi1>
    %v = vector.maskedload %x[%i, %j], %mask, %none
      : memref<8x9xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
    vector.maskedstore %x[%i, %j], %mask, %v : memref<8x9xf32>, vector<4xi1>, vector<4xf32>
    gpu.return
  }

  // With a known number of lanes, no conditions are needed.
  // CHECK-LABEL: gpu.func @known
  // CHECK-NOT: scf.if
  // CHECK-COUNT-3: memref.store
  // CHECK-NOT: memref.store
  // CHECK: gpu.return
  gpu.func @known(%x: memref<9xf32>, %j: index, %v: vector<4xf32>) kernel {
    %mask = vector.constant_mask [3] : vector<4xi1>
    vector.maskedstore %x[%j], %mask, %v : memref<9xf32>, vector<4xi1>, vector<4xf32>
    gpu.return
  }

  // Any lanes; what else uses masks has each lane of them.
  // CHECK-LABEL: gpu.func @any_lanes
  // CHECK: vector.from_elements %{{.*}}, %{{.*}} : vector<2xi1>
  // CHECK: %[[BOTH:.*]] = arith.andi
  // CHECK: vector.extract %[[BOTH]][0]
  // CHECK-NEXT: scf.if
  // CHECK: vector.extract %[[BOTH]][1]
  // CHECK-NEXT: scf.if
  // CHECK: vector.from_elements
  gpu.func @any_lanes(%x: memref<9xi32>, %y: memref<2xi32>, %j: index, %count: index, %is: vector<2xi1>) kernel {
    %c0 = arith.constant 0 : index
    %none = arith.constant dense<0> : vector<2xi32>
    %first = vector.create_mask %count : vector<2xi1>
    %mask = arith.andi %first, %is : vector<2xi1>
    %v = vector.maskedload %x[%j], %mask, %none : memref<9xi32>, vector<2xi1>, vector<2xi32> into vector<2xi32>
    vector.store %v, %y[%c0] : memref<2xi32>, vector<2xi32>
    gpu.return
  }
}
