// RUN: relax-opt %s --gpu-outline-kernels | FileCheck %s

// A product with a dynamic number of rows has a kernel for few of them next to that for any number: the host asks for the size.
// CHECK-LABEL: func.func @of_codes
// CHECK-NOT: memref.alloc
// CHECK: %[[ROWS:.*]] = memref.dim %arg0
// CHECK: %[[FEW:.*]] = arith.cmpi sle, %[[ROWS]], %c4
// CHECK: scf.if %[[FEW]] {
// CHECK: gpu.launch_func @kernels::@of_codes blocks
// CHECK: } else {
// CHECK: gpu.launch_func @kernels::@of_codes_1 blocks
// CHECK: }
// CHECK: return
func.func @of_codes(%x: memref<?x64xf32>, %w: memref<128x64xi8>, %y: memref<?x128xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [affine_map<(i, j) -> ()>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%zero : f32) outs(%y : memref<?x128xf32>)
      attrs = {tir.plan = "start"} {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>,
      affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<?x64xf32>, memref<128x64xi8>) outs(%y : memref<?x128xf32>)
      attrs = {tir.plan = "order 0 1 2; carried 1; vector 1 x 4; tile 0: 4, 1: 1; blocks 2: 16; threads 0: 8, 1: 8; shared 0 1; stages 2; rule product",
               gpu.few_rows = "order 0 1 2; carried 1; vector 1 x 1; tile 2: 16; threads 1: 64, 2: 4; rule few_rows"} {
  ^bb0(%a: f32, %b: i8, %c: f32):
    %number = arith.sitofp %b : i8 to f32
    %0 = arith.mulf %a, %number : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// Work of a thread: few rows are read directly; many rows are converted on the way to shared memory.
// CHECK-LABEL: gpu.module @kernels
// CHECK: gpu.func @of_codes({{.*}}gpu.form = "tiles", known_block_size = array<i32: 256, 1, 1>}
// CHECK: rule few_rows
// CHECK: gpu.func @of_codes_1({{.*}}gpu.form = "tiles", known_block_size = array<i32: 64, 1, 1>}
