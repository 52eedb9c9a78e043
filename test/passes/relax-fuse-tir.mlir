// RUN: relax-opt %s --pass-pipeline='builtin.module(relax-legalize-ops,relax-fuse-tir)' --split-input-file | FileCheck %s
// RUN: relax-opt %s --pass-pipeline='builtin.module(relax-legalize-ops,relax-fuse-tir{epilogues=true})' --split-input-file | FileCheck %s --check-prefix=EPILOGUES
// RUN: relax-opt %s --pass-pipeline='builtin.module(relax-legalize-ops,relax-fuse-tir{max-ops=1})' --split-input-file | FileCheck %s --check-prefix=LIMIT

// A diamond is one call, its function one linalg.generic that writes the function's output.
// CHECK-LABEL: func.func @diamond(
// CHECK-NEXT: %[[R:.*]] = "relax.call_tir"(%arg0, %arg1) {func = @fused_exp_multiply_negative_add}
// CHECK-NEXT: return %[[R]]
// CHECK-NOT: @exp(
// CHECK-LABEL: func.func private @fused_exp_multiply_negative_add(
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>, %[[ROW:.*]]: tensor<8xf32>, %[[OUT:.*]]: tensor<?x8xf32>)
// CHECK-SAME: relax.operator = "relax.exp+relax.multiply+relax.negative+relax.add"
// CHECK-SAME: tir.op_pattern = "broadcast"
// CHECK-NEXT: %[[G:.*]] = linalg.generic
// CHECK-SAME: ins(%[[X]], %[[ROW]] : {{.*}}) outs(%[[OUT]] : tensor<?x8xf32>)
// CHECK: %[[E:.*]] = "tir.exp"
// CHECK-NEXT: %[[M:.*]] = arith.mulf %[[E]],
// CHECK-NEXT: %[[N:.*]] = arith.negf %[[E]]
// CHECK-NEXT: %[[A:.*]] = arith.addf %[[M]], %[[N]]
// CHECK-NEXT: linalg.yield %[[A]]
// CHECK: return %[[G]]
// LIMIT-LABEL: func.func @diamond(
// LIMIT-COUNT-4: relax.call_tir
// LIMIT-NEXT: return
func.func @diamond(%x: tensor<?x8xf32, #relax.sym<["n", 8]>>, %row: tensor<8xf32>)
    -> tensor<?x8xf32, #relax.sym<["n", 8]>> {
  %0 = "relax.exp"(%x) : (tensor<?x8xf32, #relax.sym<["n", 8]>>) -> tensor<?x8xf32, #relax.sym<["n", 8]>>
  %1 = "relax.multiply"(%0, %row)
    : (tensor<?x8xf32, #relax.sym<["n", 8]>>, tensor<8xf32>) -> tensor<?x8xf32, #relax.sym<["n", 8]>>
  %2 = "relax.negative"(%0) : (tensor<?x8xf32, #relax.sym<["n", 8]>>) -> tensor<?x8xf32, #relax.sym<["n", 8]>>
  %3 = "relax.add"(%1, %2) : (tensor<?x8xf32, #relax.sym<["n", 8]>>, tensor<?x8xf32, #relax.sym<["n", 8]>>)
    -> tensor<?x8xf32, #relax.sym<["n", 8]>>
  return %3 : tensor<?x8xf32, #relax.sym<["n", 8]>>
}

// -----

// What is used outside as well is one more output.
// CHECK-LABEL: func.func @middle(
// CHECK-NEXT: %[[R:.*]]:2 = "relax.call_tir"(%arg0) {func = @fused_exp_negative}
// CHECK-NEXT: return %[[R]]#0, %[[R]]#1
// CHECK: linalg.yield %{{.*}}, %{{.*}} : f32, f32
func.func @middle(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.negative"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Into a reduction; an index is computed from the indices of its loops. What the body asks for the size of is gone:
// another parameter tells it.
// CHECK-LABEL: func.func @to_a_mean(
// CHECK-NEXT: "relax.call_tir"(%arg0) {func = @fused_abs_permute_dims_mean}
// CHECK-LABEL: func.func private @fused_abs_permute_dims_mean(
// CHECK-SAME: %[[X:.*]]: tensor<?x?xf32>, %[[OUT:.*]]: tensor<?xf32>)
// CHECK-DAG: tensor.dim %[[X]]
// CHECK: iterator_types = [{{.*}}"reduction"{{.*}}]{{.*}} ins(%[[X]] : tensor<?x?xf32>)
// CHECK: "tir.fabs"
func.func @to_a_mean(%x: tensor<?x?xf32, #relax.sym<["n", "m"]>>) -> tensor<?xf32, #relax.sym<["m"]>> {
  %0 = "relax.abs"(%x) : (tensor<?x?xf32, #relax.sym<["n", "m"]>>) -> tensor<?x?xf32, #relax.sym<["n", "m"]>>
  %1 = "relax.permute_dims"(%0) : (tensor<?x?xf32, #relax.sym<["n", "m"]>>) -> tensor<?x?xf32, #relax.sym<["m", "n"]>>
  %2 = "relax.mean"(%1) {axis = [1]} : (tensor<?x?xf32, #relax.sym<["m", "n"]>>) -> tensor<?xf32, #relax.sym<["m"]>>
  return %2 : tensor<?xf32, #relax.sym<["m"]>>
}

// -----

// Behind a product in its memory, when asked for.
// CHECK-LABEL: func.func @product(
// CHECK-NEXT: {func = @matmul}
// CHECK-NEXT: {func = @fused_add_exp}
// EPILOGUES-LABEL: func.func @product(
// EPILOGUES-NEXT: "relax.call_tir"(%arg0, %arg1, %arg2) {func = @fused_matmul_add_exp}
// EPILOGUES-NEXT: return
// EPILOGUES-LABEL: func.func private @fused_matmul_add_exp(
// EPILOGUES-SAME: tir.op_pattern = "out_ewise_fusable"
// EPILOGUES: %[[P:.*]] = linalg.generic {{.*}}"reduction"
// EPILOGUES: linalg.generic {{.*}} ins(%[[P]], %arg2 : {{.*}}) outs(%[[P]] : tensor<4x8xf32>)
func.func @product(%x: tensor<4x8xf32>, %y: tensor<8x8xf32>, %row: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = "relax.matmul"(%x, %y) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = "relax.add"(%0, %row) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %2 = "relax.exp"(%1) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

// Hand-written functions take part, and stay. One that asserts, has a schedule or another target does not take part,
// nor one that reads what its output holds already: inside of a fused one there is nothing to read.
// CHECK-LABEL: func.func @by_hand(
// CHECK-NEXT: %[[A:.*]] = "relax.call_tir"(%arg0) {func = @fused_twice_exp}
// CHECK-NEXT: %[[B:.*]] = "relax.call_tir"(%[[A]]) {func = @asserts}
// CHECK-NEXT: %[[C:.*]] = "relax.call_tir"(%[[B]]) {func = @exp}
// CHECK-NEXT: %[[D:.*]] = "relax.call_tir"(%[[C]]) {func = @scheduled}
// CHECK-NEXT: %[[E:.*]] = "relax.call_tir"(%[[D]]) {func = @elsewhere}
// CHECK-NEXT: %[[F:.*]] = "relax.call_tir"(%[[E]]) {func = @exp}
// CHECK-NEXT: %[[G:.*]] = "relax.call_tir"(%[[F]]) {func = @accumulates}
// CHECK-NEXT: %[[H:.*]] = "relax.call_tir"(%[[G]]) {func = @exp}
// CHECK-NEXT: return %[[H]]
// CHECK: func.func @twice(
// CHECK: func.func private @fused_twice_exp(
// CHECK-SAME: relax.operator = "@twice+relax.exp"
#id = affine_map<(d0) -> (d0)>
func.func @by_hand(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.call_tir"(%x) {func = @twice} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.exp"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "relax.call_tir"(%1) {func = @asserts} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = "relax.exp"(%2) : (tensor<4xf32>) -> tensor<4xf32>
  %4 = "relax.call_tir"(%3) {func = @scheduled} : (tensor<4xf32>) -> tensor<4xf32>
  %5 = "relax.call_tir"(%4) {func = @elsewhere} : (tensor<4xf32>) -> tensor<4xf32>
  %6 = "relax.exp"(%5) : (tensor<4xf32>) -> tensor<4xf32>
  %7 = "relax.call_tir"(%6) {func = @accumulates} : (tensor<4xf32>) -> tensor<4xf32>
  %8 = "relax.exp"(%7) : (tensor<4xf32>) -> tensor<4xf32>
  return %8 : tensor<4xf32>
}
func.func @accumulates(%x: tensor<4xf32>, %out: tensor<4xf32>) -> tensor<4xf32>
    attributes {tir.prim_func, tir.op_pattern = "elemwise"} {
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%out : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.addf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @twice(%x: tensor<4xf32>, %out: tensor<4xf32>) -> tensor<4xf32>
    attributes {tir.prim_func, tir.op_pattern = "elemwise"} {
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%out : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.addf %a, %a : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @asserts(%x: tensor<4xf32>, %out: tensor<4xf32>) -> tensor<4xf32>
    attributes {tir.prim_func, tir.op_pattern = "elemwise"} {
  %true = arith.constant true
  "tir.assert"(%true) {kind = "ValueError", message = "no"} : (i1) -> ()
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%out : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @scheduled(%x: tensor<4xf32>, %out: tensor<4xf32>) -> tensor<4xf32>
    attributes {tir.prim_func, tir.op_pattern = "elemwise", tir.schedule = @any} {
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%out : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @elsewhere(%x: tensor<4xf32>, %out: tensor<4xf32>) -> tensor<4xf32>
    attributes {tir.prim_func, tir.op_pattern = "elemwise", tir.target = "llvm"} {
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%out : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A size that is defined between two calls: the fused call stands behind.
// CHECK-LABEL: func.func @sizes(
// CHECK: %[[C:.*]] = "relax.match_cast"(%arg1)
// CHECK-NEXT: "relax.call_tir"(%arg0, %[[C]]) {func = @fused_negative_add}
func.func @sizes(%row: tensor<4xf32>, %y: tensor<?x4xf32>) -> tensor<?x4xf32, #relax.sym<["k", 4]>> {
  %0 = "relax.negative"(%row) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.match_cast"(%y) : (tensor<?x4xf32>) -> tensor<?x4xf32, #relax.sym<["k", 4]>>
  %2 = "relax.add"(%1, %0) : (tensor<?x4xf32, #relax.sym<["k", 4]>>, tensor<4xf32>)
    -> tensor<?x4xf32, #relax.sym<["k", 4]>>
  return %2 : tensor<?x4xf32, #relax.sym<["k", 4]>>
}

// What is written elsewhere than where the product's loops are is no epilogue of it.
// EPILOGUES-LABEL: func.func @product_moved(
// EPILOGUES-NEXT: %[[P:.*]] = "relax.call_tir"(%arg0, %arg1) {func = @matmul
// EPILOGUES-NEXT: "relax.call_tir"(%[[P]]) {func = @permute_dims
func.func @product_moved(%x: tensor<4x6xf32>, %w: tensor<6x4xf32>) -> tensor<4x4xf32> {
  %0 = "relax.matmul"(%x, %w) : (tensor<4x6xf32>, tensor<6x4xf32>) -> tensor<4x4xf32>
  %1 = "relax.permute_dims"(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// -----

// @negative, which reads what @exp makes, goes on with @add and stands there: @exp can wait for what @multiply needs.
// CHECK-LABEL: func.func @reader_moved(
// CHECK-NEXT: %[[S:.*]] = "relax.call_tir"(%arg0) {func = @sort}
// CHECK-NEXT: %[[R:.*]]:2 = "relax.call_tir"(%arg0, %[[S]]) {func = @fused_exp_multiply}
// CHECK-NEXT: %[[T:.*]] = "relax.call_tir"(%[[R]]#1) {func = @sort}
// CHECK-NEXT: %[[A:.*]] = "relax.call_tir"(%[[R]]#0, %[[T]]) {func = @fused_negative_add}
// CHECK-NEXT: return %[[A]]
func.func @reader_moved(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.negative"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "relax.sort"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = "relax.multiply"(%0, %2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = "relax.sort"(%3) : (tensor<4xf32>) -> tensor<4xf32>
  %5 = "relax.add"(%1, %4) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %5 : tensor<4xf32>
}

// -----

// What is changed in its place, here by another name, is read where it was read: @negative does not wait for @add.
// CHECK-LABEL: func.func @changed(
// CHECK: %[[A:.*]] = "relax.call_tir"(%arg0) {func = @exp}
// CHECK-NEXT: %[[B:.*]] = "relax.call_tir"(%[[A]]) {func = @negative}
// CHECK: "relax.call_tir_inplace"
// CHECK-NEXT: "relax.call_tir"(%[[B]], %arg0) {func = @add}
func.func @changed(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.negative"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "relax.match_cast"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = "relax.call_tir_inplace"(%2) {func = @change, inplace_indices = [0]} : (tensor<4xf32>) -> tensor<4xf32>
  %4 = "relax.add"(%1, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %4, %3 : tensor<4xf32>, tensor<4xf32>
}
func.func @change(%x: memref<4xf32>) attributes {tir.prim_func} {
  return
}
