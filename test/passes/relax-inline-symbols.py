# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --relax-inline --print-script | FileCheck %s
"""Names of sizes when a function is inlined: a name is one size within a function."""

from relax_mlir.script import ir as I, relax as R, tir as T


@I.ir_module(ssa=True)
class Module:
    # A call's operands have the types of the parameters, so the names in them mean the same in the caller and in the
    # function.
    @R.function(private=True)
    def same(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("4*n",), "float32"):
        flat = R.flatten(x)
        return flat

    # CHECK-LABEL: def the_same_name(x: R.Tensor(("n", 4),
    # CHECK-NEXT: flat: R.Tensor(("4*n",), "float32") = R.flatten(x)
    # CHECK-NEXT: return flat
    @R.function
    def the_same_name(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("4*n",), "float32"):
        y = cls.same(x)
        return y

    # A match_cast is how a caller with other names calls: the body gets the caller's sizes, users keep their types.
    # CHECK-LABEL: def another_name(x: R.Tensor(("2*m", 4),
    # CHECK-NEXT: R.match_cast(x,
    # CHECK-NEXT: flat: R.Tensor(("8*m",), "float32") = R.flatten(x)
    # CHECK-NEXT: y = R.match_cast(flat, out_sinfo=R.Tensor(("4*n",), "float32"))
    # CHECK-NEXT: return y
    @R.function
    def another_name(x: R.Tensor(("2*m", 4), "float32")) -> R.Tensor(("4*n",), "float32"):
        xn = R.match_cast(x, out_sinfo=R.Tensor(("n", 4), "float32"))
        y = cls.same(xn)
        return y

    # CHECK-LABEL: def a_number(
    # CHECK-NEXT: R.match_cast(x,
    # CHECK-NEXT: flat: R.Tensor((32,), "float32") = R.flatten(x)
    # CHECK-NEXT: y = R.match_cast(flat, out_sinfo=R.Tensor(("4*n",), "float32"))
    @R.function
    def a_number(x: R.Tensor((8, 4), "float32")) -> R.Tensor(("4*n",), "float32"):
        xn = R.match_cast(x, out_sinfo=R.Tensor(("n", 4), "float32"))
        y = cls.same(xn)
        return y

    # Other dialects' operations say sizes by operands too: there a name can take another's place, a number cannot.
    @R.function(private=True)
    def upstream(x: R.Tensor(("n",), "float32"), size: T.index) -> R.Tensor(("?",), "float32"):
        e = tensor.empty(size, R.Tensor(("n",), "float32"))
        sum: R.Tensor(("?",), "float32") = R.add(e, x)
        return sum

    # CHECK-LABEL: def upstream_operations(
    # CHECK: e = tensor.empty(size, R.Tensor(("n",), "float32"))
    # CHECK: e_1 = tensor.empty(size, R.Tensor(("m",), "float32"))
    @R.function
    def upstream_operations(x: R.Tensor((4,), "float32"), y: R.Tensor(("m",), "float32"), size: T.index) -> R.Tuple(
        R.Tensor(("?",), "float32"), R.Tensor(("?",), "float32")
    ):
        xn = R.match_cast(x, out_sinfo=R.Tensor(("n",), "float32"))
        a = cls.upstream(xn, size)
        yn = R.match_cast(y, out_sinfo=R.Tensor(("n",), "float32"))
        b = cls.upstream(yn, size)
        return a, b

    # Names that only the body uses are renamed apart from the caller's names, and from those of other calls.
    @R.function(private=True)
    def own_names(x: R.Tensor(("?",), "float32")) -> R.Tensor(("?",), "float32"):
        xk = R.match_cast(x, out_sinfo=R.Tensor(("k",), "float32"))
        R.print((R.prim_value("k + 1"), R.shape(("2*k",))))
        r = R.match_cast(xk, out_sinfo=R.Tensor(("?",), "float32"))
        return r

    # CHECK-LABEL: def distinguished(
    # CHECK: R.match_cast(x, out_sinfo=R.Tensor(("k_1",), "float32"))
    # CHECK-NEXT: R.print((R.prim_value("k_1 + 1"), R.shape(("2*k_1",))))
    # CHECK: R.match_cast({{.*}}, out_sinfo=R.Tensor(("k_2",), "float32"))
    # CHECK-NEXT: R.print((R.prim_value("k_2 + 1"), R.shape(("2*k_2",))))
    @R.function
    def distinguished(k: R.Tensor(("k",), "float32"), x: R.Tensor(("?",), "float32")) -> R.Tensor(("?",), "float32"):
        once = cls.own_names(x)
        twice = cls.own_names(once)
        return twice

    # A call that stays fixes the names in its types: where they clash the function is not inlined.
    @R.function(private=True)
    def outside(x: R.Tensor(("k",), "float32")) -> R.Tensor(("?",), "float32"): ...

    @R.function(private=True)
    def fixed_names(x: R.Tensor(("?",), "float32")) -> R.Tensor(("?",), "float32"):
        xk = R.match_cast(x, out_sinfo=R.Tensor(("k",), "float32"))
        y = cls.outside(xk)
        return y

    # CHECK-LABEL: def clash(
    # CHECK: y = cls.fixed_names(x)
    @R.function
    def clash(k: R.Tensor(("k",), "float32"), x: R.Tensor(("?",), "float32")) -> R.Tensor(("?",), "float32"):
        y = cls.fixed_names(x)
        return y

    # CHECK-LABEL: def no_clash(
    # CHECK-NEXT: xk = R.match_cast(x,
    # CHECK-NEXT: y = cls.outside(xk)
    @R.function
    def no_clash(x: R.Tensor(("?",), "float32")) -> R.Tensor(("?",), "float32"):
        y = cls.fixed_names(x)
        return y

    # It also keeps the caller's sizes from taking the place of the names.
    @R.function(private=True)
    def outside_n(x: R.Tensor(("n",), "float32")) -> R.Tensor(("?",), "float32"): ...

    @R.function(private=True)
    def passes_on(x: R.Tensor(("n",), "float32")) -> R.Tensor(("?",), "float32"):
        y = cls.outside_n(x)
        return y

    # CHECK-LABEL: def bound(x: R.Tensor(("m",),
    # CHECK-NEXT: xn = R.match_cast(x, out_sinfo=R.Tensor(("n",), "float32"))
    # CHECK-NEXT: y = cls.outside_n(xn)
    @R.function
    def bound(x: R.Tensor(("m",), "float32")) -> R.Tensor(("?",), "float32"):
        xn = R.match_cast(x, out_sinfo=R.Tensor(("n",), "float32"))
        y = cls.passes_on(xn)
        return y

    # Where the caller's sizes cannot be right, the body keeps its own: a match_cast will fail when the program runs.
    @R.function(private=True)
    def three(x: R.Tensor(("n",), "float32")) -> R.Tensor((3,), "float32"):
        y = R.reshape(x, (3,))
        return y

    # CHECK-LABEL: def four(
    # CHECK: xn = R.match_cast(x, out_sinfo=R.Tensor(("n",), "float32"))
    # CHECK: y: R.Tensor((3,), "float32") = R.reshape(xn, (3,))
    @R.function
    def four(x: R.Tensor((4,), "float32")) -> R.Tensor((3,), "float32"):
        xn = R.match_cast(x, out_sinfo=R.Tensor(("n",), "float32"))
        y = cls.three(xn)
        return y

    # Expressions in attributes are the caller's, too.
    @R.function(private=True)
    def first(x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("k",), "float32")) -> R.Tensor(("?", 3), "float32"):
        part: R.Tensor(("?", 3), "float32") = R.strided_slice(x, axes=(0, 1), begin=(1, 0), end=("2*k", 3))
        return part

    # CHECK-LABEL: def of_others(
    # CHECK: part: {{.*}} = R.strided_slice(xn, axes=(0, 1), begin=(1, 0), end=("2*m", 3))
    @R.function
    def of_others(x: R.Tensor(("?", 4), "float32"), y: R.Tensor(("m",), "float32")) -> R.Tensor(("?", 3), "float32"):
        xn = R.match_cast(x, out_sinfo=R.Tensor(("n", 4), "float32"))
        yk = R.match_cast(y, out_sinfo=R.Tensor(("k",), "float32"))
        part = cls.first(xn, yk)
        return part

    # A name that is free in the caller may still be one of the function's own: here n_1, so that n becomes n_2.
    @R.function(private=True)
    def two_sizes(a: R.Tensor(("?",), "float32"), b: R.Tensor(("?",), "float32")) -> R.Tensor(("?",), "float32"):
        an = R.match_cast(a, out_sinfo=R.Tensor(("n",), "float32"))
        bn = R.match_cast(b, out_sinfo=R.Tensor(("n_1",), "float32"))
        both: R.Tensor(("?",), "float32") = R.concat((an, bn))
        return both

    # CHECK-LABEL: def two_sizes_stay_two(
    # CHECK: an = R.match_cast(a, out_sinfo=R.Tensor(("n_2",), "float32"))
    # CHECK: bn = R.match_cast(b, out_sinfo=R.Tensor(("n_1",), "float32"))
    @R.function
    def two_sizes_stay_two(
        x: R.Tensor(("n",), "float32"), a: R.Tensor(("?",), "float32"), b: R.Tensor(("?",), "float32")
    ) -> R.Tensor(("?",), "float32"):
        both = cls.two_sizes(a, b)
        return both
