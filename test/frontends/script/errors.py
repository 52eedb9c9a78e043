# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: not relax-opt %s 2>&1 | FileCheck %s
from relax_mlir.script import relax as R


# CHECK: errors.py:{{[0-9]+}}:12: error: R has no 'nn.sofmax'; did you mean 'nn.softmax'?
@R.function
def main(x: R.Tensor((4, 4), "float32")):
    return R.nn.sofmax(x)


# CHECK-NEXT: return R.nn.sofmax(x)
# CHECK-NEXT: ^
