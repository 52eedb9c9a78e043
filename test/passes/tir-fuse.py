# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --pass-pipeline='builtin.module(relax-legalize-ops,relax-fuse-ops,tir-fuse)' --split-input-file --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --pass-pipeline='builtin.module(relax-legalize-ops,relax-fuse-ops{epilogues=true},tir-fuse)' --split-input-file --print-script | FileCheck %s --check-prefix=EPILOGUES
# RUN: graphs %s | relax-opt - --pass-pipeline='builtin.module(relax-legalize-ops,relax-fuse-ops{max-ops=1},tir-fuse)' --split-input-file --print-script | FileCheck %s --check-prefix=LIMIT
"""Situations of Apache TVM's test_transform_fuse_tir.py."""


# A diamond is one call, its function one nest of loops that writes the function's output.
# CHECK-LABEL: def diamond(
# CHECK: ) ->
# CHECK-NEXT: a_b_c_d = R.call_tir(
# CHECK-NEXT: cls.fused_exp_multiply_negative_add, (x, row), out_sinfo=R.Tensor(("n", 8), "float32"),
# CHECK-NEXT: )
# CHECK-NEXT: return a_b_c_d
# CHECK-NOT: def exp(
# CHECK: @T.prim_func({{.*}} "relax.operator": "relax.exp+relax.multiply+relax.negative+relax.add", "tir.op_pattern": "broadcast"})
# CHECK-NEXT: def fused_exp_multiply_negative_add(
# CHECK-NEXT: A: T.Tensor(("?", 8), "float32"),
# CHECK-NEXT: B: T.Tensor((8,), "float32"),
# CHECK-NEXT: C: T.Tensor(("?", 8), "float32"),
# CHECK-NEXT: ) ->
# CHECK-NEXT: for i, j in T.grid(A.shape[0], 8):
# CHECK-NEXT: exp_0 = T.exp(A[i, j])
# CHECK-NEXT: C[i, j] = exp_0 * B[j] + -exp_0
# CHECK-NEXT: return C
# LIMIT-LABEL: def diamond(
# LIMIT: R.call_tir
# LIMIT-NEXT: R.call_tir
# LIMIT-NEXT: R.call_tir
# LIMIT-NEXT: R.call_tir
# LIMIT-NEXT: return
def diamond(x: f32[n, 8], row: f32[8]) -> f32[n, 8]:
    a = R.exp(x)
    b = R.multiply(a, row)
    c = R.negative(a)
    d = R.add(b, c)
    return d


# -----


# A value with a user outside is a further output.
# CHECK-LABEL: def middle(
# CHECK-NEXT: fused_exp_negative_0, fused_exp_negative_1 = R.call_tir(
# CHECK-NEXT: cls.fused_exp_negative, (x,), out_sinfo=[R.Tensor((4,), "float32"), R.Tensor((4,), "float32")],
# CHECK-NEXT: )
# CHECK-NEXT: return fused_exp_negative_0, fused_exp_negative_1
# CHECK: def fused_exp_negative(
# CHECK: exp_0 = T.exp(A[i])
# CHECK-NEXT: B[i], C[i] = exp_0, -exp_0
# CHECK-NEXT: return B, C
def middle(x: f32[4]) -> R.Tuple(f32[4], f32[4]):
    a = R.exp(x)
    b = R.negative(a)
    return a, b


# -----


# Into a reduction: its loops' indices give the index. The parameter for the size is removed, since another one has
# the size.
# CHECK-LABEL: def to_a_mean(
# CHECK-NEXT: a_turned_mean = R.call_tir(
# CHECK-NEXT: cls.fused_abs_permute_dims_mean, (x,), out_sinfo=R.Tensor(("m",), "float32"),
# CHECK-NEXT: )
# CHECK-NEXT: return a_turned_mean
# CHECK: def fused_abs_permute_dims_mean(
# CHECK-NEXT: A: T.Tensor(("?", "?"), "float32"),
# CHECK-NEXT: B: T.Tensor(("?",), "float32"),
# CHECK-NEXT: ) ->
# CHECK-NEXT: v0 = A.shape[0]
# CHECK: for i, j in T.grid(A.shape[1], T.reduce(A.shape[0])):
# CHECK-NEXT: T.fabs(A[j, i])
def to_a_mean(x: f32[n, m]) -> f32[m]:
    a = R.abs(x)
    turned = R.permute_dims(a)
    mean = R.mean(turned, axis=[1])
    return mean


