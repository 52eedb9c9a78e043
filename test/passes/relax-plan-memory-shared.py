# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --pass-pipeline='relax-legalize-ops,tir-bufferize,relax-plan-memory' --split-input-file --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --pass-pipeline='relax-legalize-ops,tir-bufferize,relax-plan-memory,relax-lower-calls' --split-input-file --print-script | FileCheck %s --check-prefix=LOWERED
"""Tensors in the memory of others. Situations of Apache TVM's test_dataflow_inplace.py."""


# Element over element, also by way of a view; the first one has the place of the function's result then.
# CHECK: "relax.memory_plan": {"arena": 0, "peak": 0, "slots": [], "sum": 0}
# CHECK: cls.flip, (x,), attrs={"relax.memory": ["result 0; 256 bytes; live 1 to 6"]},
# CHECK: cls.exp, (a,), attrs={"relax.memory": ["operand 0; 256 bytes; live 2 to {{[0-9]}}"]},
# CHECK: cls.negative, (c,), attrs={"relax.memory": ["operand 0; 256 bytes; live 5 to 6"]},
# LOWERED-LABEL: def elementwise(
# LOWERED-NOT: memref.alloc
# LOWERED: return
def elementwise(x: f32[64]) -> f32[8, 8]:
    a = R.flip(x, axis=0)
    b = R.exp(a)
    c = R.reshape(b, R.shape([8, 8]))
    d = R.negative(c)
    return d


# -----


# Not over a tensor that is read later, nor over the caller's.
# CHECK: cls.exp, (x,), attrs={"relax.memory": ["arena 0;
# CHECK: cls.negative, (a,), attrs={"relax.memory": ["arena 256;
# CHECK: cls.add, (a, b), attrs={"relax.memory": ["operand 0;
# CHECK: cls.flip, (c,), attrs={"relax.memory": ["result 0;
def alive(x: f32[64]) -> f32[64]:
    a = R.exp(x)
    b = R.negative(a)
    c = R.add(a, b)
    d = R.flip(c, axis=0)
    return d


# -----


# A row that each row of the result reads stays. An operand of the result's shape is overwritten.
# CHECK: cls.add, (b, a), attrs={"relax.memory": ["operand 1;
# CHECK: cls.flip, (c,), attrs={"relax.memory": ["result 0;
def spread(x: f32[8, 8], y: f32[1, 8]) -> f32[8, 8]:
    a = R.exp(x)
    b = R.exp(y)
    c = R.add(b, a)
    d = R.flip(c, axis=0)
    return d


# -----


# Parts that lie in one piece are views, wherever they begin; the call is left out.
# CHECK: cls.flip, (x,), attrs={"relax.memory": ["arena 0; 2048 bytes; live 1 to 8"]},
# CHECK: cls.split, (a,),
# CHECK: attrs={"relax.memory": ["view; 1024 bytes; live 2 to 4", "view; 1024 bytes; live 2 to 3"]},
# CHECK: cls.flip_1, (split_1,), attrs={"relax.memory": ["result 0;
# CHECK: cls.flip_1, (split_0,), attrs={"relax.memory": ["result 1;
# CHECK: cls.strided_slice, (a,), attrs={"relax.memory": ["arena
# CHECK: cls.strided_slice_1, (a,), attrs={"relax.memory": ["view; 12 bytes;
# LOWERED-LABEL: def slices(
# LOWERED: memref.view(v0, T.index(1024)
# LOWERED: cls.strided_slice(
# LOWERED: return
# LOWERED-NOT: split
def slices(x: f32[8, 64]) -> R.Tuple(f32[4, 64], f32[4, 64], f32[8, 32], f32[1, 3]):
    a = R.flip(x, axis=0)
    b, c = R.split(a, 2, axis=0)
    d = R.flip(c, axis=0)
    e = R.flip(b, axis=0)
    f = R.strided_slice(a, axes=[1], begin=[0], end=[32])
    g = R.strided_slice(a, axes=[0, 1], begin=[7, 1], end=[8, 4])
    h = R.flip(f, axis=0)
    i = R.flip(g, axis=1)
    return d, e, h, i


# -----


# Operands of a concat are computed in its memory, except for an operand that occurs twice, or is the caller's.
# CHECK: cls.flip, (x,), attrs={"relax.memory": ["part; 1024 bytes; live 1 to 3"]},
# CHECK: cls.flip, (y,), attrs={"relax.memory": ["part; 1024 bytes; live 2 to 5"]},
# CHECK: cls.concat, (a, b), attrs={"relax.memory": ["arena 0; 2048 bytes; live 1 to 5"]},
# CHECK: cls.concat, (b, b), attrs={"relax.memory": ["arena 2048;
# LOWERED-LABEL: def joined(
# LOWERED: memref.view(v0, T.index(1024)
# LOWERED-NEXT: cls.flip(
# LOWERED-NOT: cls.concat
# LOWERED: cls.flip_1(
# LOWERED: cls.concat(
# LOWERED: return
def joined(x: f32[4, 64], y: f32[4, 64]) -> R.Tuple(f32[8, 64], f32[8, 64]):
    a = R.flip(x, axis=0)
    b = R.flip(y, axis=0)
    c = R.concat([a, b], axis=0)
    d = R.flip(c, axis=0)
    e = R.concat([b, b], axis=0)
    f = R.flip(e, axis=0)
    return d, f


