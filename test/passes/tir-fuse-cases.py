# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --pass-pipeline='relax-legalize-ops,relax-annotate-op-pattern,relax-fuse-ops{epilogues=true},tir-fuse' --split-input-file --print-script | FileCheck %s
"""Groups of calls that become one call, and operations between them.

Situations of Apache TVM's test_transform_fuse_tir.py.
"""


# Constants are arguments like others; a parameter that is read twice is passed once.
# CHECK-LABEL: def constants(
# CHECK: a_b = R.call_tir(
# CHECK-NEXT: cls.fused_add_multiply, (x, R.const({{\[\[}}1.0, 2.0], [3.0, 4.0]], "float32")),
# CHECK: return a_b
def constants(x: f32[2, 2]) -> f32[2, 2]:
    a = R.add(x, R.const([[1.0, 2.0], [3.0, 4.0]], "float32"))
    b = R.multiply(a, x)
    return b


# A foreign function separates groups: those before it and after it are separate.
# CHECK-LABEL: def elsewhere(
# CHECK: a = R.call_tir(cls.fused_exp_negative, (x,),
# CHECK-NEXT: b = R.call_dps_packed(func="mine", args=(a,),
# CHECK-NEXT: c_d = R.call_tir(cls.fused_negative_abs, (b,),
# CHECK-NEXT: return c_d
def elsewhere(x: f32[2, 2]) -> f32[2, 2]:
    a = R.negative(R.exp(x))
    b = R.call_dps_packed(func="mine", args=(a,), out_sinfo=f32[2, 2])
    c = R.negative(b)
    d = R.abs(c)
    return d


# Functions of the graph are called as before, and have groups of their own; equal groups call one function.
# CHECK-LABEL: def outer(
# CHECK: a = R.call_tir(cls.exp, (x,),
# CHECK-NEXT: b = cls.inner(a)
# CHECK-NEXT: c = R.call_tir(cls.fused_exp_negative, (b,),
# CHECK-LABEL: def inner(
# CHECK: R.call_tir(cls.fused_exp_negative, (x,),
def outer(x: f32[2, 2]) -> f32[2, 2]:
    a = R.exp(x)
    b = cls.inner(a)
    c = R.negative(R.exp(b))
    return c


@R.function(private=True)
def inner(x: f32[2, 2]) -> f32[2, 2]:
    return R.negative(R.exp(x))


# Sizes are expressions that are passed to the function. Another size makes another function.
# CHECK-LABEL: def symbolic(
# CHECK: R.call_tir(cls.fused_add_negative, (x, y), out_sinfo=R.Tensor(("2*m*n",), "float32"))
def symbolic(x: f32["2*m*n"], y: f32["2*m*n"]) -> f32["2*m*n"]:
    z = R.add(x, y)
    return R.negative(z)


# A value that is returned from the middle is a further result, and an unused value is none.
# CHECK-LABEL: def partial(
# CHECK: fused_abs_negative_multiply_0, fused_abs_negative_multiply_1 = R.call_tir(
# CHECK-NEXT: cls.fused_abs_negative_multiply, (x,),
# CHECK: return fused_abs_negative_multiply_1, fused_abs_negative_multiply_0
def partial(x: f32[4]) -> R.Tuple(f32[4], f32[4]):
    a = R.abs(x)
    b = R.negative(a)
    c = R.multiply(b, a)
    return c, b


# An in-place operation is a call of its own. Later operations are fused.
# CHECK-LABEL: def in_place(
# CHECK: R.call_tir(cls.exp_1, (x,),
# CHECK-NEXT: b = R.call_tir(cls.negative_2,
# CHECK-NEXT: c = R.call_tir_inplace(cls.change, (b,), inplace_indices=(0,),
# CHECK-NEXT: fused_negative_abs_1_0 = R.call_tir(
# CHECK-NEXT: cls.fused_negative_abs_1, (c,),
def in_place(x: f32[4]) -> f32[4]:
    b = R.negative(R.exp(x))
    c = R.call_tir_inplace(cls.change, (b,), inplace_indices=[0], out_sinfo=f32[4])
    return R.abs(R.negative(c))


@T.prim_func(private=True)
def change(X: T.Buffer((4,), "float32")):
    for i in range(4):
        X[i] = X[i] + T.float32(1)
    return


# -----


