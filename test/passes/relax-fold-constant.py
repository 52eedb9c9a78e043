# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-fold-constant --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --relax-fold-constant --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s --check-prefix=PLACE
# RUN: graphs %s | relax-opt - --relax-fold-constant='most-growth=0' --print-script | FileCheck %s --check-prefix=NO-ROOM
# RUN: graphs %s | not relax-opt - --relax-fold-constant='most-growth=-1' 2>&1 | FileCheck %s --check-prefix=NEGATIVE
# RUN: graphs %s | relax-opt - --relax-fold-constant='most-spread=300' --print-script | FileCheck %s --check-prefix=SPREAD
# RUN: graphs %s | relax-opt - --relax-fold-constant='small=300' --print-script | FileCheck %s --check-prefix=SPREAD
# NEGATIVE: pass 'relax-fold-constant': most-growth must be 0 or more, got -1


# Weights with a scale for each column, and transposed ones; signed, unsigned, and back again.
# CHECK-LABEL: def quantized(
# CHECK-NEXT: return R.const({{\[\[}}-0.5, 2.0], [0.0, 6.0]], "float32"), R.const([-2.5, 25.0], "float32"), R.const([0, 7, 255], "uint8")
# PLACE: arith.constant dense<[-2.500000e+00, 2.500000e+01]> : tensor<2xf32> loc("unsigned"({{[^ ]*}}))
# NO-ROOM-LABEL: def quantized(
# NO-ROOM: R.dequantize(
# NO-ROOM: R.const([0, 7, 255], "uint8")
def quantized() -> R.Tuple(f32[2, 2], f32[2], u8[3]):
    weights = R.const([[0, 1], [2, 4]], "int8")
    signed = R.dequantize(weights, R.const([0.5, 2.0], "float32"), R.const([1, 1], "int8"), axis=0)
    turned = R.permute_dims(signed)
    scale = R.const(2.5, "float32")
    unsigned = R.dequantize(R.const([9, 20], "uint8"), scale, R.const(10, "uint8"), axis=0)
    floats = R.const([-100.0, -7.0, 1.0e9], "float32")
    back = R.quantize(floats, scale, R.const(10, "uint8"), axis=0, out_dtype="uint8")
    return turned, unsigned, back


# Other operands than constants stay, and broadcasts of a few numbers to many places.
# CHECK-LABEL: def left(
# CHECK-NEXT: larger: R.Tensor((300,), "float32") = R.broadcast_to(R.const(1.0, "float32"), (300,))
# CHECK-NEXT: sum: R.Tensor((4,), "float32") = R.add(x, R.const([1.0, 2.0, 3.0, 4.0], "float32"))
# CHECK-NEXT: return larger, sum
# SPREAD-LABEL: def left(
# SPREAD: R.add(
# SPREAD-NOT: R.broadcast_to
# SPREAD-LABEL: def large(
def left(x: f32[4]) -> R.Tuple(f32[300], f32[4]):
    larger = R.broadcast_to(R.const(1.0, "float32"), R.shape([300]))
    sum = R.add(x, R.const([1.0, 2.0, 3.0, 4.0], "float32"))
    return larger, sum


# Large results are resources, whose bytes are no text.
# CHECK-LABEL: def large(
# CHECK-NEXT: const_0 = I.const(I.resource("[[NAME:const.*]]"))
# CHECK-NEXT: return const_0
# CHECK: I.resource("[[NAME]]", "tensor<40x10xf32>", "AACAPwAA
def large() -> f32[40, 10]:
    weights = R.const(3, R.Tensor((10, 40), "int8"))
    floats = R.dequantize(weights, R.const(0.5, "float32"), R.const(1, "int8"), axis=0)
    return R.permute_dims(floats)
