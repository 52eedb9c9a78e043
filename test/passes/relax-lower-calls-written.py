# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --relax-lower-calls --print-script | FileCheck %s
"""Inputs that a call may write to are recorded: directly, through a view, in a called function, in a branch."""

from relax_mlir.script import ir as I, relax as R, tir as T


@I.ir_module(ssa=True)
class Module:
    # CHECK: @R.function({{.*}}"relax.written": (1, 2, 4)})
    # CHECK-NEXT: def main(
    @R.function
    def main(
        w: R.Tensor((4,), "float32"),
        x: R.Tensor((2, 2), "float32"),
        y: R.Tensor((4,), "float32"),
        c: T.bool,
        z: R.Tensor((4,), "float32"),
    ) -> R.Tensor((4,), "float32"):
        r = cls.inner(w, x)
        if c:
            R.call_packed("f", (y,))
        R.call_inplace_packed("g", (z,), inplace_indices=[0], out_sinfo=R.Tensor((4,), "float32"))
        return r

    # CHECK: @R.function({{.*}}"relax.written": (1,)})
    # CHECK-NEXT: def inner(
    @R.function(private=True)
    def inner(a: R.Tensor((4,), "float32"), b: R.Tensor((2, 2), "float32")) -> R.Tensor((4,), "float32"):
        view = R.flatten(b)
        once = R.call_tir_inplace(cls.double, (view,), inplace_indices=[0], out_sinfo=R.Tensor((4,), "float32"))
        twice = R.call_tir_inplace(cls.double, (once,), inplace_indices=[0], out_sinfo=R.Tensor((4,), "float32"))
        return twice

    # Buffers that are only read are not marked, nor writes to the function's own memory.
    # CHECK-NOT: relax.written
    # CHECK: def reads(
    # CHECK-NOT: relax.written
    @R.function
    def reads(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        own = R.call_tir(cls.copy, (x,), out_sinfo=R.Tensor((4,), "float32"))
        r = R.call_tir_inplace(cls.double, (own,), inplace_indices=[0], out_sinfo=R.Tensor((4,), "float32"))
        R.call_pure_packed("f", (x,))
        return r

    @T.prim_func(private=True)
    def double(X: T.Buffer((4,), "float32")):
        return

    @T.prim_func(private=True)
    def copy(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32")):
        return
