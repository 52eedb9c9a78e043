// RUN: relax-opt %s --tir-bufferize | FileCheck %s

// Outputs are written in place: nothing is allocated.
// CHECK-LABEL: func.func @double(%arg0: memref<?xf32>, %arg1: memref<?xf32>)
// CHECK-NOT: memref.alloc
// CHECK: linalg.generic {{.*}} ins(%arg0 : memref<?xf32>) outs(%arg1 : memref<?xf32>)
// CHECK: return
func.func @double(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%x : tensor<?xf32>) outs(%out : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.addf %a, %a : f32
    linalg.yield %1 : f32
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// An input that is returned is copied, by a loop; what is allocated on the way is given back.
// CHECK-LABEL: func.func @both(%arg0: memref<4xf32>, %arg1: memref<4xf32>, %arg2: memref<4xf32>)
// CHECK: %[[TEMP:.*]] = memref.alloc()
// CHECK-DAG: linalg.generic {{.*}} ins(%arg0 : memref<4xf32>) outs(%arg1 : memref<4xf32>)
// CHECK-DAG: memref.store {{.*}}, %[[TEMP]]
// CHECK: memref.dealloc %[[TEMP]]
func.func @both(%x: tensor<4xf32>, %o1: tensor<4xf32>, %o2: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %t = tensor.insert %one into %e[%c0] : tensor<4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (0)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%t : tensor<4xf32>) outs(%o2 : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<4xf32>
  return %x, %r : tensor<4xf32>, tensor<4xf32>
}

// A function on memrefs, and one of the graph, stay as they are.
// CHECK: func.func @by_hand(%arg0: memref<4xf32>) attributes {tir.prim_func}
func.func @by_hand(%x: memref<4xf32>) attributes {tir.prim_func} {
  return
}
// CHECK: func.func @graph(%arg0: tensor<4xf32>) -> tensor<4xf32>
func.func @graph(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// What a loop carries on is written in place, also where its dimensions were joined for that.
// CHECK-LABEL: func.func @carried
// CHECK: %[[TEMP:.*]] = memref.alloc(
// CHECK-NOT: memref.alloc
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{[^ ]*}} {
// CHECK-NOT: memref.expand_shape
// CHECK: memref.dealloc %[[TEMP]]
func.func @carried(%x: tensor<?x?xf32>, %out: tensor<?x?xf32>) -> tensor<?x?xf32> attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %one = arith.constant 1.0 : f32
  %rows = tensor.dim %x, %c0 : tensor<?x?xf32>
  %columns = tensor.dim %x, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%rows, %columns) : tensor<?x?xf32>
  %ones = linalg.fill ins(%one : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %r = scf.for %i = %c0 to %c8 step %c1 iter_args(%t = %ones) -> (tensor<?x?xf32>) {
    %joined = tensor.collapse_shape %t [[0, 1]] : tensor<?x?xf32> into tensor<?xf32>
    %doubled = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      outs(%joined : tensor<?xf32>) {
    ^bb0(%a: f32):
      %2 = arith.addf %a, %a : f32
      linalg.yield %2 : f32
    } -> tensor<?xf32>
    %height = tensor.dim %t, %c0 : tensor<?x?xf32>
    %width = tensor.dim %t, %c1 : tensor<?x?xf32>
    %apart = tensor.expand_shape %doubled [[0, 1]] output_shape [%height, %width]
      : tensor<?xf32> into tensor<?x?xf32>
    scf.yield %apart : tensor<?x?xf32>
  }
  %0 = linalg.add ins(%x, %r : tensor<?x?xf32>, tensor<?x?xf32>) outs(%out : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// Sizes exchanged are another view.
// CHECK-LABEL: func.func @exchanged
// CHECK: memref.expand_shape
func.func @exchanged(%x: tensor<?x?xf32>, %out: tensor<?x?xf32>) -> tensor<?x?xf32> attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = tensor.dim %x, %c0 : tensor<?x?xf32>
  %columns = tensor.dim %x, %c1 : tensor<?x?xf32>
  %joined = tensor.collapse_shape %x [[0, 1]] : tensor<?x?xf32> into tensor<?xf32>
  %apart = tensor.expand_shape %joined [[0, 1]] output_shape [%columns, %rows]
    : tensor<?xf32> into tensor<?x?xf32>
  %0 = linalg.exp ins(%apart : tensor<?x?xf32>) outs(%out : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// What a loop carries on has one place for all rounds. What is only moved to another place is copied before any of the
// places is written to: the two here change places.
// CHECK-LABEL: func.func @changing_places(
// CHECK: scf.for
// CHECK: linalg.add ins(%[[A:[a-z_0-9]+]], %[[C:[a-z_0-9]+]] : {{.*}}) outs(%[[NEW:[a-z_0-9]+]] :
// CHECK: %[[OLD_B:[a-z_0-9]+]] = memref.alloc()
// CHECK: linalg.generic {{.*}} ins(%[[B:[a-z_0-9]+]] : memref<4xf32>) outs(%[[OLD_B]] :
// CHECK: %[[OLD_A:[a-z_0-9]+]] = memref.alloc()
// CHECK: linalg.generic {{.*}} ins(%[[A]] : memref<4xf32>) outs(%[[OLD_A]] :
// CHECK: linalg.generic {{.*}} ins(%[[OLD_B]] : memref<4xf32>) outs(%[[A]] :
// CHECK: linalg.generic {{.*}} ins(%[[OLD_A]] : memref<4xf32>) outs(%[[B]] :
// CHECK: linalg.generic {{.*}} ins(%[[NEW]] : memref<4xf32>) outs(%[[C]] :
// CHECK-COUNT-3: memref.dealloc
func.func @changing_places(%x: tensor<4xf32>, %y: tensor<4xf32>, %n: index, %o: tensor<4xf32>) -> tensor<4xf32>
    attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y, %c = %x)
      -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %e = tensor.empty() : tensor<4xf32>
    %s = linalg.add ins(%a, %c : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %b, %a, %s : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  %t = linalg.add ins(%r#0, %r#1 : tensor<4xf32>, tensor<4xf32>) outs(%o : tensor<4xf32>) -> tensor<4xf32>
  %u = linalg.add ins(%t, %r#2 : tensor<4xf32>, tensor<4xf32>) outs(%t : tensor<4xf32>) -> tensor<4xf32>
  return %u : tensor<4xf32>
}
