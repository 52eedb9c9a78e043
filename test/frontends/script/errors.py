# RUN: not relax-opt %s 2>&1 | FileCheck %s
# ruff: noqa: F821
from relax_mlir.script import relax as R


# CHECK: errors.py:9:12: R has no 'nn.sofmax'; did you mean 'nn.softmax'?
@R.function
def main(x: R.Tensor((4, 4), "float32")):
    return R.nn.sofmax(x)


# CHECK-NEXT: return R.nn.sofmax(x)
# CHECK-NEXT: ^