# A concat that is returned is built in the caller's memory, also from tensors with later readers.
# CHECK-LABEL: def returned(
# CHECK: cls.flip{{.*}}, (x,), attrs={"relax.memory": ["part; 1024 bytes; live
# CHECK: cls.flip{{.*}}, (y,), attrs={"relax.memory": ["part; 1024 bytes; live
# CHECK: cls.concat, (a, b), attrs={"relax.memory": ["result 0; 2048 bytes; live
# CHECK: cls.flip{{.*}}, (a,), attrs={"relax.memory": ["result 1; 1024 bytes; live
# LOWERED-LABEL: def returned(
# LOWERED-NOT: memref.alloc
# LOWERED-NOT: cls.concat
# LOWERED-NOT: memref.copy
# LOWERED: return
def returned(x: f32[4, 64], y: f32[4, 64]) -> R.Tuple(f32[8, 64], f32[4, 64]):
    a = R.flip(x, axis=1)
    b = R.flip(y, axis=1)
    c = R.concat([a, b], axis=0)
    d = R.flip(a, axis=1)
    return c, d


# -----


# An operand that cannot be computed there, such as the caller's tensor, is copied by a kernel that does only this.
# CHECK: cls.flip, (y,), attrs={"relax.memory": ["part; 1024 bytes; live 1 to 2"]},
# CHECK: cls.concat, (x, a), attrs={"relax.memory": ["result 0; 2048 bytes; live 1 to 3"]},
# LOWERED-LABEL: def joined_in_part(
# LOWERED: [[A:[a-z0-9_]+]] = memref.view({{.*}}, T.index(1024)
# LOWERED: cls.flip(
# LOWERED-NEXT: arg1, [[A]],
# LOWERED: cls.concat_others(
# LOWERED-NEXT: arg0, [[A]], arg2,
# LOWERED: def concat_others(
# LOWERED: [i, j] = A[i, j]
# LOWERED-NOT: = B[
# LOWERED: return
def joined_in_part(x: f32[4, 64], y: f32[4, 64]) -> f32[8, 64]:
    a = R.flip(y, axis=0)
    b = R.concat([x, a], axis=0)
    return b


# -----


# Behind parts of symbolic size as well: distances are expressions.
# CHECK: "slots": ["4*k*m + 4*k*n"]
# CHECK: cls.flip, (x,), attrs={"relax.memory": ["part; 4*k*n bytes; live 1 to 3"]},
# CHECK: cls.flip, (y,), attrs={"relax.memory": ["part; 4*k*m bytes; live 2 to 3"]},
# CHECK: cls.concat, (a, b), attrs={"relax.memory": ["slot 0; 4*k*m + 4*k*n bytes; live
# CHECK: cls.strided_slice, (c, R.prim_value("n"), R.prim_value("m + n")),
# CHECK-NEXT: attrs={"relax.memory": ["view; 4*k*m bytes; live
# CHECK: cls.flip{{.*}}, (d,), attrs={"relax.memory": ["result 0;
# LOWERED-LABEL: def symbolic(
# LOWERED-NOT: cls.concat(
# LOWERED-NOT: cls.strided_slice(
# LOWERED: return
def symbolic(x: f32[n, k], y: f32[m, k]) -> f32[m, k]:
    a = R.flip(x, axis=0)
    b = R.flip(y, axis=0)
    c = R.concat([a, b], axis=0)
    d = R.strided_slice(c, axes=[0], begin=["n"], end=["n + m"])
    e = R.flip(d, axis=0)
    return e


# -----


# A kernel that changes a few elements of a dying tensor copies the others only if it has other memory.
# CHECK: cls.scatter_elements, (a, i, u), attrs={"relax.memory": ["operand 0;
# LOWERED: def scatter_elements(
# LOWERED: v1 = memref.extract_aligned_pointer_as_index(A, T.index) != memref.extract_aligned_pointer_as_index(D, T.index)
# LOWERED-NEXT: if v1:
# LOWERED-NEXT: memref.copy(A, D)
def changed(x: f32[8, 8], i: i64[1, 8], u: f32[1, 8]) -> f32[8, 8]:
    a = R.flip(x, axis=0)
    b = R.scatter_elements(a, i, u, axis=0)
    c = R.flip(b, axis=0)
    return c
