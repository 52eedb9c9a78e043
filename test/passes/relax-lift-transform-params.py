# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-lift-transform-params='inputs=1' --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --relax-lift-transform-params='weights=w,unused' --print-script | FileCheck %s --check-prefix=NAMED
# RUN: graphs %s | relax-opt - --relax-lift-transform-params='function=effects inputs=1' --print-script | FileCheck %s --check-prefix=EFFECTS
# RUN: graphs %s | not relax-opt - --relax-lift-transform-params 2>&1 | FileCheck %s --check-prefix=SILENT
# RUN: graphs %s | not relax-opt - --relax-lift-transform-params='inputs=9' 2>&1 | FileCheck %s --check-prefix=MANY
# RUN: graphs %s | not relax-opt - --relax-lift-transform-params='inputs=1 weights=w' 2>&1 | FileCheck %s --check-prefix=BOTH
# RUN: graphs %s | not relax-opt - --relax-lift-transform-params='inputs=1 most-spread=-1' 2>&1 | FileCheck %s --check-prefix=NEGATIVE
# RUN: graphs %s | not relax-opt - --relax-lift-transform-params='weights=v' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
# A lifted operation is not lifted again.
# RUN: graphs %s | relax-opt - --relax-lift-transform-params='inputs=1' --relax-lift-transform-params='inputs=1' --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --relax-lift-transform-params='inputs=1 keep=permute_dims,s' --print-script | FileCheck %s --check-prefix=KEPT
# RUN: graphs %s | relax-opt - --relax-lift-transform-params='function=stated inputs=1' --print-script | FileCheck %s --check-prefix=STATED
"""Operations on weights only, moved to a function that is called once: when a program is built, or loaded.

Situations of Apache TVM's test_transform_lift_transform_params.py; functions that share their weights: the file next to
this one.
"""

# SILENT: pass 'relax-lift-transform-params': it is unknown which parameters of @main are weights: pass inputs=N,
# MANY: pass 'relax-lift-transform-params': inputs=9: @main has 5 parameters
# BOTH: pass 'relax-lift-transform-params': takes inputs= or weights=, not both
# NEGATIVE: pass 'relax-lift-transform-params': most-spread must be 0 or more, got -1.0
# UNKNOWN: pass 'relax-lift-transform-params': @main has no parameter 'v'


# Worthwhile work is lifted with all intermediate steps, constants and PrimFuncs. A weight that is used unchanged is
# passed on, and an unused one is not. Broadcasts of a few numbers stay at their readers.
# CHECK-LABEL: def main_transform_params(
# CHECK-NEXT: w: R.Tensor((8, 4), "float32"),
# CHECK-NEXT: b: R.Tensor((8,), "float32"),
# CHECK-NEXT: k: R.Tensor(("m",), "float32"),
# CHECK-NEXT: unused: R.Tensor((3,), "float32"),
# CHECK: scaled: R.Tensor((8, 4), "float32") = R.multiply(w, R.const(2.0, "float32"))
# CHECK-NEXT: wt: R.Tensor((4, 8), "float32") = R.permute_dims(scaled)
# CHECK-NEXT: wide: R.Tensor((100, 8), "float32") = R.broadcast_to(b, (100, 8))
# CHECK-NEXT: s: R.Tensor((8,), "float32") = R.sum(wide, axis=(0,))
# CHECK-NEXT: [[EXP:exp_0]]: R.Tensor(("m",), "float32") = R.exp(k)
# CHECK-NEXT: [[ZEROS:zeros_0]]: R.Tensor(("m",), "float32") = R.zeros(("m",), dtype="float32")
# CHECK-NEXT: e: R.Tensor(("m",), "float32") = R.add([[EXP]], [[ZEROS]])
# CHECK-NEXT: doubled = R.call_tir(cls.double, (b,)
# CHECK-NEXT: return wt, s, e, doubled, b
# CHECK-LABEL: def main(
# CHECK-NEXT: x: R.Tensor(("n", 4), "float32"),
# CHECK-NEXT: wt: R.Tensor((4, 8), "float32"),
# CHECK-NEXT: s: R.Tensor((8,), "float32"),
# CHECK-NEXT: e: R.Tensor(("m",), "float32"),
# CHECK-NEXT: doubled: R.Tensor((8,), "float32"),
# CHECK-NEXT: b: R.Tensor((8,), "float32"),
# CHECK-NEXT: ) ->
# CHECK-NEXT: h: R.Tensor(("n", 8), "float32") = R.matmul(x, wt)
# CHECK-NEXT: tall: R.Tensor((200, 8), "float32") = R.broadcast_to(b, (200, 8))
# CHECK-NEXT: y: R.Tensor(("n", 8), "float32") = R.add(h, b)
# CHECK-NEXT: z: R.Tensor(("n", 8), "float32") = R.add(y, s)
# CHECK-NEXT: u: R.Tensor(("n", 8), "float32") = R.add(z, doubled)
# CHECK-NEXT: return u, tall, e

