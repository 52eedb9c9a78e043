// How loops are to run is chosen and written down; nothing else changes.

// RUN: relax-opt %s --tir-plan='target=llvm{vector-bytes=64 caches=32K,512K}' --split-input-file | FileCheck %s
// RUN: relax-opt %s --tir-plan='target=llvm{vector-bytes=64 caches=32K,128K}' --split-input-file | FileCheck %s --check-prefix=SMALL
// RUN: relax-opt %s --tir-plan=target=llvm{vector-bytes=32} --split-input-file | FileCheck %s --check-prefix=SHORT
// RUN: relax-opt %s --tir-plan=target=llvm{triple=aarch64-linux-gnu} --split-input-file | FileCheck %s --check-prefix=ARM
// RUN: relax-opt %s --tir-plan=target=default --split-input-file | FileCheck %s --check-prefix=DEFAULT
// DEFAULT-NOT: rule
// DEFAULT-NOT: tir.unplanned

// Neighbouring loops are one where no operand has a gap.
// CHECK-LABEL: func.func @elementwise(
// CHECK: linalg.generic {{.*}} {tir.plan = "order (0 1); vector 0 x 16; tile 0: 4; rule elementwise"}
// SHORT-LABEL: func.func @elementwise(
// SHORT: tir.plan = "order (0 1); vector 0 x 8; tile 0: 4; rule elementwise"
// ARM-LABEL: func.func @elementwise(
// ARM: tir.plan = "order (0 1); vector 0 x 4; tile 0: 4; rule elementwise"
func.func @elementwise(%x: tensor<7x19xf32>, %y: tensor<7x19xf32>, %out: tensor<7x19xf32>) -> tensor<7x19xf32>
    attributes {tir.prim_func, tir.op_pattern = "elemwise"} {
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<7x19xf32>, tensor<7x19xf32>) outs(%out : tensor<7x19xf32>) {
    ^bb0(%a: f32, %b: f32, %old: f32):
      %c = arith.addf %a, %b : f32
      linalg.yield %c : f32
  } -> tensor<7x19xf32>
  return %0 : tensor<7x19xf32>
}

// -----

// A product, what it starts from, and what is done with its results: three operations, one nest of loops. The more
// registers, the more rows.
// CHECK-LABEL: func.func @matmul(
// CHECK: linalg.generic {{.*}} {tir.plan = "start"}
// CHECK: linalg.generic {{.*}} {tir.plan = "order 1 0 2; carried 1; vector 1 x 16; tile 1: 4, 0: 6; panel 1 along 2: 32; rule matmul"}
// CHECK: linalg.generic {{.*}} {tir.plan = "epilogue of 0"}
// SHORT-LABEL: func.func @matmul(
// SHORT: tir.plan = "order 1 0 2; carried 1; vector 1 x 8; tile 1: 4, 0: 3; panel 1 along 2: 32; rule matmul"
// ARM-LABEL: func.func @matmul(
// ARM: tir.plan = "order 1 0 2; carried 1; vector 1 x 4; tile 1: 4, 0: 6; panel 1 along 2: 32; rule matmul"
func.func @matmul(%a: tensor<60x32xf32>, %b: tensor<32x128xf32>, %out: tensor<60x128xf32>) -> tensor<60x128xf32>
    attributes {tir.prim_func, tir.op_pattern = "out_ewise_fusable"} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<60x128xf32>) -> tensor<60x128xf32>
  %1 = linalg.matmul ins(%a, %b : tensor<60x32xf32>, tensor<32x128xf32>) outs(%0 : tensor<60x128xf32>) -> tensor<60x128xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%1 : tensor<60x128xf32>) outs(%out : tensor<60x128xf32>) {
    ^bb0(%v: f32, %old: f32):
      %r = arith.maximumf %v, %zero : f32
      linalg.yield %r : f32
  } -> tensor<60x128xf32>
  return %2 : tensor<60x128xf32>
}

// -----

// A long product goes through memory, in blocks: it starts from what is there.
// CHECK-LABEL: func.func @long(
// CHECK: linalg.generic {{.*}} {tir.plan = "order (0 1); vector 0 x 16; tile 0: 4; rule elementwise"}
// CHECK: linalg.generic {{.*}} {tir.plan = "order 1 0 2; carried 1; vector 1 x 16; tile 1: 4, 0: 6; blocks 2: 512; panel 1 along 2: 512; rule matmul"}
// A panel has room in half of a core's own cache: here 256 steps and more are cut.
// SMALL: func.func @long(
// SMALL: tile 1: 4, 0: 6; blocks 2: 128; panel 1 along 2: 128; rule matmul"}
func.func @long(%a: tensor<60x4000xf32>, %b: tensor<4000x128xf32>, %out: tensor<60x128xf32>) -> tensor<60x128xf32>
    attributes {tir.prim_func, tir.op_pattern = "out_ewise_fusable"} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<60x128xf32>) -> tensor<60x128xf32>
  %1 = linalg.matmul ins(%a, %b : tensor<60x4000xf32>, tensor<4000x128xf32>) outs(%0 : tensor<60x128xf32>) -> tensor<60x128xf32>
  return %1 : tensor<60x128xf32>
}

