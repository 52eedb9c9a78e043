// RUN: relax-opt %s --tir-store-small-types --split-input-file | FileCheck %s

// What moves elements moves bytes: no operation is added.
// CHECK-LABEL: func.func @moves(
// CHECK-SAME: %{{.*}}: tensor<?x4xi8>, %{{.*}}: tensor<?xi8>, %{{.*}}: tensor<?xi8>, %{{.*}}: index, %{{.*}}: i1) -> tensor<?xi8>
// CHECK-NEXT: arith.constant 0 : index
// CHECK-NEXT: %[[ELEMENT:.*]] = tensor.extract {{.*}} : tensor<?xi8>
// CHECK-NEXT: %[[SLICE:.*]] = tensor.extract_slice {{.*}} : tensor<?x4xi8> to tensor<?xi8>
// CHECK-NEXT: linalg.generic {{.*}} ins(%[[SLICE]] : tensor<?xi8>) outs(%{{.*}} : tensor<?xi8>)
// CHECK-NEXT: ^bb0(%[[IN:.*]]: i8, %{{.*}}: i8):
// CHECK-NEXT: arith.select %{{.*}}, %[[IN]], %[[ELEMENT]] : i8
// CHECK-NEXT: linalg.yield %{{.*}} : i8
// CHECK-NEXT: } -> tensor<?xi8>
// CHECK-NEXT: return %{{.*}} : tensor<?xi8>
func.func @moves(%x: tensor<?x4xi4>, %y: tensor<?xi4>, %out: tensor<?xi4>, %n: index, %flag: i1) -> tensor<?xi4> {
  %zero = arith.constant 0 : index
  %e = tensor.extract %y[%zero] : tensor<?xi4>
  %s = tensor.extract_slice %x[0, 1] [%n, 1] [1, 1] : tensor<?x4xi4> to tensor<?xi4>
  %z = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%s : tensor<?xi4>) outs(%out : tensor<?xi4>) {
  ^bb0(%a: i4, %b: i4):
    %c = arith.select %flag, %a, %e : i4
    linalg.yield %c : i4
  } -> tensor<?xi4>
  return %z : tensor<?xi4>
}

// -----

// Layouts, memory spaces and unknown ranks stay; so do bools and types of whole bytes.
// CHECK-LABEL: func.func @memrefs(
// CHECK-SAME: memref<?xi8, strided<[2], offset: ?>>, %{{.*}}: memref<*xi8, 1>, %{{.*}}: memref<4xi1>, %{{.*}}: memref<4xbf16>
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (i8)
// CHECK-NEXT: memref.load {{.*}} : memref<?xi8, strided<[2], offset: ?>>
// CHECK-NEXT: scf.yield %{{.*}} : i8
// CHECK: call @other(%{{.*}}) : (i8) -> i8
func.func private @other(f8E5M2) -> f8E5M2
func.func @memrefs(%x: memref<?xf8E5M2, strided<[2], offset: ?>>, %y: memref<*xui4, 1>, %m: memref<4xi1>, %h: memref<4xbf16>, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %first = memref.load %x[%zero] : memref<?xf8E5M2, strided<[2], offset: ?>>
  %last = scf.for %i = %zero to %n step %one iter_args(%e = %first) -> (f8E5M2) {
    %v = memref.load %x[%i] : memref<?xf8E5M2, strided<[2], offset: ?>>
    scf.yield %v : f8E5M2
  }
  %r = func.call @other(%last) : (f8E5M2) -> f8E5M2
  memref.store %r, %x[%zero] : memref<?xf8E5M2, strided<[2], offset: ?>>
  return
}

// -----