# -----


# Behind a product in its memory, when asked for.
# CHECK-LABEL: def product(
# CHECK: ) ->
# CHECK-NEXT: a = R.call_tir(cls.matmul, (x, y), out_sinfo=R.Tensor((4, 8), "float32"))
# CHECK-NEXT: b_c = R.call_tir(cls.fused_add_exp, (a, row), out_sinfo=R.Tensor((4, 8), "float32"))
# CHECK-NEXT: return b_c
# EPILOGUES-LABEL: def product(
# EPILOGUES: ) ->
# EPILOGUES-NEXT: a_b_c = R.call_tir(cls.fused_matmul_add_exp, (x, y, row), out_sinfo=R.Tensor((4, 8), "float32"))
# EPILOGUES-NEXT: return a_b_c
# EPILOGUES: @T.prim_func({{.*}} "tir.op_pattern": "out_ewise_fusable"})
# EPILOGUES-NEXT: def fused_matmul_add_exp(
# EPILOGUES: for i, j, k in T.grid(4, 8, T.reduce(8)): D[i, j] = D[i, j] + A[i, k] * B[k, j]
# EPILOGUES-NEXT: generic_0 = D
# EPILOGUES-NEXT: for i, j in T.grid(4, 8): generic_0[i, j] = T.exp(D[i, j] + C[j])
def product(x: f32[4, 8], y: f32[8, 8], row: f32[8]) -> f32[4, 8]:
    a = R.matmul(x, y)
    b = R.add(a, row)
    c = R.exp(b)
    return c


# -----


# Handwritten functions can be fused, and stay. A function that asserts, has a schedule or another target is not
# fused, nor one that reads its output's old contents: inside of a fused function there are none.
# CHECK-LABEL: def by_hand(
# CHECK-NEXT: a_b = R.call_tir(cls.fused_twice_exp, (x,), out_sinfo=R.Tensor((4,), "float32"))
# CHECK-NEXT: c = R.call_tir(cls.asserts, (a_b,), out_sinfo=R.Tensor((4,), "float32"))
# CHECK-NEXT: d = R.call_tir(cls.exp, (c,), out_sinfo=R.Tensor((4,), "float32"))
# CHECK-NEXT: e = R.call_tir(cls.scheduled, (d,), out_sinfo=R.Tensor((4,), "float32"))
# CHECK-NEXT: f = R.call_tir(cls.elsewhere, (e,), out_sinfo=R.Tensor((4,), "float32"))
# CHECK-NEXT: g = R.call_tir(cls.exp, (f,), out_sinfo=R.Tensor((4,), "float32"))
# CHECK-NEXT: h = R.call_tir(cls.accumulates, (g,), out_sinfo=R.Tensor((4,), "float32"))
# CHECK-NEXT: i = R.call_tir(cls.exp, (h,), out_sinfo=R.Tensor((4,), "float32"))
# CHECK-NEXT: return i
# CHECK: def twice(
# CHECK: "relax.operator": "@twice+relax.exp"
# CHECK-NEXT: def fused_twice_exp(
def by_hand(x: f32[4]) -> f32[4]:
    a = R.call_tir(cls.twice, (x,), out_sinfo=f32[4])
    b = R.exp(a)
    c = R.call_tir(cls.asserts, (b,), out_sinfo=f32[4])
    d = R.exp(c)
    e = R.call_tir(cls.scheduled, (d,), out_sinfo=f32[4])
    f = R.call_tir(cls.elsewhere, (e,), out_sinfo=f32[4])
    g = R.exp(f)
    h = R.call_tir(cls.accumulates, (g,), out_sinfo=f32[4])
    i = R.exp(h)
    return i


@T.prim_func(attrs={"tir.op_pattern": "elemwise"})
def accumulates(X: f32[4], Y: f32[4]) -> f32[4]:
    for i in T.grid(4):
        Y[i] = X[i] + Y[i]
    return Y


@T.prim_func(attrs={"tir.op_pattern": "elemwise"})
def twice(X: f32[4], Y: f32[4]) -> f32[4]:
    for i in T.grid(4):
        Y[i] = X[i] + X[i]
    return Y


@T.prim_func(attrs={"tir.op_pattern": "elemwise"})
def asserts(X: f32[4], Y: f32[4]) -> f32[4]:
    T.assert_(T.bool(True), kind="ValueError", message="no")
    for i in T.grid(4):
        Y[i] = X[i]
    return Y


