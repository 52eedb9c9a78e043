# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Outlined and other functions, case by case. The rows are those of Inputs/cases_codegen.py, in order.
# RUN: env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=cases_codegen --relax-fuse-ops-by-pattern=codegen=cases --print-script | FileCheck %s
"""Situations of Apache TVM's test_transform_fuse_ops_by_pattern.py."""

from relax_mlir.script import ir as I, relax as R, tir as T


@I.ir_module(ssa=True)
class Module:
    # The earlier of two rows wins; the later one could have begun inside.
    # CHECK: {"relax.composite": "cases.whole"
    # CHECK-NEXT: def fused_exp_nn_silu(
    # CHECK-LABEL: def priority(
    # CHECK-NEXT: y = cls.fused_exp_nn_silu(a)
    @R.function
    def priority(a: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = R.nn.silu(R.exp(a))
        return y

    # A longer match of a row replaces the shorter ones inside of it. Elsewhere the short one is used.
    # CHECK: {"relax.composite": "cases.linear"
    # CHECK-NEXT: def fused_matmul_add_nn_relu(
    # CHECK: {"relax.composite": "cases.linear"
    # CHECK-NEXT: def fused_matmul(
    # CHECK-LABEL: def subsumption(
    # CHECK: y = cls.fused_matmul_add_nn_relu(a)
    # CHECK-NEXT: z = cls.fused_matmul(a, y)
    @R.function
    def subsumption(a: R.Tensor((4, 4), "float32")) -> R.Tuple(
        R.Tensor((4, 4), "float32"), R.Tensor((4, 4), "float32")
    ):
        y = R.nn.relu(R.add(R.matmul(a, a), R.const([1.0, 2.0, 3.0, 4.0], "float32")))
        z = R.matmul(a, y)
        return y, z

    # Two matches share an operation: the first one computes it, and returns it to the other one.
    # CHECK-LABEL: def overlap(
    # CHECK: [[E:[a-z_0-9]+]], [[Y:[a-z_0-9]+]] = cls.fused_exp_subtract(a)
    # CHECK-NEXT: R.subtract([[E]], [[Y]])
    @R.function
    def overlap(a: R.Tensor((4,), "float32")) -> R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")):
        e = R.exp(a)
        y = R.subtract(e, a)
        z = R.subtract(e, y)
        return y, z

    # Both ways lead to one value; where they lead to two it is no match.
    # CHECK: def fused_tanh_abs_multiply(
    # CHECK-LABEL: def diamond(
    # CHECK: y = cls.fused_tanh_abs_multiply(e)
    # CHECK-LABEL: def two_tops(
    # CHECK-NOT: cls.
    # CHECK: R.multiply(
    @R.function
    def diamond(a: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        e = R.exp(a)
        y = R.multiply(R.tanh(e), R.abs(e))
        return y

    @R.function
    def two_tops(a: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = R.multiply(R.tanh(a), R.abs(R.exp(a)))
        return y

    # The operator in between reads one and is read by the other: together they would form a cycle.
    # CHECK-LABEL: def cycle(
    # CHECK-NOT: cls.
    # CHECK: R.subtract(e, tan_0)
    @R.function
    def cycle(a: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        e = R.exp(a)
        y = R.subtract(e, R.tan(e))
        return y

    # A pattern of several outputs is one function, and so is a match with other readers of an inner value.
    # CHECK: {"relax.composite": "cases.both"
    # CHECK-LABEL: def several_outputs(
    # CHECK: cls.fused_sin_cos(a)
    # CHECK: def fused_exp_subtract_1(
    # CHECK: return e, y
    # CHECK-LABEL: def used_elsewhere(
    # CHECK: [[F:[a-z_0-9]+]], [[Z:[a-z_0-9]+]] = cls.fused_exp_subtract_1(a)
    # CHECK-NEXT: return [[Z]], [[F]]
    @R.function
    def several_outputs(a: R.Tensor((4,), "float32")) -> R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")):
        y = R.sin(a)
        z = R.cos(a)
        return y, z

    @R.function
    def used_elsewhere(a: R.Tensor((4,), "float32")) -> R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")):
        e = R.exp(a)
        y = R.subtract(e, a)
        return y, e

    # Each of several results of an operator has its place in the pattern.
    # CHECK: def fused_split_sigmoid_multiply(
    # CHECK: split_0, split_1 = R.split(
    # CHECK: R.sigmoid(split_1)
    # CHECK: R.multiply(split_0, sigmoid_0)
    # CHECK-LABEL: def tuple_results(
    # CHECK-NEXT: y = cls.fused_split_sigmoid_multiply(a)
    @R.function
    def tuple_results(a: R.Tensor((2, 8), "float32")) -> R.Tensor((2, 4), "float32"):
        value, gate = R.split(a, 2, axis=1)
        y = R.multiply(value, R.sigmoid(gate))
        return y

    # Of a list of operands one is made inside, the other comes from outside.
    # CHECK: def fused_exp_concat(
    # CHECK: R.concat((exp_0, y_1), axis=0)
    # CHECK-LABEL: def tuple_operands(
    # CHECK: y = cls.fused_exp_concat(a, b)
    @R.function
    def tuple_operands(a: R.Tensor((2,), "float32"), b: R.Tensor((3,), "float32")) -> R.Tensor((5,), "float32"):
        y = R.concat([R.exp(a), b], axis=0)
        return y

    # Constants move into their reader.
    # CHECK: def fused_matmul_1(y: R.Tensor((4, 2), "float32"))
    # CHECK-NEXT: R.matmul(y, R.const({{\[\[}}1.0], [2.0]], "float32"))
    # CHECK-LABEL: def constants(
    # CHECK-NEXT: y = cls.fused_matmul_1(a)
    @R.function
    def constants(a: R.Tensor((4, 2), "float32")) -> R.Tensor((4, 1), "float32"):
        y = R.matmul(a, R.const([[1.0], [2.0]], "float32"))
        return y

    # Run-time sizes cross the boundary, and expressions of them are computed inside.
    # CHECK: def fused_tanh_reshape(y: R.Tensor(("n", 4), "float32")) -> R.Tensor(("4*n",), "float32")
    # CHECK: R.reshape(tanh_0, ("4*n",))
    # CHECK-LABEL: def symbols(
    # CHECK-NEXT: y = cls.fused_tanh_reshape(a)
    @R.function
    def symbols(a: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n * 4",), "float32"):
        y = R.reshape(R.tanh(a), R.shape(["n * 4"]))
        return y

    # A match stays within its branch: outer values are inputs.
    # CHECK: {"relax.composite": "cases.part"
    # CHECK-NEXT: def fused_nn_silu(
    # CHECK: {"relax.composite": "cases.whole"
    # CHECK-NEXT: def fused_exp_nn_silu_1(
    # CHECK-LABEL: def regions(
    # CHECK-NEXT: e: {{.*}} = R.exp(a)
    # CHECK-NEXT: if c:
    # CHECK-NEXT: cls.fused_nn_silu(e)
    # CHECK: else:
    # CHECK-NEXT: cls.fused_exp_nn_silu_1(e)
    @R.function
    def regions(a: R.Tensor((4,), "float32"), c: T.bool) -> R.Tensor((4,), "float32"):
        e = R.exp(a)
        if c:
            y = R.nn.silu(e)
        else:
            y = R.nn.silu(R.exp(e))
        return y

    # exp would have to move behind its print, or silu before it: the longer match is dropped.
    # CHECK: {"relax.composite": "cases.part"
    # CHECK-NEXT: def fused_nn_silu_1(
    # CHECK-LABEL: def effects(
    # CHECK-NEXT: e: {{.*}} = R.exp(a)
    # CHECK-NEXT: R.print((e,), format="e")
    # CHECK-NEXT: y = cls.fused_nn_silu_1(e)
    @R.function
    def effects(a: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        e = R.exp(a)
        R.print((e,), format="e")
        y = R.nn.silu(e)
        return y
