# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --relax-donate='args=past*' --split-input-file --verify-diagnostics
# RUN: not relax-opt %s --relax-donate='args=pst' --split-input-file 2>&1 | FileCheck %s
"""Arguments that cannot grow in place."""

from relax_mlir.script import ir as I, relax as R

# CHECK: pass 'relax-donate': @main has no argument 'pst'; it has past, x; did you mean 'past'?


@I.ir_module(ssa=True)
class Module:
    # expected-error @+2 {{argument 'past' cannot grow in place: one concat(argument, new) has to continue it, and 0 do}}
    @R.function
    def main(past: R.Tensor(("p", 4), "float32"), x: R.Tensor(("s", 4), "float32")) -> R.Tensor(("p + s", 4), "float32"):
        # Rows before those that there are.
        return R.concat((x, past), axis=0)


# -----
@I.ir_module(ssa=True)
class Twice:
    @R.function
    def main(past: R.Tensor(("p", 4), "float32"), x: R.Tensor(("s", 4), "float32")) -> R.Tensor((), "float32"):
        # expected-error @+1 {{argument 'past' cannot grow in place: one concat(argument, new) has to continue it, and 2 do}}
        one = R.concat((past, x), axis=0)
        other = R.concat((past, one), axis=0)
        return R.sum(other)


# -----
@I.ir_module(ssa=True)
class Number:
    @R.function
    def main(past: R.Tensor((3, 4), "float32"), x: R.Tensor(("s", 4), "float32")) -> R.Tensor(("s + 3", 4), "float32"):
        # expected-error @+1 {{argument 'past' cannot grow in place: its length along axis 0, 3, is no symbol}}
        return R.concat((past, x), axis=0)


# -----
@I.ir_module(ssa=True)
class Expression:
    @R.function
    def main(past: R.Tensor(("p", 4), "float32"), x: R.Tensor(("2*s", 4), "float32")) -> R.Tensor(("p + 2*s", 4), "float32"):
        # expected-error @+1 {{how many rows are new, 2*s, is neither a number nor a symbol}}
        return R.concat((past, x), axis=0)


# -----
@I.ir_module(ssa=True)
class Untold:
    @R.function
    def main(past: R.Tensor(("p", 4), "float32"), x: R.Tensor(("s", 4), "float32")) -> R.Tensor(("p + n", 4), "float32"):
        some = R.match_cast(R.unique(R.reshape(x, (-1,)), sorted=True, return_index=False, return_inverse=False, return_counts=False), R.Tensor(("n",), "float32"))
        rows = R.broadcast_to(R.expand_dims(some, axis=(1,)), ("n", 4))
        # expected-error @+1 {{no other argument tells how many rows are new: n is no size of one}}
        return R.concat((past, rows), axis=0)


# -----
@I.ir_module(ssa=True)
class Lengths:
    @R.function
    def main(
        past: R.Tensor(("p", 4), "float32"), past_2: R.Tensor(("q", 4), "float32"), x: R.Tensor(("s", 4), "float32")
    ) -> R.Tuple(R.Tensor(("p + s", 4), "float32"), R.Tensor(("q + s", 4), "float32")):
        one = R.concat((past, x), axis=0)
        # expected-error @+1 {{argument 'past_2' cannot grow in place: it has q rows, 'past' has p: what grows together has one length}}
        return one, R.concat((past_2, x), axis=0)


# -----
@I.ir_module(ssa=True)
class Lists:
    # expected-error @+2 {{@main takes or gives lists: only what is passed one by one grows in place}}
    @R.function(attrs={"relax.input_groups": [{"kind": "list", "name": "all", "size": 2}]})
    def main(past: R.Tensor(("p", 4), "float32"), x: R.Tensor(("s", 4), "float32")) -> R.Tensor(("p + s", 4), "float32"):
        return R.concat((past, x), axis=0)