# A function for any size, called with known sizes: there is one fused function for each of them.
# CHECK-LABEL: def known(
# CHECK: a_b = R.call_tir(cls.fused_double_exp, (x,), out_sinfo=R.Tensor((4, 8), "float32"))
# CHECK-LABEL: def other(
# CHECK: a_b = R.call_tir(cls.fused_double_exp_1, (x,), out_sinfo=R.Tensor(("n", 8), "float32"))
# CHECK-LABEL: def again(
# CHECK: a_b = R.call_tir(cls.fused_double_exp, (x,), out_sinfo=R.Tensor((4, 8), "float32"))
def known(x: f32[4, 8]) -> f32[4, 8]:
    a = R.call_tir(cls.double, (x,), out_sinfo=f32[4, 8])
    b = R.exp(a)
    return b


def other(x: f32[n, 8]) -> f32[n, 8]:
    a = R.call_tir(cls.double, (x,), out_sinfo=f32[n, 8])
    b = R.exp(a)
    return b


def again(x: f32[4, 8]) -> f32[4, 8]:
    a = R.call_tir(cls.double, (x,), out_sinfo=f32[4, 8])
    b = R.exp(a)
    return b


# The same calls of the same function, of other sizes.
# CHECK-LABEL: def few(
# CHECK: a_b = R.call_tir(cls.fused_double_double, (x,), out_sinfo=R.Tensor((2, 8), "float32"))
# CHECK-LABEL: def many(
# CHECK: a_b = R.call_tir(cls.fused_double_double_1, (x,), out_sinfo=R.Tensor((3, 8), "float32"))
def few(x: f32[2, 8]) -> f32[2, 8]:
    a = R.call_tir(cls.double, (x,), out_sinfo=f32[2, 8])
    b = R.call_tir(cls.double, (a,), out_sinfo=f32[2, 8])
    return b


def many(x: f32[3, 8]) -> f32[3, 8]:
    a = R.call_tir(cls.double, (x,), out_sinfo=f32[3, 8])
    b = R.call_tir(cls.double, (a,), out_sinfo=f32[3, 8])
    return b


# Its sizes do not fit one another; and one that says how large something else is.
# CHECK-LABEL: def contradicting(
# CHECK: a = R.call_tir(cls.plus,
# CHECK: b = R.call_tir(cls.exp
# CHECK-LABEL: def more(
# CHECK: a = R.call_tir(cls.tall,
# CHECK: b = R.call_tir(cls.exp
def contradicting(x: f32[4, 8], y: f32[4, 9]) -> f32[4, 8]:
    a = R.call_tir(cls.plus, (x, y), out_sinfo=f32[4, 8])
    b = R.exp(a)
    return b


def more(x: f32[4, 8]) -> f32[4, 8]:
    a = R.call_tir(cls.tall, (x,), out_sinfo=f32[4, 8])
    b = R.exp(a)
    return b


# CHECK-LABEL: def double(
@T.prim_func
def double(X: f32["?", 8], Y: f32["?", "?"]) -> f32["?", "?"]:
    for i, j in T.grid(X.shape[0], X.shape[1]):
        Y[i, j] = X[i, j] + X[i, j]
    return Y


@T.prim_func
def plus(X: f32["?", "?"], Y: f32["?", "?"], Z: f32["?", "?"]) -> f32["?", "?"]:
    for i, j in T.grid(X.shape[0], X.shape[1]):
        Z[i, j] = X[i, j] + Y[i, j]
    return Z


@T.prim_func
def tall(X: f32["?", 8], Y: f32["?", 8]) -> f32["?", 8]:
    made = tensor.empty(X.shape[0], T.Tensor(("?", 8), "float32"))
    for i, j in T.grid(X.shape[0], 8):
        made[i, j] = X[i, j]
    return made


# CHECK-LABEL: def fused_double_exp(
# CHECK-NEXT: A: T.Tensor((4, 8), "float32"),
# CHECK: for i, j in T.grid(4, 8): B[i, j] = T.exp(A[i, j] + A[i, j])
# CHECK-LABEL: def fused_double_exp_1(
# CHECK-NEXT: A: T.Tensor(("?", 8), "float32"),
# CHECK: for i, j in T.grid(A.shape[0], 8): B[i, j] = T.exp(A[i, j] + A[i, j])
