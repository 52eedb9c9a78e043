# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A table shows the operators of codegens, the declined ones, and why the others stayed; nothing else is written.
# RUN: env PYTHONPATH=%S/../passes/Inputs relax-compile %s --load-plugin=npu_codegen --partition=npu --explain-partition --no-cache -o %t.rxa 2>&1 | FileCheck %s
# CHECK: partition: 1 of 2 operators
# CHECK-NEXT: codegen  operators  parts  bytes in  bytes out  code{{ *}}patterns
# CHECK-NEXT: npu{{ *}}1{{ *}}1{{ *}}16 bytes  48 bytes{{ .*}}conv 1
# CHECK-NEXT: stayed{{ *}}node{{ *}}nearest pattern  why
# CHECK-NEXT: relax.nn.conv2d  small{{ *}}npu.conv{{ *}}relax.nn.conv2d: the unit has windows of 3
# CHECK-NOT: {{.}}
# RUN: env PYTHONPATH=%S/../passes/Inputs relax-compile %s --load-plugin=npu_codegen --partition='npu{refuse=fused_nn_conv2d_npu}' --no-cache -o %t.rxa 2>&1 | FileCheck %s --check-prefix=DECLINED
# DECLINED: partition: 0 of 2 operators, 1 part declined
# DECLINED: declined: npu, part fused_nn_conv2d_npu (large): was asked to refuse
# DECLINED-NOT: {{.}}
# RUN: env PYTHONPATH=%S/../passes/Inputs relax-compile %s --load-plugin=npu_codegen --partition='npu{refuse=fused_nn_conv2d_npu}' --explain-partition --no-cache -o %t.rxa 2>&1 | FileCheck %s --check-prefix=EXPLAINED
# EXPLAINED: stayed{{ *}}node{{ *}}nearest pattern  why
# EXPLAINED-DAG: relax.nn.conv2d  small{{ *}}npu.conv{{ *}}relax.nn.conv2d: the unit has windows of 3
# EXPLAINED-DAG: relax.nn.conv2d  large{{ *}}npu.conv{{ *}}matches, but codegen 'npu' declined it: was asked to refuse
# EXPLAINED-NOT: {{.}}
# RUN: not env PYTHONPATH=%S/../passes/Inputs relax-compile %s --load-plugin=npu_codegen --partition='npu{refuse=fused_nn_conv2d_npu}' --strict-partition --no-cache -o %t.rxa 2>&1 | FileCheck %s --check-prefix=STRICT
# STRICT: error: {{.*}}codegen 'npu' declined @fused_nn_conv2d_npu (large): was asked to refuse
# A missing requirement of a part on this machine is reported, or is an error, or is ignored if another machine runs the
# program.
# RUN: env PYTHONPATH=%S/../passes/Inputs relax-compile %s --load-plugin=npu_codegen --partition='npu{needs=driver7}' -o %t.rxa 2>&1 | FileCheck %s --check-prefix=MISSING
# RUN: env PYTHONPATH=%S/../passes/Inputs relax-compile %s --load-plugin=npu_codegen --partition='npu{needs=driver7}' -o %t.rxa 2>&1 | FileCheck %s --check-prefix=MISSING
# MISSING: partition: 1 of 2 operators
# MISSING: cannot run here: npu, part fused_nn_conv2d_npu (large): it needs driver7
# MISSING-NOT: {{.}}
# RUN: not env PYTHONPATH=%S/../passes/Inputs relax-compile %s --load-plugin=npu_codegen --partition='npu{needs=driver7}' --strict-partition -o %t.rxa 2>&1 | FileCheck %s --check-prefix=LACKS
# LACKS: error: {{.*}}codegen 'npu' declined @fused_nn_conv2d_npu (large): this machine cannot run it: it needs driver7
# RUN: env PYTHONPATH=%S/../passes/Inputs relax-compile %s --load-plugin=npu_codegen --partition='npu{needs=driver7}' --strict-partition --partition-elsewhere -o %t.rxa 2>&1 | FileCheck %s --check-prefix=ELSEWHERE
# ELSEWHERE: partition: 1 of 2 operators
# ELSEWHERE-NOT: driver7
# RUN: not relax-compile %s --explain-partition -o %t.rxa 2>&1 | FileCheck %s --check-prefix=ALONE
# ALONE: error: --explain-partition is for external codegens: --partition=<codegens> names some
# RUN: not relax-compile %s --partition=onnxrutime -o %t.rxa 2>&1 | FileCheck %s --check-prefix=UNKNOWN
# UNKNOWN: error: unknown codegen 'onnxrutime'; did you mean 'onnxruntime'?
from relax_mlir.script import relax as R


@R.function
def main(x: R.Tensor((1, 1, 2, 2), "float32")):
    large = R.nn.conv2d(x, R.const([[[[1.0]]], [[[0.5]]], [[[0.0]]]], "float32"))
    small = R.nn.conv2d(large, R.const([[[[2.0]], [[1.0]], [[0.0]]]], "float32"))
    return small
