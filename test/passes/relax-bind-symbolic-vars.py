# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --relax-bind-symbolic-vars='vars=n:8' --print-script | FileCheck %s
# RUN: relax-opt %s --relax-bind-symbolic-vars='vars=n:8,m:3' --print-script | FileCheck %s --check-prefix=ALL
# RUN: relax-opt %s --relax-bind-symbolic-vars='vars=n:1..64,m:3..3' --print-script | FileCheck %s --check-prefix=RANGE
# RUN: relax-opt %s --relax-bind-symbolic-vars='vars=n:1..64' --relax-bind-symbolic-vars='vars=n:8..100,m:0..5' --print-script | FileCheck %s --check-prefix=BOTH
# RUN: relax-opt %s --relax-bind-symbolic-vars='vars=n:1..64' --relax-bind-symbolic-vars='vars=n:8' --print-script | FileCheck %s
# RUN: relax-opt %s --relax-bind-symbolic-vars='function=other vars=n:5' --print-script | FileCheck %s --check-prefix=OTHER
# RUN: not relax-opt %s --relax-bind-symbolic-vars='vars=n:1..64' --relax-bind-symbolic-vars='vars=n:65' 2>&1 | FileCheck %s --check-prefix=ABOVE
# RUN: not relax-opt %s --relax-bind-symbolic-vars='vars=n:1..64' --relax-bind-symbolic-vars='vars=n:65..70' 2>&1 | FileCheck %s --check-prefix=APART
# RUN: not relax-opt %s --relax-bind-symbolic-vars='vars=n:8,n:9' 2>&1 | FileCheck %s --check-prefix=TWICE
# RUN: not relax-opt %s --relax-bind-symbolic-vars='vars=batches:8' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
# RUN: not relax-opt %s --relax-bind-symbolic-vars='vars=n:-1' 2>&1 | FileCheck %s --check-prefix=NEGATIVE
# RUN: not relax-opt %s --relax-bind-symbolic-vars='vars=n:8..' 2>&1 | FileCheck %s --check-prefix=OPEN
# RUN: not relax-opt %s --relax-bind-symbolic-vars='vars=n:9..8' 2>&1 | FileCheck %s --check-prefix=BACKWARDS
# RUN: not relax-opt %s --relax-bind-symbolic-vars='vars=n:3 function=mian' 2>&1 | FileCheck %s --check-prefix=NO-FUNCTION
# RUN: not relax-opt %s --relax-bind-symbolic-vars='vars=n:3 function=callee' 2>&1 | FileCheck %s --check-prefix=CALLED
# RUN: not relax-opt %s --relax-bind-symbolic-vars='vars=n:3 function=caller' 2>&1 | FileCheck %s --check-prefix=CALLS
"""Situations of Apache TVM's test_transform_bind_symbolic_vars.py."""

from relax_mlir.script import ir as I, relax as R, tir as T

# ABOVE: pass 'relax-bind-symbolic-vars': 'n' cannot be 65: @main allows 1..64
# APART: pass 'relax-bind-symbolic-vars': 'n' cannot be 65..70: @main allows 1..64
# TWICE: pass 'relax-bind-symbolic-vars': option 'vars' names 'n' twice
# UNKNOWN: pass 'relax-bind-symbolic-vars': @main has no symbolic size 'batches'; it has: batch, m, n; did you mean 'batch'?
# NEGATIVE: pass 'relax-bind-symbolic-vars': vars=n:-1: expected a size like 8, or a range like 1..64
# OPEN: pass 'relax-bind-symbolic-vars': vars=n:8..: expected a size like 8, or a range like 1..64
# BACKWARDS: pass 'relax-bind-symbolic-vars': vars=n:9..8: sizes are from 0 to 2**63 - 1, the smallest first
# NO-FUNCTION: pass 'relax-bind-symbolic-vars': there is no graph function @mian with a body; there are: @main, @other, @caller, @callee; did you mean 'main'?
# CALLS: relax-bind-symbolic-vars.py:{{[0-9]+:[0-9]+}}: error: pass 'relax-bind-symbolic-vars': 'func.call' states n by operands: inline it first (relax-inline)
# CALLED: relax-bind-symbolic-vars.py:{{[0-9]+:[0-9]+}}: error: pass 'relax-bind-symbolic-vars': @callee is called here with its present parameters: inline it first (relax-inline)


@I.ir_module(ssa=True)
class Module:
    # In types, in shapes, in bounds of slices, in numbers and in regions. The n of another function is a different
    # symbol.
    # CHECK-LABEL: @R.function
    # CHECK-NEXT: def main(
    # CHECK-NEXT: x: R.Tensor((8, "2*m"), "float32"),
    # CHECK-NEXT: s: R.Shape((8, "m")),
    # CHECK-NEXT: b: R.Tensor(("batch",), "float32"),
    # CHECK: twice: R.Tensor((8, "4*m"), "float32") = R.concat((x, x), axis=1)
    # CHECK: flat: R.Tensor(("32*m",), "float32") = R.reshape(twice, ("32*m",))
    # CHECK: part: R.Tensor(("max(32*m - 8, 0)",), "float32") = R.strided_slice(
    # CHECK-NEXT: flat, axes=(0,), begin=(8,), end=("32*m",),
    # CHECK: if c:
    # CHECK: R.Tensor((8, "2*m"), "float32") = R.exp(x)
    # CHECK: def other(x: R.Tensor(("n",)

    # ALL-LABEL: @R.function
    # ALL-NEXT: def main(
    # ALL-NEXT: x: R.Tensor((8, 6), "float32"),
    # ALL: part: R.Tensor((88,), "float32") = R.strided_slice(flat, axes=(0,), begin=(8,), end=(96,))

    # A range keeps sizes symbolic: the function states its range. A range of a single size becomes that size.
    # RANGE-LABEL: @R.function(attrs={"relax.symbol_ranges": {"n": (1, 64)}})
    # RANGE-NEXT: def main(
    # RANGE-NEXT: x: R.Tensor(("n", 6), "float32"),
    # BOTH-LABEL: @R.function(attrs={"relax.symbol_ranges": {"m": (0, 5), "n": (8, 64)}})

    # OTHER-LABEL: def main(
    # OTHER-NEXT: x: R.Tensor(("n", "2*m"), "float32"),
    # OTHER-LABEL: def other(x: R.Tensor((5,), "float32")) -> R.Tensor((5,), "float32"):
    @R.function
    def main(
        x: R.Tensor(("n", "2*m"), "float32"), s: R.Shape(("n", "m")), b: R.Tensor(("batch",), "float32"), c: T.bool
    ) -> R.Tuple(R.Tensor(("max(4*m*n - n, 0)",), "float32"), R.Tensor(("n", "2*m"), "float32")):
        twice = R.concat([x, x], axis=1)
        flat = R.reshape(twice, R.shape(["4*m*n"]))
        part = R.strided_slice(flat, axes=[0], begin=["n"], end=["4*m*n"])
        if c:
            r = R.exp(x)
        else:
            r = R.negative(x)
        return part, r

    @R.function
    def other(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        return R.exp(x)

    @R.function
    def caller(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        y = cls.callee(x)
        return y

    @R.function(private=True)
    def callee(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        return R.negative(x)
