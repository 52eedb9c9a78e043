# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=chip_with_recipe --relax-requantize=recipe=lit_chip --print-script | FileCheck %s
"""Integer arithmetic of a recipe: sums in i32 with the bias, a requantization, and limits on integers."""

from relax_mlir.script import ir as I, relax as R


@I.ir_module(ssa=True)
class Module:
    # The multiplier is 0.5 * 0.25 / 1 = 2**30 / 2**31 / 2**2.
    # CHECK-LABEL: def linear(
    # CHECK-NEXT: {{.*}} = R.astype(x, dtype="int32")
    # CHECK-NEXT: {{.*}} = R.subtract({{.*}}, R.const(3, "int32"))
    # CHECK-NEXT: {{.*}} = R.matmul(
    # CHECK-NEXT: {{.*}}, R.const({{.*}}, "int8"), out_dtype="int32",
    # CHECK-NEXT: )
    # CHECK-NEXT: {{.*}} = R.add({{.*}}, R.const({{\[4, 8\]}}, "int32"))
    # CHECK-NEXT: {{.*}} = R.requantize(
    # CHECK-NEXT: {{.*}}, R.const(1073741824, "int32"), R.const(2, "int32"), R.const(-5, "int8"), axis=1, form="q31",
    # CHECK-NEXT: rounding="half_up",
    # CHECK-NEXT: )
    # CHECK-NEXT: {{.*}} = R.maximum({{.*}}, R.const(-5, "int8"))
    # CHECK-NEXT: return {{.*}}
    @R.function
    def linear(x: R.Tensor(("n", 2), "int8")) -> R.Tensor(("n", 2), "int8"):
        a = R.dequantize(x, R.const(0.5, "float32"), R.const(3, "int8"), axis=0)
        w = R.dequantize(R.const([[1, -2], [2, -1]], "int8"), R.const(0.25, "float32"), R.const(0, "int8"), axis=0)
        y = R.matmul(a, w)
        b = R.dequantize(R.const([4, 8], "int32"), R.const(0.125, "float32"), R.const(0, "int32"), axis=0)
        z = R.add(y, b)
        r = R.nn.relu(z)
        return R.quantize(r, R.const(1.0, "float32"), R.const(-5, "int8"), axis=0, out_dtype="int8")

    # A sum has the scale of its result with 8 bits more, a table the entries of its result.
    # CHECK-LABEL: def others(
    # CHECK: {{.*}} = R.subtract({{.*}}, R.const(3, "int32"))
    # CHECK-NEXT: {{.*}} = R.requantize(
    # CHECK-NEXT: {{.*}}, R.const(1073741824, "int32"), R.const(-8, "int32"), R.const(0, "int32"), form="q31",
    # CHECK-NEXT: rounding="half_up", out_dtype="int32",
    # CHECK-NEXT: )
    # CHECK-NEXT: {{.*}} = R.astype(y, dtype="int32")
    # CHECK-NEXT: {{.*}} = R.requantize(
    # CHECK-NEXT: {{.*}}, R.const(1073741824, "int32"), R.const(-7, "int32"), R.const(0, "int32"), form="q31",
    # CHECK-NEXT: rounding="half_up", out_dtype="int32",
    # CHECK-NEXT: )
    # CHECK-NEXT: {{.*}} = R.add(
    # CHECK-NEXT: {{.*}} = R.requantize(
    # CHECK-NEXT: {{.*}}, R.const(1073741824, "int32"), R.const(7, "int32"), R.const(-5, "int8"), form="q31",
    # CHECK-NEXT: rounding="half_up",
    # CHECK-NEXT: )
    # CHECK-NEXT: {{.*}} = R.astype(
    # CHECK-NEXT: {{.*}} = R.subtract({{.*}}, R.const(-128, "int32"))
    # CHECK-NEXT: {{.*}} = I.const(I.resource(
    # CHECK-NEXT: {{.*}} = R.take({{.*}}, {{.*}}, axis=0)
    # CHECK-NEXT: return {{.*}}
    @R.function
    def others(x: R.Tensor(("n", 2), "int8"), y: R.Tensor(("n", 2), "int8")) -> R.Tensor(("n", 2), "int8"):
        a = R.dequantize(x, R.const(0.5, "float32"), R.const(3, "int8"), axis=0)
        b = R.dequantize(y, R.const(0.25, "float32"), R.const(0, "int8"), axis=0)
        z = R.quantize(R.add(a, b), R.const(1.0, "float32"), R.const(-5, "int8"), axis=0, out_dtype="int8")
        c = R.dequantize(z, R.const(1.0, "float32"), R.const(-5, "int8"), axis=0)
        return R.quantize(R.tanh(c), R.const(0.0078125, "float32"), R.const(0, "int8"), axis=0, out_dtype="int8")
