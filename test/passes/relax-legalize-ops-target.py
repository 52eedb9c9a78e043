# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --relax-legalize-ops='target=llvm' --print-script | FileCheck %s
# RUN: relax-opt %s --pass-pipeline='builtin.module(relax-inline,relax-legalize-ops{target=llvm},relax-fuse-ops,tir-fuse,symbol-dce)' --print-script | FileCheck %s --check-prefix=LATER
"""Targets of functions, and of operations with a region: the target's rules legalize the operators inside.

Views stay for llvm and become PrimFuncs by the default rules, which shows the rules in use. Situations of Apache TVM's
test_transform_legalize_ops.py (functions on a virtual device).
"""

from relax_mlir.script import ir as I, relax as R, tir as T, scf


@I.ir_module(ssa=True)
class Module:
    # CHECK-LABEL: def here(
    # CHECK: R.call_tir(cls.exp, (x,),
    # CHECK-NEXT: R.reshape(
    @R.function
    def here(x: R.Tensor((2, 6), "float32")) -> R.Tensor((12,), "float32"):
        return R.reshape(R.exp(x), (12,))

    # PrimFuncs of another target are its own, though a rule that both have may have made them.
    # CHECK: @R.function({{.*}}"relax.target": "default"
    # CHECK-NEXT: def elsewhere(
    # CHECK: R.call_tir(cls.exp_default, (x,),
    # CHECK: cls.reshape_default,
    # LATER-LABEL: def elsewhere(
    # LATER: cls.fused_exp_abs,
    @R.function(attrs={"relax.target": "default"})
    def elsewhere(x: R.Tensor((2, 6), "float32")) -> R.Tensor((12,), "float32"):
        return R.reshape(R.abs(R.exp(x)), (12,))

    # In a region, and in one in it, which says again the target that all is compiled for.
    # CHECK-LABEL: def regions(
    # CHECK: R.reshape(x,
    # CHECK: attrs={"relax.target": "default"}
    # CHECK: cls.reshape_default_1,
    # CHECK: attrs={"relax.target": "llvm"}
    # CHECK: R.reshape(x,
    # CHECK: R.call_tir(cls.exp_
    @R.function
    def regions(c: T.bool, x: R.Tensor((2, 6), "float32")) -> R.Tensor((6, 2), "float32"):
        a = R.reshape(x, (6, 2))
        with scf.if_(c, R.Tensor((6, 2), "float32"), attrs={"relax.target": "default"}) as outer:
            with I.region():
                b = R.reshape(x, (6, 2))
                scf.yield_(b)
            with I.region():
                with scf.if_(c, R.Tensor((6, 2), "float32"), attrs={"relax.target": "llvm"}) as inner:
                    with I.region():
                        d = R.reshape(x, (6, 2))
                        scf.yield_(d)
                    with I.region():
                        e = R.exp(a)
                        scf.yield_(e)
                scf.yield_(inner)
        return outer

    # A function's attributes are not lost: it is inlined only where they are equal.
    # LATER-LABEL: def calls(
    # LATER-NEXT: cls.of_default(x)
    @R.function
    def calls(c: T.bool, x: R.Tensor((2, 6), "float32")) -> R.Tensor((12,), "float32"):
        y = cls.of_default(x)
        z = R.exp(y)
        return z

    # LATER-LABEL: def calls_from_there(
    # LATER-NOT: cls.of_default
    # LATER: return
    @R.function(attrs={"relax.target": "default"})
    def calls_from_there(c: T.bool, x: R.Tensor((2, 6), "float32")) -> R.Tensor((12,), "float32"):
        y = cls.of_default(x)
        return y

    # LATER: @R.function(private=True, attrs={"relax.target": "default"})
    # LATER-NEXT: def of_default(
    @R.function(private=True, attrs={"relax.target": "default"})
    def of_default(x: R.Tensor((2, 6), "float32")) -> R.Tensor((12,), "float32"):
        y = R.reshape(x, (12,))
        return y

    # The stages that follow, which depend on the target, see which it is.
    # CHECK: @T.prim_func(
    # CHECK-NOT: tir.target
    # CHECK: def exp(
    # CHECK: @T.prim_func({{.*}}"tir.target": "default"
    # CHECK-NEXT: def exp_default(
    # CHECK: "tir.target": "default"
    # CHECK-NEXT: def abs_default(
    # CHECK: "tir.target": "default"
    # CHECK-NEXT: def reshape_default(
    # CHECK-NOT: def reshape(
    # LATER-NOT: def exp_default(
    # LATER: @T.prim_func({{.*}}"relax.operator": "relax.exp+relax.abs"{{.*}}"tir.target": "default"
    # LATER-NEXT: def fused_exp_abs(
    # LATER-NOT: def exp_default(
