# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-legalize-ops='unknown=leave' --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --relax-legalize-ops='unknown=leave skip-ops=relax.sin' --print-script | FileCheck %s --check-prefix=SKIP
# RUN: graphs %s | not relax-opt - --relax-legalize-ops 2>&1 | FileCheck %s --check-prefix=ERROR
"""Operators without a rule stay with unknown=leave, and otherwise are an error with the reason.

Situations of Apache TVM's test_transform_legalize_ops.py.
"""


# ERROR: error: {{.*}}legalization for target 'default' cannot convert 'relax.add' op
# ERROR: declined: the rank of an operand (tensor<*xf32>) is not known
# CHECK-LABEL: def main(
# CHECK: R.call_tir(cls.sin, (x,),
# CHECK: {{.*}} = R.add(y, y)
# SKIP-LABEL: def main(
# SKIP: {{.*}} = R.sin(x)
# SKIP-NEXT: R.call_tir(cls.exp,
def main(x: f32[4], y: R.Tensor("float32")) -> R.Tuple(f32[4], R.Tensor("float32")):
    s = R.exp(R.sin(x))
    z = R.add(y, y)
    return s, z
