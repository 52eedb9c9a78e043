# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Upstream's cse and symbol-dce know our operators by their effects and symbols.
# RUN: relax-opt %s --cse --print-script | FileCheck %s
# RUN: relax-opt %s --symbol-dce --print-script | FileCheck %s --check-prefix=SYMBOLS
"""Situations of Apache TVM's test_transform_cse.py."""

from relax_mlir.script import ir as I, relax as R, tir as T


@I.ir_module(ssa=True)
class Module:
    # Equal operations of relax and of TIR are computed once, in branches, too.
    # CHECK-LABEL: def same(
    # CHECK: ) ->
    # CHECK-NEXT: a: R.Tensor((4,), "float32") = R.exp(x)
    # CHECK-NEXT: tir = R.call_tir(cls.twice, (a,), out_sinfo=R.Tensor((4,), "float32"))
    # CHECK-NEXT: if c:
    # CHECK-NEXT: r = a
    # CHECK-NEXT: else:
    # CHECK-NEXT: r = tir
    # CHECK-NEXT: return a, a, tir, tir, r
    @R.function
    def same(x: R.Tensor((4,), "float32"), c: T.bool) -> R.Tuple(
        R.Tensor((4,), "float32"),
        R.Tensor((4,), "float32"),
        R.Tensor((4,), "float32"),
        R.Tensor((4,), "float32"),
        R.Tensor((4,), "float32"),
    ):
        a = R.exp(x)
        b = R.exp(x)
        tir = R.call_tir(cls.twice, (a,), out_sinfo=R.Tensor((4,), "float32"))
        again = R.call_tir(cls.twice, (b,), out_sinfo=R.Tensor((4,), "float32"))
        if c:
            r = R.exp(x)
        else:
            r = R.call_tir(cls.twice, (a,), out_sinfo=R.Tensor((4,), "float32"))
        return a, b, tir, again, r

    # Other attributes, operands in another order, other types: other values. Of two branches neither is before the
    # other.
    # CHECK-LABEL: def others(
    # CHECK: R.sum(x, axis=(0,))
    # CHECK: R.sum(x, axis=(1,))
    # CHECK: R.subtract(x, y)
    # CHECK: R.subtract(y, x)
    # CHECK: R.astype(x, dtype="float16")
    # CHECK: R.astype(x, dtype="float64")
    # CHECK: R.call_pure_packed(func="mine"
    # CHECK: R.call_pure_packed(func="yours"
    # CHECK: R.tanh(x)
    # CHECK: R.tanh(x)
    @R.function
    def others(x: R.Tensor((2, 2), "float32"), y: R.Tensor((2, 2), "float32"), c: T.bool) -> R.Tuple(
        R.Tensor((2,), "float32"),
        R.Tensor((2,), "float32"),
        R.Tensor((2, 2), "float32"),
        R.Tensor((2, 2), "float32"),
        R.Tensor((2, 2), "float16"),
        R.Tensor((2, 2), "float64"),
        R.Tensor((2, 2), "float32"),
        R.Tensor((2, 2), "float32"),
        R.Tensor((2, 2), "float32"),
    ):
        rows = R.sum(x, axis=[0])
        columns = R.sum(x, axis=[1])
        one = R.subtract(x, y)
        other = R.subtract(y, x)
        half = R.astype(x, "float16")
        double = R.astype(x, "float64")
        mine = R.call_pure_packed(func="mine", args=(x,), out_sinfo=R.Tensor((2, 2), "float32"))
        yours = R.call_pure_packed(func="yours", args=(x,), out_sinfo=R.Tensor((2, 2), "float32"))
        if c:
            r = R.tanh(x)
        else:
            r = R.negative(R.tanh(x))
        return rows, columns, one, other, half, double, mine, yours, r

    # A branch's value is not available after it, but a value from before serves the branch. Equal constants are one.
    # CHECK-LABEL: def branches(
    # CHECK: before: {{.*}} = R.add(x, R.const([1.0, 2.0], "float32"))
    # CHECK-NEXT: if c:
    # CHECK-NEXT: r_1: {{.*}} = R.exp(before)
    # CHECK: else:
    # CHECK-NEXT: r = before
    # CHECK-NEXT: behind: {{.*}} = R.exp(before)
    # CHECK-NEXT: return r, behind, before
    @R.function
    def branches(x: R.Tensor((2,), "float32"), c: T.bool) -> R.Tuple(
        R.Tensor((2,), "float32"), R.Tensor((2,), "float32"), R.Tensor((2,), "float32")
    ):
        before = R.add(x, R.const([1.0, 2.0], "float32"))
        if c:
            r = R.exp(R.add(x, R.const([1.0, 2.0], "float32")))
        else:
            r = R.add(x, R.const([1.0, 2.0], "float32"))
        behind = R.exp(before)
        again = R.add(x, R.const([1.0, 2.0], "float32"))
        return r, behind, again

    # Sizes that were found out are names for later; each check stays. Lists of several results are compared as a whole.
    # CHECK-LABEL: def sizes(
    # CHECK: R.match_cast(x, out_sinfo=R.Tensor(("k",), "float32"))
    # CHECK: R.match_cast(x, out_sinfo=R.Tensor(("k",), "float32"))
    # CHECK: R.split(
    # CHECK-NOT: R.split(
    # CHECK: R.call_dps_packed(func="mine"
    # CHECK-NOT: R.call_dps_packed(func="mine"
    # CHECK: return
    @R.function
    def sizes(x: R.Tensor(("?",), "float32"), y: R.Tensor((4,), "float32")) -> R.Tuple(
        R.Tensor(("k",), "float32"),
        R.Tensor(("k",), "float32"),
        R.Tensor((2,), "float32"),
        R.Tensor((2,), "float32"),
        R.Tensor((4,), "float32"),
        R.Tensor((4,), "float32"),
    ):
        a = R.match_cast(x, out_sinfo=R.Tensor(("k",), "float32"))
        b = R.match_cast(x, out_sinfo=R.Tensor(("k",), "float32"))
        left, _ = R.split(y, 2)
        _, right = R.split(y, 2)
        one = R.call_dps_packed(func="mine", args=(y,), out_sinfo=R.Tensor((4,), "float32"))
        other = R.call_dps_packed(func="mine", args=(y,), out_sinfo=R.Tensor((4,), "float32"))
        return a, b, left, right, one, other

    # Operations with an effect are not merged.
    # CHECK-LABEL: def effects(
    # CHECK: R.print(
    # CHECK: R.print(
    # CHECK: R.call_packed(
    # CHECK: R.call_packed(
    # CHECK: cls.callee(
    # CHECK: cls.callee(
    @R.function
    def effects(x: R.Tensor((2,), "float32")) -> R.Tuple(
        R.Tensor((2,), "float32"), R.Tensor((2,), "float32"), R.Tensor((2,), "float32"), R.Tensor((2,), "float32")
    ):
        R.print((x,), format="{}")
        R.print((x,), format="{}")
        a = R.call_packed(func="mine", args=(x,), out_sinfo=R.Tensor((2,), "float32"))
        b = R.call_packed(func="mine", args=(x,), out_sinfo=R.Tensor((2,), "float32"))
        c = cls.callee(x)
        d = cls.callee(x)
        return a, b, c, d

    # Private functions stay while there are calls of them, also by relax.call_tir.
    # SYMBOLS: def callee(
    # SYMBOLS-NOT: def uncalled(
    # SYMBOLS: def twice(
    @R.function(private=True)
    def callee(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return R.exp(x)

    @R.function(private=True)
    def uncalled(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return R.exp(x)

    @T.prim_func(private=True)
    def twice(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            y[i] = x[i] + x[i]
        return