@T.prim_func(attrs={"tir.op_pattern": "elemwise", "tir.schedule": cls.any})
def scheduled(X: f32[4], Y: f32[4]) -> f32[4]:
    for i in T.grid(4):
        Y[i] = X[i]
    return Y


@T.prim_func(attrs={"tir.op_pattern": "elemwise", "tir.target": "llvm"})
def elsewhere(X: f32[4], Y: f32[4]) -> f32[4]:
    for i in T.grid(4):
        Y[i] = X[i]
    return Y


# -----


# A size that is defined between two calls: the fused call comes after the definition.
# CHECK-LABEL: def sizes(
# CHECK: ) ->
# CHECK-NEXT: yk = R.match_cast(y, out_sinfo=R.Tensor(("k", 4), "float32"))
# CHECK-NEXT: a_b = R.call_tir(cls.fused_negative_add, (row, yk), out_sinfo=R.Tensor(("k", 4), "float32"))
# CHECK-NEXT: return a_b
def sizes(row: f32[4], y: f32["?", 4]) -> f32[k, 4]:
    a = R.negative(row)
    yk = R.match_cast(y, out_sinfo=f32[k, 4])
    b = R.add(yk, a)
    return b


# A write at another place than the product's loops is no epilogue of it.
# EPILOGUES-LABEL: def product_moved(
# EPILOGUES: ) ->
# EPILOGUES-NEXT: a = R.call_tir(cls.matmul, (x, w),
# EPILOGUES-NEXT: b = R.call_tir(cls.permute_dims, (a,),
def product_moved(x: f32[4, 6], w: f32[6, 4]) -> f32[4, 4]:
    a = R.matmul(x, w)
    b = R.permute_dims(a)
    return b


# -----


# negative, which reads exp, is fused with add at its place: exp can wait for the operand of multiply.
# CHECK-LABEL: def reader_moved(
# CHECK-NEXT: s = R.call_tir(cls.sort, (x,), out_sinfo=R.Tensor((4,), "float32"))
# CHECK-NEXT: fused_exp_multiply_0, fused_exp_multiply_1 = R.call_tir(
# CHECK-NEXT: cls.fused_exp_multiply, (x, s), out_sinfo=[R.Tensor((4,), "float32"), R.Tensor((4,), "float32")],
# CHECK-NEXT: )
# CHECK-NEXT: t = R.call_tir(cls.sort, (fused_exp_multiply_1,), out_sinfo=R.Tensor((4,), "float32"))
# CHECK-NEXT: b_d = R.call_tir(
# CHECK-NEXT: cls.fused_negative_add, (fused_exp_multiply_0, t), out_sinfo=R.Tensor((4,), "float32"),
# CHECK-NEXT: )
# CHECK-NEXT: return b_d
def reader_moved(x: f32[4]) -> f32[4]:
    a = R.exp(x)
    b = R.negative(a)
    s = R.sort(x)
    c = R.multiply(a, s)
    t = R.sort(c)
    d = R.add(b, t)
    return d


# -----


# A buffer that is changed in place, here through another name, is read at the old place: negative does not wait for
# add.
# CHECK-LABEL: def changed(
# CHECK: ) ->
# CHECK-NEXT: a = R.call_tir(cls.exp, (x,), out_sinfo=R.Tensor((4,), "float32"))
# CHECK-NEXT: b = R.call_tir(cls.negative, (a,), out_sinfo=R.Tensor((4,), "float32"))
# CHECK-NEXT: same = R.match_cast(a, out_sinfo=R.Tensor((4,), "float32"))
# CHECK-NEXT: c = R.call_tir_inplace(cls.change, (same,), inplace_indices=(0,), out_sinfo=R.Tensor((4,), "float32"))
# CHECK-NEXT: d = R.call_tir(cls.add, (b, x), out_sinfo=R.Tensor((4,), "float32"))
# CHECK-NEXT: return d, c
def changed(x: f32[4]) -> R.Tuple(f32[4], f32[4]):
    a = R.exp(x)
    b = R.negative(a)
    same = R.match_cast(a, out_sinfo=f32[4])
    c = R.call_tir_inplace(cls.change, (same,), inplace_indices=[0], out_sinfo=f32[4])
    d = R.add(b, x)
    return d, c


@T.prim_func
def change(X: T.Buffer((4,), "float32")):
    return
