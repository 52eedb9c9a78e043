// Plans written in MLIR's text: upstream's named operations, and its transform sequences.

// RUN: relax-opt %s --tir-plan=target=llvm{vector-bytes=64} --tir-apply-plan=target=llvm{vector-bytes=64} --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @matmul(
// CHECK-NOT: linalg
// CHECK: scf.for
// CHECK: scf.for {{.*}} iter_args
// CHECK-COUNT-24: math.fma {{.*}} : vector<16xf32>
// CHECK-COUNT-24: vector.transfer_write
func.func @matmul(%a: tensor<60x32xf32>, %b: tensor<32x64xf32>, %out: tensor<60x64xf32>) -> tensor<60x64xf32>
    attributes {tir.prim_func, tir.op_pattern = "out_ewise_fusable"} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<60x64xf32>) -> tensor<60x64xf32>
  %1 = linalg.matmul ins(%a, %b : tensor<60x32xf32>, tensor<32x64xf32>) outs(%0 : tensor<60x64xf32>) -> tensor<60x64xf32>
  return %1 : tensor<60x64xf32>
}

// -----

// The sequence that a function names runs on it, and is gone afterwards: no code can be made of it.
// CHECK: module attributes {transform.with_named_sequence}
// CHECK-NOT: transform.named_sequence
// CHECK: func.func @own({{.*}} attributes {tir.engine = "scalar", tir.prim_func} {
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
