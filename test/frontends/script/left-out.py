# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --print-script -o %t.py && relax-opt %t.py --print-script | FileCheck %s
"""Optional parts of IR: types that can be inferred, and names of unused values."""


# CHECK-LABEL: def types(
# CHECK-NEXT: negative_0: R.Tensor(("n", 4), "float32") = R.negative(x)
# CHECK-NEXT: y: R.Tensor(("n", 4), "float32") = R.exp(negative_0)
# CHECK-NEXT: R.print((y,))
# CHECK-NEXT: abs_0: R.Tensor(("n", 4), "float32") = R.abs(y)
# CHECK-NEXT: unknown: R.Tensor(("?", 4), "float32") = R.exp(y)
# CHECK-NEXT: split_0, split_1 = R.split(
# CHECK: return y
def types(x: f32[n, 4]) -> f32[n, 4]:
    y = R.exp(R.negative(x))
    R.print((y,))
    R.abs(y)
    unknown: f32["?", 4] = R.exp(y)
    left, right = R.split(y, 2, axis=1)
    return y


# A call has attributes like any operation. The result of an `if` has the name that both sides assign.
# CHECK-LABEL: def calls(
# CHECK: if c:
# CHECK-NEXT: y_1 = cls.types(x, attrs={"note": "here"})
# CHECK-NEXT: y = y_1
# CHECK: return y
def calls(c: T.bool, x: f32[n, 4]) -> f32[n, 4]:
    if c:
        y = cls.types(x, attrs={"note": "here"})
    else:
        y = x
    return y


# CHECK-LABEL: def views(
# CHECK: C = tensor.expand_shape(A, [n, 4], R.Tensor(("?", 4), "float32"), reassociation={{.*}}0, 1]])
def views(A: f32["?"], n: T.index) -> f32["?", 4]:
    C = tensor.expand_shape(A, [n, 4], R.Tensor(("?", 4), "float32"), reassociation=[[0, 1]])
    return C
