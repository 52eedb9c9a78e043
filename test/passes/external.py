# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Passes on the functions of a single codegen (external{...}); other passes skip them. During compilation the kernels of
# its convolutions change from HWIO to OHWI; other kernels do not.
# RUN: env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=npu_codegen --pass-pipeline='builtin.module(relax-partition{codegens=npu},external{codegen=npu}(relax-convert-layout{desired=relax.nn.conv2d:NHWC,OHWI},relax-fold-constant))' --print-script | FileCheck %s
# RUN: env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=npu_codegen --pass-pipeline='builtin.module(relax-partition{codegens=npu},relax-convert-layout{desired=relax.nn.conv2d:NHWC,OHWI},relax-fold-constant)' --print-script | FileCheck %s --check-prefix=OTHERS
# RUN: env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=npu_codegen --pass-pipeline='builtin.module(relax-partition{codegens=npu},external{codegen=dnnl}(relax-inline),external{symbol=nothing}(relax-inline),func.func(cse),builtin.module(relax-inline))' --print-script | FileCheck %s --check-prefix=NOBODY
# Upstream's passes keep functions that are called in an external module.
# RUN: env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=npu_codegen --pass-pipeline='builtin.module(relax-partition{codegens=npu},symbol-dce)' --print-script | FileCheck %s --check-prefix=NOBODY
# RUN: not env PYTHONPATH=%S/Inputs relax-opt %s --pass-pipeline='builtin.module(external{codegen=npu}(func.func(relax-inline)))' 2>&1 | FileCheck %s --check-prefix=ANCHOR
# ANCHOR: error: pass 'relax-inline' runs on builtin.module, not on func.func
# Selections that cannot match are refused: unknown options, and codegens that neither exist nor have a part.
# RUN: not relax-opt %s --pass-pipeline='builtin.module(external{codegn=npu}(cse))' 2>&1 | FileCheck %s --check-prefix=OPTION
# OPTION: error: external has no option 'codegn'; did you mean 'codegen'? (it takes codegen, symbol, and attributes such as mynpu.unit)
# RUN: not relax-opt %s --pass-pipeline='builtin.module(external{codegen}(cse))' 2>&1 | FileCheck %s --check-prefix=VALUE
# VALUE: error: external: option 'codegen' needs a value, like codegen=...
# RUN: not env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=npu_codegen --pass-pipeline='builtin.module(relax-partition{codegens=npu},external{codegen=nup}(cse))' 2>&1 | FileCheck %s --check-prefix=CODEGEN
# CODEGEN: error: external: unknown codegen 'nup'; did you mean 'npu'? (there are {{.*}}dnnl, {{.*}}npu{{.*}})
# A part remains if its codegen is not registered here.
# RUN: env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=npu_codegen --relax-partition=codegens=npu -o %t.mlir
# RUN: relax-opt %t.mlir --pass-pipeline='builtin.module(external{codegen=npu}(relax-inline{include-composites=true}))' --print-script | FileCheck %s --check-prefix=STANDS
# STANDS: class fused_nn_conv2d_npu
# STANDS-NOT: cls.fused_nn_conv2d(
# STANDS: def main(
from relax_mlir.script import ir as I, relax as R


@I.ir_module(ssa=True)
class Module:
    # CHECK: @I.ir_module(attrs={"relax.codegen": "npu"})
    # CHECK: R.nn.conv2d(
    # CHECK-NEXT: kernel_layout="OHWI"
    # CHECK-NOT: permute
    # CHECK: def main(
    # CHECK-NOT: I.const
    # CHECK: R.call_external(
    # CHECK: R.nn.conv2d(
    # CHECK-NEXT: kernel_layout="HWIO"
    # OTHERS: class fused_nn_conv2d_npu
    # OTHERS: kernel_layout="HWIO"
    # OTHERS: def main(
    # OTHERS: kernel_layout="OHWI"
    # NOBODY: class fused_nn_conv2d_npu
    # NOBODY: cls.fused_nn_conv2d(
    @R.function
    def main(x: R.Tensor(("n", 8, 8, 2), "float32")) -> R.Tensor(("n", 6, 6, 1), "float32"):
        large = R.nn.conv2d(
            x,
            R.const(
                [
                    [[[0.0, 1.0], [2.0, 3.0]], [[4.0, 5.0], [6.0, 0.0]], [[1.0, 2.0], [3.0, 4.0]]],
                    [[[5.0, 6.0], [0.0, 1.0]], [[2.0, 3.0], [4.0, 5.0]], [[6.0, 0.0], [1.0, 2.0]]],
                    [[[3.0, 4.0], [5.0, 6.0]], [[0.0, 1.0], [2.0, 3.0]], [[4.0, 5.0], [6.0, 0.0]]],
                ],
                "float32",
            ),
            data_layout="NHWC",
            kernel_layout="HWIO",
        )
        small = R.nn.conv2d(large, R.const([[[[0.0], [1.0]]]], "float32"), data_layout="NHWC", kernel_layout="HWIO")
        return small
