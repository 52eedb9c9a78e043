# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Composite functions of one codegen that hang together become one function that the codegen makes code of.
# RUN: relax-opt %s --relax-merge-composite-functions --print-script | FileCheck %s
# RUN: not relax-opt %s --relax-merge-composite-functions=entry-functions=mian 2>&1 | FileCheck %s --check-prefix=UNKNOWN
# UNKNOWN: error: pass 'relax-merge-composite-functions': there is no graph function @mian; did you mean 'main'?
from relax_mlir.script import ir as I, relax as R


@I.ir_module(ssa=True)
class Module:
    @R.function(private=True, attrs={"relax.composite": "npu.exp"})
    def exp(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        y = R.exp(x)
        return y

    @R.function(private=True, attrs={"relax.composite": "npu.add"})
    def add(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        z = R.add(x, y)
        return z

    @R.function(private=True, attrs={"relax.composite": "dsp.abs"})
    def absolute(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        y = R.abs(x)
        return y

    # Both calls, and what is between them for others as a second result.
    # CHECK: attrs={"relax.codegen": "npu"})
    # CHECK-NEXT: def exp_npu(
    # CHECK: a = cls.exp(
    # CHECK-NEXT: b = cls.add(a, a)
    # CHECK-NEXT: return a, b
    # CHECK: attrs={"relax.codegen": "dsp"})
    # CHECK-NEXT: def absolute_dsp(

    # The last sum needs the first function by another one's: it is a function of its own.
    # CHECK: attrs={"relax.codegen": "npu"})
    # CHECK-NEXT: def add_npu(

    # CHECK: def main(
    # CHECK: [[A:[a-z_0-9]+]], [[B:[a-z_0-9]+]] = cls.exp_npu(x)
    # CHECK-NEXT: c = cls.absolute_dsp([[B]])
    # CHECK-NEXT: d = cls.add_npu(c, [[A]])
    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        a = cls.exp(x)
        b = cls.add(a, a)
        c = cls.absolute(b)
        d = cls.add(c, a)
        return d
