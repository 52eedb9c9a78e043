// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

// CHECK: func.func @relu(%{{.*}}: tensor<?x4xf32>, %{{.*}}: tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-SAME: tir.noalias, tir.op_pattern = "elemwise", tir.prim_func
func.func @relu(%x: tensor<?x4xf32>, %out: tensor<?x4xf32>) -> tensor<?x4xf32>
    attributes {tir.prim_func, tir.op_pattern = "elemwise", tir.noalias} {
  %0 = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x4xf32>) outs(%out : tensor<?x4xf32>) {
  ^bb0(%in: f32, %o: f32):
    // CHECK: "tir.sigmoid"
    %1 = "tir.sigmoid"(%in) : (f32) -> f32
    linalg.yield %1 : f32
  } -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// CHECK: func.func @on_memrefs(%{{.*}}: i64, %{{.*}}: memref<4xf32>, %{{.*}}: memref<4xf32>)
// CHECK-SAME: tir.prim_func, tir.schedule = @schedules::@tile, tir.target = "llvm"
func.func @on_memrefs(%n: i64, %x: memref<4xf32>, %out: memref<4xf32>)
    attributes {tir.prim_func, tir.target = "llvm", tir.schedule = @schedules::@tile} {
  memref.copy %x, %out : memref<4xf32> to memref<4xf32>
  return
}

// Two outputs, the trailing parameters.
// CHECK: func.func @two(
func.func @two(%x: tensor<f32>, %a: tensor<4xf32>, %b: tensor<i32>) -> (tensor<4xf32>, tensor<i32>)
    attributes {tir.prim_func} {
  return %a, %b : tensor<4xf32>, tensor<i32>
}

// The output of bufferization before drop-equivalent-buffer-results: a buffer is returned.
// CHECK: func.func @returned(
func.func @returned(%x: memref<4xf32>, %out: memref<4xf32, strided<[1], offset: ?>>) -> memref<4xf32>
    attributes {tir.prim_func} {
  return %x : memref<4xf32>
}

// A function with effects only, without results.
// CHECK: func.func @effects(
func.func @effects(%x: i32) attributes {tir.prim_func} {
  "tir.call_extern"(%x) {func = "VTADepPop"} : (i32) -> ()
  return
}
