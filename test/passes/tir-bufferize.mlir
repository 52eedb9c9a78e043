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
