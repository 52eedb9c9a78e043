# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Of a codegen that is separate each match is a part, which gets its constants as inputs.
# RUN: env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=separate_codegen --relax-partition=codegens=library --print-script | FileCheck %s
from relax_mlir.script import ir as I, relax as R


@I.ir_module(ssa=True)
class Module:
    # CHECK: class fused_matmul_library:
    # CHECK: R.matmul(y, y_1)
    # CHECK: class fused_nn_softmax_library:
    # CHECK: R.nn.softmax(
    # CHECK: def main(
    # CHECK: R.call_external(
    # CHECK: args=(x, R.const(
    # CHECK: @fused_matmul_library
    # CHECK: R.call_external(
    # CHECK: @fused_nn_softmax_library
    @R.function
    def main(x: R.Tensor((4, 2), "float32")) -> R.Tensor((4, 4), "float32"):
        y = R.matmul(x, R.const([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]], "float32"))
        z = R.nn.softmax(y, axis=-1)
        return z
