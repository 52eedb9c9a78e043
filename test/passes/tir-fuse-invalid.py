# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --pass-pipeline='builtin.module(relax-legalize-ops,tir-fuse)' --split-input-file --verify-diagnostics
"""Refusal of groups that cannot become one kernel, with the calls and the reason."""


def main(x: f32[4, 8]) -> f32[8, 4]:
    # expected-error@+1 {{group 0 cannot become one kernel: @sums and @columns: the consumer cannot update the producer's result in place}}
    a = R.call_tir(cls.sums, (x,), out_sinfo=f32[4, 8], attrs={"relax.group": 0})
    b = R.call_tir(cls.columns, (a,), out_sinfo=f32[8, 4], attrs={"relax.group": 0})
    return b


@T.prim_func(attrs={"tir.op_pattern": "comm_reduce"})
def sums(X: f32[4, 8], Y: f32[4, 8]) -> f32[4, 8]:
    Y[:] = 0.0
    for i, j, k in T.grid(4, 8, T.reduce(8)):
        Y[i, j] = Y[i, j] + X[i, k]
    return Y


@T.prim_func(attrs={"tir.op_pattern": "injective"})
def columns(X: f32[4, 8], Y: f32[8, 4]) -> f32[8, 4]:
    for i, j in T.grid(8, 4):
        Y[i, j] = X[j, i]
    return Y


# -----


def main(x: f32[4]) -> f32[4]:
    # expected-error@+1 {{group 2 cannot become one kernel: @asserts cannot be analysed, or needs more than one loop nest}}
    a = R.call_tir(cls.asserts, (x,), out_sinfo=f32[4], attrs={"relax.group": 2})
    b = R.call_tir(cls.asserts, (a,), out_sinfo=f32[4], attrs={"relax.group": 2})
    return b


@T.prim_func(attrs={"tir.op_pattern": "elemwise"})
def asserts(X: f32[4], Y: f32[4]) -> f32[4]:
    T.assert_(T.bool(True), kind="ValueError", message="no")
    for i in T.grid(4):
        Y[i] = X[i]
    return Y


# -----


def main(x: f32[4], y: f32[5]) -> R.Tuple(f32[4], f32[5]):
    # expected-error@+1 {{group 0 cannot become one kernel: its calls neither read each other's results nor have the same loops}}
    a = R.call_tir(cls.twice, (x,), out_sinfo=f32[4], attrs={"relax.group": 0})
    b = R.call_tir(cls.thrice, (y,), out_sinfo=f32[5], attrs={"relax.group": 0})
    return a, b


@T.prim_func(attrs={"tir.op_pattern": "elemwise"})
def twice(X: f32[4], Y: f32[4]) -> f32[4]:
    for i in T.grid(4):
        Y[i] = X[i] + X[i]
    return Y


@T.prim_func(attrs={"tir.op_pattern": "elemwise"})
def thrice(X: f32[5], Y: f32[5]) -> f32[5]:
    for i in T.grid(5):
        Y[i] = X[i] + X[i] + X[i]
    return Y


# -----


def main(x: f32[4]) -> f32[4]:
    # expected-error@+1 {{'relax.call_tir' op has attribute 'relax.group' that must be an integer, got "first"}}
    a = R.call_tir(cls.twice, (x,), out_sinfo=f32[4], attrs={"relax.group": "first"})
    return a


@T.prim_func(attrs={"tir.op_pattern": "elemwise"})
def twice(X: f32[4], Y: f32[4]) -> f32[4]:
    for i in T.grid(4):
        Y[i] = X[i] + X[i]
    return Y