// Constants are the bits of their elements; NaN too.
// CHECK-DAG: memref.global "private" constant @numbers : memref<3xi8> = dense<[56, -72, 127]>
// CHECK-DAG: memref.global "private" @unset : memref<2xi8> = uninitialized
// CHECK-LABEL: func.func @constants
// CHECK-DAG: arith.constant 60 : i8
// CHECK-DAG: arith.constant 15 : i8
// CHECK-DAG: arith.constant dense<[2, 15, 0, 8]> : tensor<4xi8>
// CHECK-DAG: arith.constant dense<127> : tensor<200xi8>
// CHECK-DAG: arith.constant dense<{{\[\[}}1, 14], [3, 0]]> : vector<2x2xi8>
// CHECK: memref.get_global @numbers : memref<3xi8>
memref.global "private" constant @numbers : memref<3xf8E4M3FN> = dense<[1.0, -1.0, 0x7F]>
memref.global "private" @unset : memref<2xi4> = uninitialized
func.func @constants() -> (f8E4M3FN, i4, tensor<4xf4E2M1FN>, tensor<200xf8E8M0FNU>, vector<2x2xi4>, memref<3xf8E4M3FN>) {
  %a = arith.constant 1.5 : f8E4M3FN
  %b = arith.constant -1 : i4
  %c = arith.constant dense<[1.0, -6.0, 0.0, -0.0]> : tensor<4xf4E2M1FN>
  %d = arith.constant dense<1.0> : tensor<200xf8E8M0FNU>
  %e = arith.constant dense<[[1, -2], [3, 0]]> : vector<2x2xi4>
  %f = memref.get_global @numbers : memref<3xf8E4M3FN>
  return %a, %b, %c, %d, %e, %f : f8E4M3FN, i4, tensor<4xf4E2M1FN>, tensor<200xf8E8M0FNU>, vector<2x2xi4>, memref<3xf8E4M3FN>
}

// -----

// A bitcast says nothing more; integers are computed on as they are, with zeros in a byte's other bits.
// CHECK-LABEL: func.func @integers(
// CHECK-SAME: %[[X:.*]]: i8, %[[Y:.*]]: i8, %[[Z:.*]]: i8) -> (i8, i32, i8)
// CHECK-NEXT: %[[A:.*]] = arith.trunci %[[X]] : i8 to i4
// CHECK-NEXT: %[[B:.*]] = arith.trunci %[[Y]] : i8 to i4
// CHECK-NEXT: %[[C:.*]] = arith.addi %[[A]], %[[B]] : i4
// CHECK-NEXT: %[[D:.*]] = arith.extui %[[C]] : i4 to i8
// CHECK-NEXT: %[[E:.*]] = arith.trunci %[[D]] : i8 to i4
// CHECK-NEXT: %[[F:.*]] = arith.extsi %[[E]] : i4 to i32
// CHECK-NEXT: return %[[D]], %[[F]], %[[Z]] : i8, i32, i8
func.func @integers(%x: i4, %y: i4, %z: f8E5M2) -> (i4, i32, i8) {
  %a = arith.addi %x, %y : i4
  %b = arith.extsi %a : i4 to i32
  %c = arith.bitcast %z : f8E5M2 to i8
  return %a, %b, %c : i4, i32, i8
}

// -----

// Small floats are f32 in between: widened, computed with, rounded.
// CHECK-LABEL: func.func @floats(
// CHECK-SAME: %{{.*}}: vector<4xi8>, %{{.*}}: f64) -> (vector<4xi8>, vector<4xi1>, f64, i8)
// CHECK: arith.addf %{{.*}}, %{{.*}} fastmath<nnan> : vector<4xf32>
// CHECK: arith.cmpf olt, %{{.*}}, %{{.*}} : vector<4xf32>
// CHECK-NOT: f8E5M2
// CHECK: arith.extf %{{.*}} : f32 to f64
// CHECK-NOT: arith.truncf
// CHECK: return
func.func @floats(%x: vector<4xf8E5M2>, %y: f64) -> (vector<4xf8E5M2>, vector<4xi1>, f64, f8E5M2) {
  %a = arith.addf %x, %x fastmath<nnan> : vector<4xf8E5M2>
  %b = arith.cmpf olt, %a, %x : vector<4xf8E5M2>
  %c = vector.extract %a[0] : f8E5M2 from vector<4xf8E5M2>
  %d = arith.extf %c : f8E5M2 to f64
  %e = arith.truncf %y : f64 to f8E5M2
  return %a, %b, %d, %e : vector<4xf8E5M2>, vector<4xi1>, f64, f8E5M2
}
