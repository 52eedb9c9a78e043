// RUN: relax-opt %s --relax-lower-calls | FileCheck %s

func.func @exp(%x: memref<?x8xf32>, %out: memref<?x8xf32>) attributes {tir.prim_func} {
  return
}

// A kernel's call records its provenance: the model's nodes, operators, symbolic shapes, and bytes if known.
// CHECK-LABEL: func.func @sites(
// CHECK: call @known(%arg0, %{{.*}}) {relax.site = {bytes = 80 : i64, inputs = ["f32[2,8]"], main = "relax.matmul",
// CHECK-SAME: node_operators = ["onnx.MatMul", "onnx.Add", ""], nodes = ["mm", "a/b", "m.py:3:4"],
// CHECK-SAME: operators = ["relax.matmul", "relax.add"], outputs = ["ui8[2,8]"]}}
// CHECK: call @exp({{.*}}) {relax.site = {inputs = ["f32[2*n,8]"], main = "@exp", node_operators = [""],
// CHECK-SAME: nodes = ["e"], operators = ["@exp"], outputs = ["f32[2*n,8]"]}}
func.func @known(%x: memref<2x8xf32>, %out: memref<2x8xi8>)
    attributes {tir.prim_func, relax.operator = "relax.matmul+relax.add", relax.main_operator = "relax.matmul"} {
  return
}
!s = tensor<?x8xf32, #relax.sym<["2*n", 8]>>
func.func @sites(%x: tensor<2x8xf32>, %y: !s) -> (tensor<2x8xui8>, !s) {
  %0 = "relax.call_tir"(%x) {func = @known} : (tensor<2x8xf32>) -> tensor<2x8xui8>
    loc(fused["mm"("onnx.MatMul"), "a/b"("onnx.Add"("x")), fused["mm"("onnx.MatMul"), "m.py":3:4]])
  %1 = "relax.call_tir"(%y) {func = @exp} : (!s) -> !s loc("e"("m.py":1:2))
  return %0, %1 : tensor<2x8xui8>, !s
}
