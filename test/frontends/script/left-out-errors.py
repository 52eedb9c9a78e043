# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --split-input-file --verify-diagnostics
from relax_mlir.script import ir as I, relax as R, tir as T


@I.ir_module(ssa=True)
class NoType:
    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((3,), "float32")):
        # expected-error @+1 {{relax.add: operand 'x2' (tensor<3xf32>) does not broadcast with the operands before it}}
        z = R.add(x, y)
        return


# -----


@I.ir_module(ssa=True)
class NoRule:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        # expected-error @+1 {{the type of the result is missing: R.match_cast(..., out_sinfo=}}
        y = R.match_cast(x)
        return


# -----


@I.ir_module(ssa=True)
class Call:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        # expected-error @+1 {{a function is called by position: cls.f(x, y)}}
        cls.main(x=x)
        return


# -----


@I.ir_module(ssa=True)
class One:
    pass


# expected-error @+2 {{a script must be one module; relax-opt --split-input-file reads several, separated by # -----}}
@I.ir_module(ssa=True)
class Two:
    pass
