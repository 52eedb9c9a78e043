# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --relax-donate='args=past*' --split-input-file --verify-diagnostics
# RUN: not relax-opt %s --relax-donate='args=pst' --split-input-file 2>&1 | FileCheck %s
"""Arguments that cannot grow in place."""

from relax_mlir.script import ir as I, relax as R

# CHECK: pass 'relax-donate': @main has no argument 'pst'; it has past, x; did you mean 'past'?


@I.ir_module(ssa=True)
class Module:
    @R.function
    def main(past: R.Tensor(("p", 4), "float32"), x: R.Tensor(("s", 4), "float32")) -> R.Tensor(
        ("p + s", 4), "float32"
    ):
        # Rows before those that there are.
        # expected-error @+1 {{argument 'past' cannot grow in place: exactly one concat(argument, new) must extend it, found 0}}
        return R.concat((x, past), axis=0)


# -----
@I.ir_module(ssa=True)
class Twice:
    @R.function
    def main(past: R.Tensor(("p", 4), "float32"), x: R.Tensor(("s", 4), "float32")) -> R.Tensor((), "float32"):
        one = R.concat((past, x), axis=0)
        # expected-error @+1 {{argument 'past' cannot grow in place: exactly one concat(argument, new) must extend it, found 2}}
        other = R.concat((past, one), axis=0)
        return R.sum(other)


# -----
@I.ir_module(ssa=True)
class Number:
    @R.function
    def main(past: R.Tensor((3, 4), "float32"), x: R.Tensor(("s", 4), "float32")) -> R.Tensor(("s + 3", 4), "float32"):
        # expected-error @+1 {{argument 'past' cannot grow in place: its length along axis 0, 3, is not a symbol}}
        return R.concat((past, x), axis=0)


# -----
@I.ir_module(ssa=True)
class Expression:
    @R.function
    def main(past: R.Tensor(("p", 4), "float32"), x: R.Tensor(("2*s", 4), "float32")) -> R.Tensor(
        ("p + 2*s", 4), "float32"
    ):
        # expected-error @+1 {{the number of new rows, 2*s, is neither a number nor a symbol}}
        return R.concat((past, x), axis=0)


# -----
@I.ir_module(ssa=True)
class Unknown:
    @R.function
    def main(past: R.Tensor(("p", 4), "float32"), x: R.Tensor(("s", 4), "int64")) -> R.Tensor((), "float32"):
        some: R.Tensor(("n", 4), "float32") = R.call_pure_packed(
            func="some.rows", args=(x,), out_sinfo=R.Tensor(("n", 4), "float32")
        )
        # expected-error @+1 {{no other argument determines the number of new rows: n is not a size of any}}
        return R.sum(R.concat((past, some), axis=0))


# -----
@I.ir_module(ssa=True)
class Lengths:
    @R.function
    def main(
        past: R.Tensor(("p", 4), "float32"), past_2: R.Tensor(("q", 4), "float32"), x: R.Tensor(("s", 4), "float32")
    ) -> R.Tuple(R.Tensor(("p + s", 4), "float32"), R.Tensor(("q + s", 4), "float32")):
        one = R.concat((past, x), axis=0)
        # expected-error @+1 {{argument 'past_2' cannot grow in place: it has q rows, 'past' has p: arguments that grow together must have one length}}
        return one, R.concat((past_2, x), axis=0)


# -----
@I.ir_module(ssa=True)
class Lists:
    # expected-error @+2 {{@main takes or returns lists: only separate arguments can grow in place}}
    @R.function(attrs={"relax.input_groups": [{"kind": "list", "name": "all", "size": 2}]})
    def main(past: R.Tensor(("p", 4), "float32"), x: R.Tensor(("s", 4), "float32")) -> R.Tensor(
        ("p + s", 4), "float32"
    ):
        return R.concat((past, x), axis=0)
