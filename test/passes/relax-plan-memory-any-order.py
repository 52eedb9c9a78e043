# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --pass-pipeline='relax-legalize-ops,tir-bufferize,relax-plan-memory' --print-script | FileCheck %s
# RUN: relax-opt %s --pass-pipeline='relax-legalize-ops,tir-bufferize,relax-plan-memory{any-order=true}' --print-script | FileCheck %s --check-prefix=ANY
"""Where kernels' points run in any order, a result lies over an operand only where each point reads what it writes."""

from relax_mlir.script import ir as I, relax as R


@I.ir_module(ssa=True)
class Ordered:
    # A softmax reads all of a row before it writes it, one operation after the other; a GPU may do both at once.
    # CHECK: cls.nn_softmax, (a,), attrs={"relax.memory": ["operand 0;
    # CHECK: cls.negative, (b,), attrs={"relax.memory": ["operand 0;
    # ANY: cls.nn_softmax, (a,), attrs={"relax.memory": ["arena
    # ANY: cls.negative, (b,), attrs={"relax.memory": ["operand 0;
    @R.function
    def main(x: R.Tensor((8, 64), "float32")) -> R.Tensor((64, 8), "float32"):
        a = R.exp(x)
        b = R.nn.softmax(a, axis=-1)
        c = R.negative(b)
        return R.permute_dims(c, axes=[1, 0])
