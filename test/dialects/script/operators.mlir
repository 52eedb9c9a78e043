// RUN: relax-opt %s --allow-unregistered-dialect --print-script -o %t.py && FileCheck %s --input-file=%t.py
// RUN: relax-opt %t.py --allow-unregistered-dialect --print-script | diff %t.py -
// Operators by the words of their rows, with the model's names and types.

!x = tensor<?x3x8x8xf32, #relax.sym<["n", 3, 8, 8]>>
!y = tensor<?x4x8x8xf32, #relax.sym<["n", 4, 8, 8]>>
module attributes {relax.producer = "test"} {
  func.func @main(%x: !x {relax.name = "image"}, %w: tensor<4x3x3x3xf32> loc("conv1.weight"), %b: tensor<4x1x1xf32>) -> (!y, tensor<?xf32>) {
    %0 = "relax.nn.conv2d"(%x, %w) {padding = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (!x, tensor<4x3x3x3xf32>) -> !y loc("/conv1/Conv")
    %1 = "relax.add"(%0, %b) {mynpu.note = "dnnl.bias"} : (!y, tensor<4x1x1xf32>) -> !y
    %2 = arith.constant dense<2.0> : tensor<f32>
    %3 = "relax.multiply"(%1, %2) : (!y, tensor<f32>) -> !y
    %4 = "relax.shape_expr"() {dims = ["n", 256]} : () -> !relax.shape<["n", 256]>
    %5 = "relax.reshape"(%3, %4) : (!y, !relax.shape<["n", 256]>) -> tensor<?x256xf32, #relax.sym<["n", 256]>>
    %6:2 = "relax.split"(%5) {axis = 1, indices_or_sections = 2} : (tensor<?x256xf32, #relax.sym<["n", 256]>>) -> (tensor<?x128xf32, #relax.sym<["n", 128]>>, tensor<?x128xf32, #relax.sym<["n", 128]>>)
    %7 = "relax.concat"(%6#1, %6#0) {axis = 1} : (tensor<?x128xf32, #relax.sym<["n", 128]>>, tensor<?x128xf32, #relax.sym<["n", 128]>>) -> tensor<?x256xf32, #relax.sym<["n", 256]>>
    %8 = "relax.call_tir"(%7, %b) {func = @kernel} : (tensor<?x256xf32, #relax.sym<["n", 256]>>, tensor<4x1x1xf32>) -> !y
    %9 = "relax.match_cast"(%7) : (tensor<?x256xf32, #relax.sym<["n", 256]>>) -> tensor<?x256xf32, #relax.sym<["m", 256]>>
    %10 = "relax.call_packed"(%9) {func = "my.log"} : (tensor<?x256xf32, #relax.sym<["m", 256]>>) -> !relax.object
    %11 = "relax.prim_value"() {value = "2*n"} : () -> i64
    %12 = "relax.astype"(%7) {dtype = i8} : (tensor<?x256xf32, #relax.sym<["n", 256]>>) -> tensor<?x256xi8, #relax.sym<["n", 256]>>
    %13 = func.call @helper(%7, %11) : (tensor<?x256xf32, #relax.sym<["n", 256]>>, i64) -> tensor<?xf32>
    return %8, %13 : !y, tensor<?xf32>
  }
  func.func private @helper(%x: tensor<?x256xf32, #relax.sym<["n", 256]>>, %y: i64) -> tensor<?xf32> attributes {relax.global_symbol = "helper"}
  func.func private @kernel(%a: tensor<?x256xf32>, %b: tensor<4x1x1xf32>, %c: tensor<?x4x8x8xf32>) -> tensor<?x4x8x8xf32> attributes {tir.prim_func, tir.op_pattern = "opaque", tir.noalias} {
    return %c : tensor<?x4x8x8xf32>
  }
  module @dnnl_0 attributes {relax.codegen = "dnnl"} {
    func.func @run(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = "relax.nn.relu"(%x) : (tensor<2xf32>) -> tensor<2xf32> loc(fused["a", "b", "a"])
      return %0 : tensor<2xf32>
    }
  }
}

// CHECK: @I.ir_module(ssa=True, attrs={"relax.producer": "test"})
// CHECK-NEXT: class Module:
// CHECK-NEXT:     @R.function(named=False)
// CHECK-NEXT:     def main(
// CHECK-NEXT:         image: I.annotated(R.Tensor(("n", 3, 8, 8), "float32"), {"relax.name": "image"}),
// CHECK-NEXT:         conv1_weight: R.Tensor((4, 3, 3, 3), "float32"),
// CHECK-NEXT:         arg2: R.Tensor((4, 1, 1), "float32"),
// CHECK-NEXT:     ) -> R.Tuple(R.Tensor(("n", 4, 8, 8), "float32"), R.Tensor(("?",), "float32")):
// CHECK-NEXT:         conv1_Conv: R.Tensor(("n", 4, 8, 8), "float32") = R.nn.conv2d(
// CHECK-NEXT:             image, conv1_weight, strides=(1, 1), padding=(1, 1),
// CHECK-NEXT:         )
// CHECK-NEXT:         add_0: R.Tensor(("n", 4, 8, 8), "float32") = R.add(
// CHECK-NEXT:             conv1_Conv, arg2, attrs={"mynpu.note": "dnnl.bias"},
// CHECK-NEXT:         )
// CHECK-NEXT:         multiply_0: R.Tensor(("n", 4, 8, 8), "float32") = R.multiply(add_0, R.const(2.0, "float32"))
// CHECK-NEXT:         reshape_0: R.Tensor(("n", 256), "float32") = R.reshape(multiply_0, ("n", 256))
// CHECK-NEXT:         split_0, split_1 = R.split(
// CHECK-NEXT:             reshape_0, indices_or_sections=2, axis=1,
// CHECK-NEXT:             out_sinfo=[R.Tensor(("n", 128), "float32"), R.Tensor(("n", 128), "float32")],
// CHECK-NEXT:         )
// CHECK-NEXT:         concat_0: R.Tensor(("n", 256), "float32") = R.concat((split_1, split_0), axis=1)
// CHECK-NEXT:         kernel_0 = R.call_tir(cls.kernel, (concat_0, arg2), out_sinfo=R.Tensor(("n", 4, 8, 8), "float32"))
// CHECK-NEXT:         match_cast_0 = R.match_cast(concat_0, out_sinfo=R.Tensor(("m", 256), "float32"))
// CHECK-NEXT:         log_0 = R.call_packed(func="my.log", args=(match_cast_0,), out_sinfo=R.Object)
// CHECK-NEXT:         astype_0: R.Tensor(("n", 256), "int8") = R.astype(concat_0, dtype="int8")
// CHECK-NEXT:         helper_0 = cls.helper(concat_0, R.prim_value("2*n"))
// CHECK-NEXT:         return kernel_0, helper_0
// CHECK:     @R.function(named=False, private=True, attrs={"relax.global_symbol": "helper"})
// CHECK-NEXT:     def helper(arg0: R.Tensor(("n", 256), "float32"), arg1: T.int64) -> R.Tensor(("?",), "float32"): ...
// CHECK:     @T.prim_func(private=True, attrs={"tir.noalias": I.unit, "tir.op_pattern": "opaque"})
// CHECK-NEXT:     def kernel(
// CHECK-NEXT:         A: T.Tensor(("?", 256), "float32"),
// CHECK-NEXT:         B: T.Tensor((4, 1, 1), "float32"),
// CHECK-NEXT:         C: T.Tensor(("?", 4, 8, 8), "float32"),
// CHECK-NEXT:     ) -> T.Tensor(("?", 4, 8, 8), "float32"):
// CHECK-NEXT:         return C
// CHECK:     @I.ir_module(attrs={"relax.codegen": "dnnl"})
// CHECK-NEXT:     class dnnl_0:
// CHECK-NEXT:         @R.function(named=False)
// CHECK-NEXT:         def run(arg0: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
// CHECK-NEXT:             a_b: R.Tensor((2,), "float32") = R.nn.relu(arg0)
// CHECK-NEXT:             return a_b
