# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --relax-inline='max-ops=5' --verify-diagnostics
# RUN: relax-opt %s --relax-inline='max-ops=6' --print-script | FileCheck %s
"""Functions that call each other twice grow by powers of two."""

from relax_mlir.script import ir as I, relax as R, tir as T


@I.ir_module(ssa=True)
class Module:
    @R.function(private=True)
    def one(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        e = R.exp(x)
        return e

    @R.function(private=True)
    def two(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = cls.one(x)
        return y

    # CHECK-LABEL: def main(
    # CHECK-NEXT: e: {{.*}} = R.exp(x)
    # CHECK-NEXT: e_1: {{.*}} = R.exp(e)
    # CHECK-NEXT: return e_1
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = cls.two(x)
        # expected-error @+1 {{inlining @two adds more than 5 operations in total (max-ops)}}
        z = cls.two(y)
        return z
