# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Matches of a codegen's patterns become functions. The codegen is Inputs/sample_codegen.py.
# RUN: env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=sample_codegen --relax-fuse-ops-by-pattern=codegen=sample --print-script | FileCheck %s
# RUN: env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=sample_codegen --relax-fuse-ops-by-pattern='codegen=sample bind-constants=false' --print-script | FileCheck %s --check-prefix=PASSED
# RUN: env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=sample_codegen --relax-fuse-ops-by-pattern='codegen=sample annotate-codegen' --print-script | FileCheck %s --check-prefix=AROUND
# RUN: not env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=sample_codegen --relax-fuse-ops-by-pattern=codegen=simple 2>&1 | FileCheck %s --check-prefix=UNKNOWN
# UNKNOWN: error: unknown codegen 'simple'; did you mean 'sample'? (registered: {{.*}}sample{{.*}})
from relax_mlir.script import ir as I, relax as R


@I.ir_module(ssa=True)
class Module:
    # The longest match of a pattern, with its constants; dynamic sizes stay. Values have the pattern's names: the first
    # one is the argument, then comes the constant w.
    # CHECK: @R.function(named=False, private=True, attrs={"relax.composite": "sample.linear",
    # CHECK-SAME: "relax.pattern": {"names": {"w": ["0.1"]}, "operations": ["relax.matmul", "relax.nn.relu"], "reads": ["%0", "0.1"]}})
    # CHECK-NEXT: def fused_matmul_nn_relu(
    # CHECK-SAME: R.Tensor(("n", 2), "float32")) ->
    # CHECK: R.matmul(
    # CHECK: R.nn.relu(
    # CHECK: attrs={"relax.composite": "sample.softmax"
    # CHECK-NEXT: def fused_nn_softmax(

    # Constants are arguments, in the order of reading.
    # PASSED: "names": {"w": ["%1"]}
    # PASSED: def fused_matmul_nn_relu(
    # PASSED-NEXT: R.Tensor(("n", 2), "float32"),
    # PASSED-NEXT: R.Tensor((2, 4), "float32")

    # AROUND: def fused_matmul_nn_relu(
    # AROUND: attrs={"relax.codegen": "sample"})
    # AROUND-NEXT: def fused_matmul_nn_relu_sample(
    # AROUND-NEXT: cls.fused_matmul_nn_relu(
    # AROUND: def main(
    # AROUND: cls.fused_matmul_nn_relu_sample(

    # A match that the check refuses stays: three columns.
    # CHECK: def main(
    # CHECK: y = cls.fused_matmul_nn_relu(x)
    # CHECK-NEXT: z = cls.fused_nn_softmax(y)
    # CHECK-NEXT: narrow: R.Tensor(("n", 3), "float32") = R.matmul(
    @R.function
    def main(
        x: R.Tensor(("n", 2), "float32"),
    ) -> R.Tuple(R.Tensor(("n", 4), "float32"), R.Tensor(("n", 3), "float32")):
        y = R.nn.relu(R.matmul(x, R.const([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]], "float32")))
        z = R.nn.softmax(y, axis=-1)
        narrow = R.matmul(x, R.const([[1.0, 2.0, 3.0], [5.0, 6.0, 7.0]], "float32"))
        return z, narrow
