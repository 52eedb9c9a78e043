// Tiles and vectors instead of linalg, as plans say: chosen ones, and at the end some that were written by hand.

// RUN: relax-opt %s --tir-plan=target=llvm{vector-bytes=64} --tir-apply-plan=target=llvm{vector-bytes=64} --split-input-file | FileCheck %s
// RUN: relax-opt %s --tir-plan=target=llvm{vector-bytes=32} --tir-apply-plan=target=llvm{vector-bytes=32} --split-input-file | FileCheck %s --check-prefix=SHORT
// RUN: relax-opt %s --tir-plan=target=default --tir-apply-plan --split-input-file | FileCheck %s --check-prefix=DEFAULT

// Neighbouring loops are one where no operand has a gap, so that only the end of all is a part of a vector.
// CHECK-LABEL: func.func @elementwise(
// CHECK: tensor.collapse_shape %{{.*}} {{\[\[}}0, 1]]
// CHECK: scf.for
// CHECK-COUNT-4: arith.addf {{.*}} vector<16xf32>
// CHECK-COUNT-4: vector.transfer_write
// CHECK: scf.yield
// CHECK: vector.create_mask
// CHECK: return
// SHORT-LABEL: func.func @elementwise(
// SHORT: arith.addf {{.*}} vector<8xf32>
// DEFAULT-LABEL: func.func @elementwise(
// DEFAULT: linalg.generic
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

// What the output is filled with is where the sums in registers start; nothing is written before they are done.
// CHECK-LABEL: func.func @matmul(
// CHECK-NOT: linalg
// CHECK: scf.for
// CHECK: scf.for {{.*}} iter_args
// CHECK-COUNT-24: arith.addf {{.*}} fastmath<contract> : vector<16xf32>
// CHECK-COUNT-24: vector.transfer_write
func.func @matmul(%a: tensor<60x32xf32>, %b: tensor<32x64xf32>, %out: tensor<60x64xf32>) -> tensor<60x64xf32>
    attributes {tir.prim_func, tir.op_pattern = "out_ewise_fusable"} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<60x64xf32>) -> tensor<60x64xf32>
  %1 = linalg.matmul ins(%a, %b : tensor<60x32xf32>, tensor<32x64xf32>) outs(%0 : tensor<60x64xf32>) -> tensor<60x64xf32>
  return %1 : tensor<60x64xf32>
}

// -----

// Four partial sums along the reduction, then one number of all lanes.
// CHECK-LABEL: func.func @row_sums(
// CHECK: scf.for
// CHECK: scf.for
// CHECK-COUNT-4: arith.addf {{.*}} vector<16xf32>
// CHECK: vector.create_mask
// CHECK: arith.select {{.*}} vector<16xf32>
// CHECK: vector.reduction <add>, {{.*}} fastmath<reassoc>
func.func @row_sums(%x: tensor<?x?xf32>, %out: tensor<?xf32>) -> tensor<?xf32>
    attributes {tir.prim_func, tir.op_pattern = "comm_reduce"} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<?xf32>) -> tensor<?xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                       iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x?xf32>) outs(%0 : tensor<?xf32>) {
    ^bb0(%a: f32, %sofar: f32):
      %c = arith.addf %a, %sofar : f32
      linalg.yield %c : f32
  } -> tensor<?xf32>
  return %1 : tensor<?xf32>
}

// -----

// What no plan fits stays as it is, with the reason: here, a body with a loop.
// CHECK-LABEL: func.func @loop_inside(
// CHECK: linalg.generic {{.*}} attrs = {tir.unplanned = "its body has a 'scf.for'"}
func.func @loop_inside(%x: tensor<64xi32>, %out: tensor<64xi32>) -> tensor<64xi32> attributes {tir.prim_func} {
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
  return %0 : tensor<64xi32>
}

// -----

