# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --relax-inline --print-script | FileCheck %s
# RUN: relax-opt %s --relax-inline='remove-dead=false' --print-script | FileCheck %s --check-prefix=KEEP
# RUN: relax-opt %s --relax-inline='include-public=true' --print-script | FileCheck %s --check-prefix=PUBLIC
# RUN: relax-opt %s --relax-inline --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s --check-prefix=LOC
"""Situations of Apache TVM's test_transform_inline_private_functions.py."""

from relax_mlir.script import ir as I, relax as R, tir as T


@I.ir_module(ssa=True)
class Module:
    # Bottom-up: callees are inlined into before they are inlined. Dead private functions are removed, others stay.
    # CHECK-NOT: def leaf(
    # CHECK-NOT: def middle(
    # KEEP: private=True
    # KEEP-NEXT: def leaf(
    # KEEP: private=True
    # KEEP-NEXT: def middle(
    @R.function(private=True)
    def leaf(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        e = R.exp(x)
        return e

    @R.function(private=True)
    def middle(x: R.Tensor((4,), "float32")) -> R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")):
        of_leaf = cls.leaf(x)
        s = R.sin(of_leaf)
        return s, x

    # CHECK: @R.function(private=True)
    # CHECK-NEXT: def unused(
    @R.function(private=True)
    def unused():
        return

    # CHECK-LABEL: def chain(
    # CHECK-NEXT: e: R.Tensor((4,), "float32") = R.exp(x)
    # CHECK-NEXT: s: R.Tensor((4,), "float32") = R.sin(e)
    # CHECK-NEXT: z: R.Tensor((4,), "float32") = R.add(s, x)
    # CHECK-NEXT: return z
    # LOC-LABEL: func.func @chain(
    # LOC: "relax.exp"{{.*}} loc(callsite(callsite("e"({{[^ ]*}}) at "of_leaf"({{[^ ]*}})) at {{"[^ ]*":[0-9]+:9}}))
    # LOC: "relax.sin"{{.*}} loc(callsite("s"({{[^ ]*}}) at {{"[^ ]*":[0-9]+:9}}))
    # LOC: "relax.add"{{.*}} loc("z"({{[^ ]*}}))
    @R.function
    def chain(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y, same = cls.middle(x)
        z = R.add(y, same)
        return z

    # Calls inside control flow.
    # CHECK-LABEL: def inside(
    # CHECK-NEXT: if c:
    # CHECK-NEXT: e: R.Tensor((4,), "float32") = R.exp(x)
    # CHECK-NEXT: y = e
    # CHECK-NEXT: else:
    # CHECK-NEXT: y = x
    @R.function
    def inside(c: T.bool, x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        if c:
            y = cls.leaf(x)
        else:
            y = x
        return y

    # Several blocks go into an scf.execute_region.
    @R.function(private=True)
    def blocks(c: T.bool, x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cf.cond_br(c, x, segments=(1, 0, 1), to=(first, second))

        def first():
            e = R.exp(x)
            return e

        def second(y: R.Tensor((4,), "float32")):
            s = R.sin(y)
            return s

    # CHECK-LABEL: def several_blocks(
    # CHECK-NEXT: with scf.execute_region(R.Tensor((4,), "float32")) as y:
    # CHECK-NEXT: def bb0():
    # CHECK-NEXT: cf.cond_br(c, x, segments=(1, 0, 1), to=(bb1, bb2))
    # CHECK-NEXT: def bb1():
    # CHECK-NEXT: e: R.Tensor((4,), "float32") = R.exp(x)
    # CHECK-NEXT: scf.yield_(e)
    # CHECK-NEXT: def bb2(arg0: R.Tensor((4,), "float32")):
    # CHECK-NEXT: s: R.Tensor((4,), "float32") = R.sin(arg0)
    # CHECK-NEXT: scf.yield_(s)
    # CHECK-NEXT: return y
    @R.function
    def several_blocks(c: T.bool, x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = cls.blocks(c, x)
        return y

    # Functions that must stay, functions without a body, and functions that must not change.
    # CHECK-DAG: def marked(
    # CHECK-DAG: def prim(
    # CHECK-DAG: def codegen(
    # CHECK-DAG: y = cls.part(x)
    # CHECK-DAG: def part(
    # CHECK-DAG: def declared(
    # CHECK-DAG: def public(
    @R.function(private=True, attrs={"relax.no_inline": I.unit})
    def marked(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return x

    @T.prim_func(private=True)
    def prim(X: T.Tensor((4,), "float32"), Y: T.Tensor((4,), "float32")) -> T.Tensor((4,), "float32"):
        return X

    @R.function(private=True, attrs={"relax.codegen": "dnnl"})
    def codegen(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = cls.part(x)
        return y

    @R.function(private=True)
    def part(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return R.tan(x)

    @R.function(private=True)
    def declared(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"): ...

    @R.function
    def public(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        c = R.cos(x)
        return c

    # CHECK-LABEL: def kept_calls(
    # CHECK-NEXT: a = cls.marked(x)
    # CHECK-NEXT: b = cls.codegen(a)
    # CHECK-NEXT: c = cls.declared(b)
    # CHECK-NEXT: d = cls.public(c)
    # CHECK-NEXT: e = cls.prim(d, d)
    # PUBLIC-LABEL: def kept_calls(
    # PUBLIC: c = cls.declared(
    # PUBLIC-NEXT: = R.cos(c)
    @R.function
    def kept_calls(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        a = cls.marked(x)
        b = cls.codegen(a)
        c = cls.declared(b)
        d = cls.public(c)
        e = cls.prim(d, d)
        return e
