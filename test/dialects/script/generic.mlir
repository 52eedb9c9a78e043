// RUN: relax-opt %s --print-script --allow-unregistered-dialect | FileCheck %s

// Operations that nothing is known of: the call form, their regions below.
func.func @unknown(%x: f32, %t: tensor<2xf32>) -> i64 {
  %0:2 = "my.pair"(%x, %t) {axis = 1 : i64, name = "a\22b", flag, list = [1, "two", @f, f32], nested = {a = 1}, maps = affine_map<(i) -> (i)>} : (f32, tensor<2xf32>) -> (i64, !my.type)
  "my.loop"(%0#0) ({
  ^bb0(%i: index, %acc: tensor<2xf32>):
    %1 = "my.step"(%acc) {values = dense<1.0> : tensor<64xf32>, strange = dense<(1.0, 2.0)> : tensor<complex<f32>>} : (tensor<2xf32>) -> tensor<2xf32>
    "my.yield"(%1) : (tensor<2xf32>) -> ()
  }) {my.unroll = 2 : i32} : (i64) -> ()
  "my.cases"() ({
    "my.end"() : () -> ()
  }, {
  ^bb0(%i: i8):
    "my.jump"(%i)[^bb1] : (i8) -> ()
  ^bb1:
    "my.end"() : () -> ()
  }) : () -> ()
  return %0#0 : i64
}
// CHECK: def unknown(arg0: float32, arg1: Tensor((2,), "float32")) -> int64:
// CHECK-NEXT: {{^}}    v0, pair_0 = my.pair(
// CHECK-NEXT: {{^}}        arg0, arg1, axis=1, flag=True, list=[1, "two", @f, "float32"], maps=affine_map<(d0) -> (d0)>,
// CHECK-NEXT: {{^}}        name="a\"b", nested={a = 1 : i64},
// CHECK-NEXT: {{^}}    ) # int64, !my.type
// CHECK-NEXT: {{^}}    my.loop(v0, my.unroll=2) with (arg2: index, arg3: Tensor((2,), "float32")):
// CHECK-NEXT: {{^}}        step_0 = my.step(arg3, strange=..., values=const(1.0, "float32", shape=(64,))) # Tensor((2,), "float32")
// CHECK-NEXT: {{^}}        my.yield(step_0)
// CHECK-NEXT: {{^}}    my.cases():
// CHECK-NEXT: {{^}}        region:
// CHECK-NEXT: {{^}}            my.end()
// CHECK-NEXT: {{^}}        region with (arg2: int8):
// CHECK-NEXT: {{^}}            bb0:
// CHECK-NEXT: {{^}}                my.jump(arg2) -> [bb1]
// CHECK-NEXT: {{^}}            bb1:
// CHECK-NEXT: {{^}}                my.end()
// CHECK-NEXT: {{^}}    return v0

memref.global "private" constant @table : memref<4xi32> = dense<[1, 2, 3, 4]>
memref.global @buffer : memref<4xi32>
"my.symbol"() ({
  "my.end"() : () -> ()
}) {sym_name = "defined"} : () -> ()
// CHECK: private constant @table: Buffer((4,), "int32") = const([1, 2, 3, 4], "int32")
// CHECK-NEXT: @buffer: Buffer((4,), "int32"){{$}}
// CHECK-NEXT: my.symbol @defined():
// CHECK-NEXT: {{^}}    my.end()

module attributes {transform.with_named_sequence} {
  transform.named_sequence @schedule(%root: !transform.any_op {transform.readonly}) {
    %0 = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
// CHECK: @module(transform.with_named_sequence)
// CHECK-NEXT: class _:
// CHECK-NEXT: {{^}}    @transform.named_sequence
// CHECK-NEXT: {{^}}    def schedule(arg0: !transform.any_op {transform.readonly}):
// CHECK-NEXT: {{^}}        match_0 = transform.structured.match(arg0, ops=["linalg.generic"]) # !transform.any_op

// Arguments that one line cannot hold have lines of their own.
func.func @many_arguments(%x: f32) {
  "my.loop"(%x) ({
  ^bb0(%a: tensor<2x3x4xf32>, %b: tensor<2x3x4xf32>, %c: tensor<2x3x4xf32>, %d: tensor<2x3x4xf32>, %e: tensor<2x3x4xf32>):
    "my.end"() : () -> ()
  }) : (f32) -> ()
  return
}
// CHECK: def many_arguments(arg0: float32):
// CHECK-NEXT: {{^}}    my.loop(arg0) with (
// CHECK-NEXT: {{^}}        arg1: Tensor((2, 3, 4), "float32"), arg2: Tensor((2, 3, 4), "float32"),
// CHECK-NEXT: {{^}}        arg3: Tensor((2, 3, 4), "float32"), arg4: Tensor((2, 3, 4), "float32"),
// CHECK-NEXT: {{^}}        arg5: Tensor((2, 3, 4), "float32"),
// CHECK-NEXT: {{^}}    ):
// CHECK-NEXT: {{^}}        my.end()