// -----

// Four partial sums along the reduction.
// CHECK-LABEL: func.func @row_sums(
// CHECK: tir.plan = "order 0 1; carried 1; vector 1 x 16; tile 1: 4; rule reduction"
func.func @row_sums(%x: tensor<?x?xf32>, %out: tensor<?xf32>) -> tensor<?xf32>
    attributes {tir.prim_func, tir.op_pattern = "comm_reduce"} {
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                       iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x?xf32>) outs(%out : tensor<?xf32>) {
    ^bb0(%a: f32, %sofar: f32):
      %c = arith.addf %a, %sofar : f32
      linalg.yield %c : f32
  } -> tensor<?xf32>
  return %1 : tensor<?xf32>
}

// -----

// Two reductions that run as one loop keep their results in registers as one does.
// CHECK-LABEL: func.func @mean(
// CHECK: {tir.plan = "start"}
// CHECK: {tir.plan = "order 0 (1 2); carried 1; vector 1 x 16; tile 1: 4; rule reduction"}
// CHECK: {tir.plan = "epilogue of 0"}
func.func @mean(%x: tensor<8x30x20xf32>, %out: tensor<8xf32>) -> tensor<8xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %count = arith.constant 600.0 : f32
  %empty = tensor.empty() : tensor<8xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i)>],
                       iterator_types = ["parallel", "reduction", "reduction"]}
      ins(%x : tensor<8x30x20xf32>) outs(%0 : tensor<8xf32>) {
    ^bb0(%a: f32, %sofar: f32):
      %c = arith.addf %a, %sofar : f32
      linalg.yield %c : f32
  } -> tensor<8xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%1 : tensor<8xf32>) outs(%out : tensor<8xf32>) {
    ^bb0(%a: f32, %old: f32):
      %c = arith.divf %a, %count : f32
      linalg.yield %c : f32
  } -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

// -----

// Rows are read, columns are written, in squares.
// CHECK-LABEL: func.func @transpose(
// CHECK: tir.plan = "order 1 0; vector 1 x 16; tile 0: 16; square 0; rule elementwise"
func.func @transpose(%x: tensor<64x48xf32>, %out: tensor<48x64xf32>) -> tensor<48x64xf32> attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<64x48xf32>) outs(%out : tensor<48x64xf32>) {
    ^bb0(%v: f32, %old: f32):
      linalg.yield %v : f32
  } -> tensor<48x64xf32>
  return %0 : tensor<48x64xf32>
}

// -----

// What no rule fits has the reason: here, a body with a loop. What has a plan keeps it.
// CHECK-LABEL: func.func @decided(
// CHECK: linalg.generic {{.*}} {tir.unplanned = "its body has a 'scf.for'"}
// CHECK: linalg.generic {{.*}} {tir.plan = "order 0; vector 0 x 2"}
func.func @decided(%x: tensor<64xi32>, %out: tensor<64xi32>) -> tensor<64xi32> attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<64xi32>) outs(%out : tensor<64xi32>) {
    ^bb0(%a: i32, %old: i32):
      %p = scf.for %i = %c0 to %c9 step %c1 iter_args(%q = %a) -> i32 {
        %r = arith.muli %q, %a : i32
        scf.yield %r : i32
      }
      linalg.yield %p : i32
  } -> tensor<64xi32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%0 : tensor<64xi32>) outs(%out : tensor<64xi32>) attrs = {tir.plan = "order 0; vector 0 x 2"} {
    ^bb0(%a: i32, %old: i32):
      %p = arith.muli %a, %a : i32
      linalg.yield %p : i32
  } -> tensor<64xi32>
  return %1 : tensor<64xi32>
}

// -----

// A function that is no PrimFunc is left alone.
// CHECK-LABEL: func.func @other(
// CHECK: linalg.fill ins
func.func @other(%x: f32, %out: tensor<64xf32>) -> tensor<64xf32> {
  %0 = linalg.fill ins(%x : f32) outs(%out : tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
