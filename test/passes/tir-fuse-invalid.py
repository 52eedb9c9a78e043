# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --pass-pipeline='builtin.module(relax-legalize-ops,tir-fuse)' --split-input-file --verify-diagnostics
"""Refusal of groups that cannot become one kernel, with the calls and the reason."""

from relax_mlir.script import ir as I, relax as R, tir as T


@I.ir_module(ssa=True)
class TwoLoopNests:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")) -> R.Tensor((8, 4), "float32"):
        # expected-error@+1 {{group 0 cannot become one kernel: @sums and @columns: the consumer cannot update the producer's result in place}}
        a = R.call_tir(cls.sums, (x,), out_sinfo=R.Tensor((4, 8), "float32"), attrs={"relax.group": 0})
        b = R.call_tir(cls.columns, (a,), out_sinfo=R.Tensor((8, 4), "float32"), attrs={"relax.group": 0})
        return b

    @T.prim_func(attrs={"tir.op_pattern": "comm_reduce"})
    def sums(X: T.Tensor((4, 8), "float32"), Y: T.Tensor((4, 8), "float32")) -> T.Tensor((4, 8), "float32"):
        Y[:] = 0.0
        for i, j, k in T.grid(4, 8, T.reduce(8)):
            Y[i, j] = Y[i, j] + X[i, k]
        return Y

    @T.prim_func(attrs={"tir.op_pattern": "injective"})
    def columns(X: T.Tensor((4, 8), "float32"), Y: T.Tensor((8, 4), "float32")) -> T.Tensor((8, 4), "float32"):
        for i, j in T.grid(8, 4):
            Y[i, j] = X[j, i]
        return Y


# -----


@I.ir_module(ssa=True)
class Unknown:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        # expected-error@+1 {{group 2 cannot become one kernel: @asserts cannot be analysed, or needs more than one loop nest}}
        a = R.call_tir(cls.asserts, (x,), out_sinfo=R.Tensor((4,), "float32"), attrs={"relax.group": 2})
        b = R.call_tir(cls.asserts, (a,), out_sinfo=R.Tensor((4,), "float32"), attrs={"relax.group": 2})
        return b

    @T.prim_func(attrs={"tir.op_pattern": "elemwise"})
    def asserts(X: T.Tensor((4,), "float32"), Y: T.Tensor((4,), "float32")) -> T.Tensor((4,), "float32"):
        T.assert_(T.bool(True), kind="ValueError", message="no")
        for i in T.grid(4):
            Y[i] = X[i]
        return Y


# -----


@I.ir_module(ssa=True)
class Strangers:
    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((5,), "float32")) -> R.Tuple(
        R.Tensor((4,), "float32"), R.Tensor((5,), "float32")
    ):
        # expected-error@+1 {{group 0 cannot become one kernel: its calls neither read each other's results nor have the same loops}}
        a = R.call_tir(cls.twice, (x,), out_sinfo=R.Tensor((4,), "float32"), attrs={"relax.group": 0})
        b = R.call_tir(cls.thrice, (y,), out_sinfo=R.Tensor((5,), "float32"), attrs={"relax.group": 0})
        return a, b

    @T.prim_func(attrs={"tir.op_pattern": "elemwise"})
    def twice(X: T.Tensor((4,), "float32"), Y: T.Tensor((4,), "float32")) -> T.Tensor((4,), "float32"):
        for i in T.grid(4):
            Y[i] = X[i] + X[i]
        return Y

    @T.prim_func(attrs={"tir.op_pattern": "elemwise"})
    def thrice(X: T.Tensor((5,), "float32"), Y: T.Tensor((5,), "float32")) -> T.Tensor((5,), "float32"):
        for i in T.grid(5):
            Y[i] = X[i] + X[i] + X[i]
        return Y


# -----


@I.ir_module(ssa=True)
class NoNumber:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        # expected-error@+1 {{'relax.call_tir' op has attribute 'relax.group' that must be an integer, got "first"}}
        a = R.call_tir(cls.twice, (x,), out_sinfo=R.Tensor((4,), "float32"), attrs={"relax.group": "first"})
        return a

    @T.prim_func(attrs={"tir.op_pattern": "elemwise"})
    def twice(X: T.Tensor((4,), "float32"), Y: T.Tensor((4,), "float32")) -> T.Tensor((4,), "float32"):
        for i in T.grid(4):
            Y[i] = X[i] + X[i]
        return Y
