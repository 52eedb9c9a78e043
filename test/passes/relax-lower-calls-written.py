# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-lower-calls --print-script | FileCheck %s
"""Inputs that a call may write to are recorded: directly, through a view, in a called function, in a branch."""


# CHECK: @R.function({{.*}}"relax.written": (1, 2, 4)})
# CHECK-NEXT: def main(
def main(w: f32[4], x: f32[2, 2], y: f32[4], c: T.bool, z: f32[4]) -> f32[4]:
    r = cls.inner(w, x)
    if c:
        R.call_packed("f", (y,))
    R.call_inplace_packed("g", (z,), inplace_indices=[0], out_sinfo=f32[4])
    return r


# CHECK: @R.function({{.*}}"relax.written": (1,)})
# CHECK-NEXT: def inner(
@R.function(private=True)
def inner(a: f32[4], b: f32[2, 2]) -> f32[4]:
    view = R.flatten(b)
    once = R.call_tir_inplace(cls.double, (view,), inplace_indices=[0], out_sinfo=f32[4])
    twice = R.call_tir_inplace(cls.double, (once,), inplace_indices=[0], out_sinfo=f32[4])
    return twice


# Buffers that are only read are not marked, nor writes to the function's own memory.
# CHECK-NOT: relax.written
# CHECK: def reads(
# CHECK-NOT: relax.written
def reads(x: f32[4]) -> f32[4]:
    own = R.call_tir(cls.copy, (x,), out_sinfo=f32[4])
    r = R.call_tir_inplace(cls.double, (own,), inplace_indices=[0], out_sinfo=f32[4])
    R.call_pure_packed("f", (x,))
    return r


@T.prim_func(private=True)
def double(X: T.Buffer((4,), "float32")):
    return


@T.prim_func(private=True)
def copy(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32")):
    return