# Weights by their names stand behind all other parameters afterwards.
# NAMED-LABEL: def main_transform_params(
# NAMED-NEXT: w: R.Tensor((8, 4), "float32"),
# NAMED-NEXT: unused: R.Tensor((3,), "float32"),
# NAMED: return wt
# NAMED-LABEL: @R.function(attrs={"num_input": 3})
# NAMED-NEXT: def main(
# NAMED-NEXT: x: R.Tensor(("n", 4), "float32"),
# NAMED-NEXT: b: R.Tensor((8,), "float32"),
# NAMED-NEXT: k: R.Tensor(("m",), "float32"),
# NAMED-NEXT: wt: R.Tensor((4, 8), "float32"),
# NAMED-NEXT: ) ->


# Operators and nodes of these names stay with their users, but not with their operands.
# KEPT-LABEL: def main_transform_params(
# KEPT: scaled: {{.*}} = R.multiply(
# KEPT-NOT: R.permute_dims
# KEPT-NOT: R.sum(
# KEPT-LABEL: def main(
# KEPT: R.permute_dims(scaled)
# KEPT: R.sum(
def main(x: f32[n, 4], w: f32[8, 4], b: f32[8], k: f32[m], unused: f32[3]) -> R.Tuple(f32[n, 8], f32[200, 8], f32[m]):
    scaled = R.multiply(w, R.const(2.0, "float32"))
    wt = R.permute_dims(scaled)
    h = R.matmul(x, wt)
    wide = R.broadcast_to(b, R.shape([100, 8]))
    tall = R.broadcast_to(b, R.shape([200, 8]))
    s = R.sum(wide, axis=[0])
    y = R.add(h, b)
    z = R.add(y, s)
    e = R.add(R.exp(k), R.zeros(R.shape(["m"]), "float32"))
    doubled = R.call_tir(cls.double, (b,), out_sinfo=f32[8])
    u = R.add(z, doubled)
    return u, tall, e


@T.prim_func(private=True)
def double(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    for i in range(8):
        y[i] = x[i] + x[i]
    return


# Operations with an effect run in each call, and in a branch only if it is taken.
# EFFECTS-LABEL: def effects_transform_params(
# EFFECTS: return w
# EFFECTS-LABEL: def effects(
# EFFECTS: R.print((w,)
# EFFECTS: R.call_packed(
# EFFECTS: R.call_pure_packed(
# EFFECTS: if c:
# EFFECTS: R.exp(w)
def effects(c: T.bool, w: f32[4], unused: f32[4]) -> R.Tuple(f32[4], f32[4], f32[4]):
    R.print((w,), format="{}")
    seen = R.call_packed(func="mine", args=(w,), out_sinfo=f32[4])
    pure = R.call_pure_packed(func="mine", args=(w,), out_sinfo=f32[4])
    if c:
        r = R.exp(w)
    else:
        r = R.negative(pure)
    return seen, pure, r


# A size that only a weight has: it is passed on for that, though nothing reads it.
# STATED-LABEL: def stated_transform_params(
# STATED: return [[SUM:s]], w, k
# STATED-LABEL: def stated(
# STATED-NEXT: x: R.Tensor(("n",), "float32"),
# STATED-NEXT: s: R.Tensor((), "float32"),
# STATED-NEXT: w: R.Tensor(("m",), "float32"),
# STATED-NEXT: k: R.Tensor(("n",), "float32"),
# STATED-NEXT: ) ->
def stated(x: f32[n], w: f32[m], v: f32[m], k: f32[n]) -> R.Tuple(f32[n], f32[m]):
    s = R.sum(R.multiply(w, v))
    y = R.add(R.add(x, s), k)
    z = R.full(R.shape(["m"]), R.sum(x), dtype="float32")
    return y, z
