# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --relax-lift-transform-params='function=prefill,decode inputs=1' --split-input-file --print-script | FileCheck %s
# RUN: relax-opt %s --relax-lift-transform-params='function=prefill,decode inputs=1' --relax-lift-transform-params='function=prefill,decode inputs=1' --split-input-file --print-script | FileCheck %s
"""Transformation of the weights of several functions in one function, with the same order for all.

Situations of Apache TVM's test_transform_lift_transform_params.py (shared transforms, one that is there already).
"""

from relax_mlir.script import ir as I, relax as R


# A transformation of a weight in both functions is done once, in any order. If the other function uses the weight
# unchanged, the transformation stays, with its users. If the other function does not use the weight, the transformation
# is lifted. Names are local to each function.
@I.ir_module(ssa=True)
class Shared:
    # CHECK-LABEL: def transform_params(
    # CHECK-NEXT: a: R.Tensor((4, 8), "float32"),
    # CHECK-NEXT: b: R.Tensor((4, 4), "float32"),
    # CHECK-NEXT: c: R.Tensor((4,), "float32"),
    # CHECK: e: {{.*}} = R.exp(c)
    # CHECK-NEXT: at: {{.*}} = R.permute_dims(a)
    # CHECK-NEXT: return e, at, b
    # CHECK-LABEL: def prefill(
    # CHECK-NEXT: x: R.Tensor(("n", 4), "float32"),
    # CHECK-NEXT: e: R.Tensor((4,), "float32"),
    # CHECK-NEXT: at: R.Tensor((8, 4), "float32"),
    # CHECK-NEXT: b: R.Tensor((4, 4), "float32"),
    # CHECK-NEXT: ) ->
    # CHECK-NEXT: bt: {{.*}} = R.permute_dims(b)
    # CHECK: negative_0: {{.*}} = R.negative(at)
    @R.function
    def prefill(
        x: R.Tensor(("n", 4), "float32"),
        a: R.Tensor((4, 8), "float32"),
        b: R.Tensor((4, 4), "float32"),
        c: R.Tensor((4,), "float32"),
    ) -> R.Tuple(R.Tensor(("n", 4), "float32"), R.Tensor((8, 4), "float32")):
        bt = R.permute_dims(b)
        e = R.exp(c)
        at = R.permute_dims(a)
        y = R.add(R.matmul(x, bt), e)
        return y, R.negative(at)

    # CHECK-LABEL: def decode(
    # CHECK-NEXT: c: R.Tensor((1, 4), "float32"),
    # CHECK-NEXT: e: R.Tensor((4,), "float32"),
    # CHECK-NEXT: at: R.Tensor((8, 4), "float32"),
    # CHECK-NEXT: second: R.Tensor((4, 4), "float32"),
    # CHECK-NEXT: ) ->
    # CHECK-NEXT: y: {{.*}} = R.matmul(c, second)
    # CHECK-NEXT: return y, at
    @R.function
    def decode(
        c: R.Tensor((1, 4), "float32"),
        first: R.Tensor((4, 8), "float32"),
        second: R.Tensor((4, 4), "float32"),
        third: R.Tensor((4,), "float32"),
    ) -> R.Tuple(R.Tensor((1, 4), "float32"), R.Tensor((8, 4), "float32")):
        turned = R.permute_dims(first)
        y = R.matmul(c, second)
        return y, turned


# -----


# An existing function does its part first, with its old parameters.
@I.ir_module(ssa=True)
class Before:
    # CHECK-LABEL: def transform_params(
    # CHECK-SAME: packed: R.Tensor((8,), "float32")) -> R.Tensor((2, 4), "float32"):
    # CHECK-NEXT: w: {{.*}} = R.reshape(packed, (4, 2))
    # CHECK-NEXT: wt: {{.*}} = R.permute_dims(w)
    # CHECK-NEXT: return wt
    @R.function
    def transform_params(packed: R.Tensor((8,), "float32")) -> R.Tensor((4, 2), "float32"):
        w = R.reshape(packed, (4, 2))
        return w

    # CHECK-LABEL: def prefill(
    # CHECK-NEXT: x: R.Tensor({{.*}}, 2), "float32"),
    # CHECK-NEXT: wt: R.Tensor((2, 4), "float32"),
    @R.function
    def prefill(x: R.Tensor(("n", 2), "float32"), w: R.Tensor((4, 2), "float32")) -> R.Tensor(("n", 4), "float32"):
        wt = R.permute_dims(w)
        return R.matmul(x, wt)

    # CHECK-LABEL: def decode(
    # CHECK-NEXT: x: R.Tensor({{.*}}, 2), "float32"),
    # CHECK-NEXT: wt: R.Tensor((2, 4), "float32"),
    @R.function
    def decode(x: R.Tensor((1, 2), "float32"), w: R.Tensor((4, 2), "float32")) -> R.Tensor((1, 4), "float32"):
        wt = R.permute_dims(w)
        return R.matmul(x, wt)
