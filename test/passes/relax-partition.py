# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Matches of codegens' patterns become external modules, in one pass.
# RUN: env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=sample_codegen --relax-partition=codegens=sample --print-script | FileCheck %s
# RUN: env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=sample_codegen --relax-partition='codegens=sample plan=cost' --print-script | FileCheck %s --check-prefix=COST
# RUN: not env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=sample_codegen --relax-partition='codegens=sample plan=coast' 2>&1 | FileCheck %s --check-prefix=PLAN
# PLAN: error: unknown planner 'coast'; did you mean 'cost'? (registered: cost, priority)
# RUN: not relax-opt %s --relax-partition 2>&1 | FileCheck %s --check-prefix=NONE
# NONE: error: pass 'relax-partition': codegens= names no codegen
# RUN: not env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=sample_codegen --relax-partition=codegens=sample,sample 2>&1 | FileCheck %s --check-prefix=TWICE
# TWICE: error: pass 'relax-partition': codegens= names 'sample' twice
# A part cannot have parts of another codegen.
# RUN: not env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=sample_codegen --pass-pipeline='builtin.module(relax-partition{codegens=sample},external(relax-inline{include-composites=true},relax-partition{codegens=c}))' 2>&1 | FileCheck %s --check-prefix=NESTED
# NESTED: relax-partition.py:{{.*}}: error: pass 'relax-outline-external': @fused_matmul_nn_relu_sample is a part of the codegen 'sample', and cannot have parts itself
from relax_mlir.script import ir as I, relax as R


@I.ir_module(ssa=True)
class Module:
    # CHECK: @I.ir_module(attrs={"relax.codegen": "sample"})
    # CHECK: def fused_matmul_nn_relu(
    # CHECK: def fused_nn_softmax(
    # CHECK: def main(
    # CHECK: R.call_external(
    # CHECK: R.matmul(
    # CHECK: return

    # For so little it does not pay to cross over and back.
    # COST-NOT: R.call_external
    # COST: return z, narrow
    @R.function
    def main(
        x: R.Tensor((4, 2), "float32"),
    ) -> R.Tuple(R.Tensor((4, 4), "float32"), R.Tensor((4, 3), "float32")):
        y = R.nn.relu(R.matmul(x, R.const([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]], "float32")))
        z = R.nn.softmax(y, axis=-1)
        narrow = R.matmul(x, R.const([[1.0, 2.0, 3.0], [5.0, 6.0, 7.0]], "float32"))
        return z, narrow