// A function that is no PrimFunc is left alone.
// CHECK-LABEL: func.func @other(
// CHECK: linalg.fill
func.func @other(%x: f32, %out: tensor<64xf32>) -> tensor<64xf32> {
  %0 = linalg.fill ins(%x : f32) outs(%out : tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// The sequence that a function names runs on it, and is gone afterwards: no code can be made of it.
// CHECK: module attributes {transform.with_named_sequence}
// CHECK-NOT: transform.named_sequence
// CHECK: func.func @own({{.*}} attributes {tir.prim_func} {
// CHECK: scf.for {{.*}} step %c8
// CHECK: linalg.generic {{.*}} tensor<8xf32>
module attributes {transform.with_named_sequence} {
  transform.named_sequence @by_eight(%function: !transform.any_op {transform.readonly}) {
    %g = transform.structured.match ops{["linalg.generic"]} in %function : (!transform.any_op) -> !transform.any_op
    %t, %l = transform.structured.tile_using_for %g tile_sizes [8] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
  func.func @own(%x: tensor<64xf32>, %out: tensor<64xf32>) -> tensor<64xf32>
      attributes {tir.prim_func, tir.schedule = @by_eight} {
    %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%x : tensor<64xf32>) outs(%out : tensor<64xf32>) {
      ^bb0(%a: f32, %old: f32):
        %c = arith.negf %a : f32
        linalg.yield %c : f32
    } -> tensor<64xf32>
    return %0 : tensor<64xf32>
  }
}

// -----

// Written by hand: other vectors, another order, another tile than any rule would choose; loops stay apart.
// CHECK-LABEL: func.func @by_hand(
// CHECK: scf.for %[[J:.*]] = %c0{{.*}} to %c24{{.*}} step %c8
// CHECK: scf.for %[[I:.*]] = %c0{{.*}} to %c6{{.*}} step %c3
// CHECK-COUNT-6: arith.addf {{.*}} vector<4xf32>
// CHECK-NOT: arith.addf
// CHECK: return
func.func @by_hand(%x: tensor<6x24xf32>, %out: tensor<6x24xf32>) -> tensor<6x24xf32> attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<6x24xf32>) outs(%out : tensor<6x24xf32>) attrs = {tir.plan = "order 1 0; vector 1 x 4; tile 1: 2, 0: 3"} {
    ^bb0(%a: f32, %old: f32):
      %c = arith.addf %a, %a : f32
      linalg.yield %c : f32
  } -> tensor<6x24xf32>
  return %0 : tensor<6x24xf32>
}

// -----

// A fill and an epilogue that stay operations of their own: the sums are written, and read again.
// CHECK-LABEL: func.func @apart(
// CHECK: vector.transfer_write {{.*}} : vector<4xf32>
// CHECK: scf.for
// CHECK: arith.addf {{.*}} vector<8xf32>
// CHECK: vector.transfer_write
// CHECK: arith.negf {{.*}} vector<2xf32>
func.func @apart(%x: tensor<9x16xf32>, %out: tensor<16xf32>) -> tensor<16xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> ()>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%zero : f32) outs(%empty : tensor<16xf32>) attrs = {tir.plan = "order 0; vector 0 x 4"} {
    ^bb0(%a: f32, %old: f32):
      linalg.yield %a : f32
  } -> tensor<16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<9x16xf32>) outs(%0 : tensor<16xf32>) attrs = {tir.plan = "order 0 1; carried 1; vector 0 x 8"} {
    ^bb0(%a: f32, %sofar: f32):
      %c = arith.addf %a, %sofar : f32
      linalg.yield %c : f32
  } -> tensor<16xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%1 : tensor<16xf32>) outs(%out : tensor<16xf32>) attrs = {tir.plan = "order 0; vector 0 x 2"} {
    ^bb0(%a: f32, %old: f32):
      %c = arith.negf %a : f32
      linalg.yield %c : f32
  } -> tensor<16xf32>
  return %2 : tensor<16xf32>
}
