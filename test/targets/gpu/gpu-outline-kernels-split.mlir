// RUN: relax-opt %s --gpu-outline-kernels --canonicalize | FileCheck %s
// RUN: relax-opt %s --gpu-outline-kernels --gpu-share-threads --canonicalize | FileCheck %s --check-prefix=THREADS

#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>
#sums = affine_map<(m, n, k) -> (m, n)>
#same = affine_map<(m, n) -> (m, n)>

// Blocks share the steps in as many parts as the plan says; what puts these together starts and ends as the whole would.
// CHECK-LABEL: func.func @known
// CHECK-NOT: scf.if
// CHECK: %[[BETWEEN:.*]] = memref.alloc() {{.*}}: memref<8x16x64xf16>
// CHECK: gpu.launch_func @kernels::@known blocks in (%c16, {{.*}}) threads in (%c64
// CHECK: gpu.launch_func @kernels::@known_1 blocks
// CHECK-NOT: gpu.launch_func
// CHECK: memref.dealloc %[[BETWEEN]]
func.func @known(%a: memref<16x2050xf16>, %b: memref<2050x64xf16>, %bias: memref<64xf16>, %out: memref<16x64xf16>) {
  %zero = arith.constant 0.5 : f16
  %sum = memref.alloc() : memref<16x64xf16>
  linalg.generic {indexing_maps = [affine_map<(m, n) -> ()>, #same], iterator_types = ["parallel", "parallel"],
      tir.plan = "start"} ins(%zero : f16) outs(%sum : memref<16x64xf16>) {
  ^bb0(%x: f16, %y: f16):
    linalg.yield %x : f16
  }
  linalg.generic {indexing_maps = [#rows, #columns, #sums], iterator_types = ["parallel", "parallel", "reduction"],
      tir.plan = "order 0 1 2; carried 1; vector 1 x 4; tile 0: 4, 1: 1; blocks 2: 16; threads 0: 8, 1: 8; shared 0 1; stages 2; parts 2: 8"}
      ins(%a, %b : memref<16x2050xf16>, memref<2050x64xf16>) outs(%sum : memref<16x64xf16>) {
  ^bb0(%x: f16, %y: f16, %o: f16):
    %0 = arith.mulf %x, %y : f16
    %1 = arith.addf %o, %0 : f16
    linalg.yield %1 : f16
  }
  linalg.generic {indexing_maps = [#same, affine_map<(m, n) -> (n)>, #same], iterator_types = ["parallel", "parallel"],
      tir.plan = "epilogue of 0"} ins(%sum, %bias : memref<16x64xf16>, memref<64xf16>) outs(%out : memref<16x64xf16>) {
  ^bb0(%x: f16, %y: f16, %o: f16):
    %0 = arith.addf %x, %y : f16
    linalg.yield %0 : f16
  }
  memref.dealloc %sum : memref<16x64xf16>
  return
}

// A block's part of the 129 blocks of steps; sums of parts start from what changes nothing.
// THREADS-LABEL: gpu.func @known(
// THREADS: arith.constant dense<-0.000000e+00>
// THREADS: %[[PART:.*]] = arith.remui {{.*}}, %c8
// THREADS: %[[SCALED:.*]] = arith.muli %[[PART]], %c129
// THREADS: %[[FIRST:.*]] = arith.divui %[[SCALED]], %c8
// THREADS: gpu.func @known_1(
// THREADS: scf.for %{{.*}} = %c0 to %c8 {{.*}}iter_args({{.*}} = %cst
// THREADS-LABEL: gpu.func @open(

// With dynamic sizes the host computes the number of parts, and whether there is more than one.
// CHECK-LABEL: func.func @open
// CHECK: %[[BLOCKS:.*]] = arith.maxsi %{{.*}}, %c1
// CHECK: %[[WANTED:.*]] = arith.divui %c216, %[[BLOCKS]]
// CHECK: %[[PARTS:.*]] = arith.minsi %[[WANTED]], %c16
// CHECK: %[[SEVERAL:.*]] = arith.cmpi sgt
// CHECK: scf.if %[[SEVERAL]] {
// CHECK: memref.alloc({{.*}}) {{.*}}: memref<?x?x64xf32>
// CHECK: gpu.launch_func @kernels::@open blocks
// CHECK: gpu.launch_func @kernels::@open_1 blocks
// CHECK-NOT: gpu.launch_func
// CHECK: memref.dealloc
// CHECK: } else {
// CHECK: gpu.launch_func @kernels::@open_2 blocks
// CHECK-NOT: gpu.launch_func
// CHECK: return
func.func @open(%a: memref<?x4096xf32>, %b: memref<4096x64xf32>, %bias: memref<64xf32>, %out: memref<?x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %m = memref.dim %a, %c0 : memref<?x4096xf32>
  %sum = memref.alloc(%m) : memref<?x64xf32>
  linalg.generic {indexing_maps = [affine_map<(m, n) -> ()>, #same], iterator_types = ["parallel", "parallel"],
      tir.plan = "start"} ins(%zero : f32) outs(%sum : memref<?x64xf32>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  }
  linalg.generic {indexing_maps = [#rows, #columns, #sums], iterator_types = ["parallel", "parallel", "reduction"],
      tir.plan = "order 0 1 2; carried 1; vector 1 x 4; tile 0: 4, 1: 1; blocks 2: 8; threads 0: 8, 1: 8; shared 0 1; stages 2; parts 2: 216 blocks of 256"}
      ins(%a, %b : memref<?x4096xf32>, memref<4096x64xf32>) outs(%sum : memref<?x64xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  }
  linalg.generic {indexing_maps = [#same, affine_map<(m, n) -> (n)>, #same], iterator_types = ["parallel", "parallel"],
      tir.plan = "epilogue of 0"} ins(%sum, %bias : memref<?x64xf32>, memref<64xf32>) outs(%out : memref<?x64xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %0 = arith.addf %x, %y : f32
    linalg.yield %0 : f32
  }
  memref.dealloc %sum : memref<?x64xf32>
  return
}
