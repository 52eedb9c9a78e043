# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Upstream's cse and symbol-dce know our operators by their effects and symbols.
# RUN: graphs %s | relax-opt - --cse --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --symbol-dce --print-script | FileCheck %s --check-prefix=SYMBOLS
"""Situations of Apache TVM's test_transform_cse.py."""


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
def same(x: f32[4], c: T.bool) -> R.Tuple(f32[4], f32[4], f32[4], f32[4], f32[4]):
    a = R.exp(x)
    b = R.exp(x)
    tir = R.call_tir(cls.twice, (a,), out_sinfo=f32[4])
    again = R.call_tir(cls.twice, (b,), out_sinfo=f32[4])
    if c:
        r = R.exp(x)
    else:
        r = R.call_tir(cls.twice, (a,), out_sinfo=f32[4])
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
def others(x: f32[2, 2], y: f32[2, 2], c: T.bool) -> R.Tuple(
    f32[2], f32[2], f32[2, 2], f32[2, 2], f16[2, 2], f64[2, 2], f32[2, 2], f32[2, 2], f32[2, 2]
):
    rows = R.sum(x, axis=[0])
    columns = R.sum(x, axis=[1])
    one = R.subtract(x, y)
    other = R.subtract(y, x)
    half = R.astype(x, "float16")
    double = R.astype(x, "float64")
    mine = R.call_pure_packed(func="mine", args=(x,), out_sinfo=f32[2, 2])
    yours = R.call_pure_packed(func="yours", args=(x,), out_sinfo=f32[2, 2])
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
def branches(x: f32[2], c: T.bool) -> R.Tuple(f32[2], f32[2], f32[2]):
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
def sizes(x: f32["?"], y: f32[4]) -> R.Tuple(f32[k], f32[k], f32[2], f32[2], f32[4], f32[4]):
    a = R.match_cast(x, out_sinfo=f32[k])
    b = R.match_cast(x, out_sinfo=f32[k])
    left, _ = R.split(y, 2)
    _, right = R.split(y, 2)
    one = R.call_dps_packed(func="mine", args=(y,), out_sinfo=f32[4])
    other = R.call_dps_packed(func="mine", args=(y,), out_sinfo=f32[4])
    return a, b, left, right, one, other


# Operations with an effect are not merged.
# CHECK-LABEL: def effects(
# CHECK: R.print(
# CHECK: R.print(
# CHECK: R.call_packed(
# CHECK: R.call_packed(
# CHECK: cls.callee(
# CHECK: cls.callee(
def effects(x: f32[2]) -> R.Tuple(f32[2], f32[2], f32[2], f32[2]):
    R.print((x,), format="{}")
    R.print((x,), format="{}")
    a = R.call_packed(func="mine", args=(x,), out_sinfo=f32[2])
    b = R.call_packed(func="mine", args=(x,), out_sinfo=f32[2])
    c = cls.callee(x)
    d = cls.callee(x)
    return a, b, c, d


# Private functions stay while there are calls of them, also by relax.call_tir.
# SYMBOLS: def callee(
# SYMBOLS-NOT: def uncalled(
# SYMBOLS: def twice(
@R.function(private=True)
def callee(x: f32[2]) -> f32[2]:
    return R.exp(x)


@R.function(private=True)
def uncalled(x: f32[2]) -> f32[2]:
    return R.exp(x)


@T.prim_func(private=True)
def twice(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
    for i in range(4):
        y[i] = x[i] + x[i]
    return
