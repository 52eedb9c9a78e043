# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-canonicalize --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --pass-pipeline='builtin.module(func.func(relax-canonicalize))' --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --relax-canonicalize --relax-canonicalize --print-script | FileCheck %s
"""Canonicalization.

Its rules have tests by family: relax-canonicalize-elementwise.py, -dimensions.py, -shapes.py, -constants.py.
Tests in test/python/passes compare the results to the last bit. Situations of Apache TVM's
test_transform_canonicalize_bindings.py.
"""


# Attributes that equal their defaults say nothing; axis = 1 does.
# CHECK-LABEL: def defaults(
# CHECK: rows: {{.*}} = R.concat((a, a))
# CHECK-NEXT: columns: {{.*}} = R.concat((a, a), axis=1)
# CHECK-NEXT: y: {{.*}} = R.nn.conv2d(x, w, padding=(1, 1, 1, 1), attrs={"mynpu.tag": 7})
# CHECK-NEXT: sums: {{.*}} = R.sum(a, axis=(0,))
def defaults(a: f32[2, 2], x: f32[1, 3, 8, 8], w: f32[4, 3, 3, 3]) -> R.Tuple(
    f32[4, 2], f32[2, 4], f32[1, 4, 8, 8], f32[2]
):
    rows = R.concat((a, a), axis=0)
    columns = R.concat((a, a), axis=1)
    y = R.nn.conv2d(x, w, strides=(1, 1), padding=(1, 1, 1, 1), groups=1, data_layout="NCHW", attrs={"mynpu.tag": 7})
    sums = R.sum(a, axis=(0,), keepdims=False)
    return rows, columns, y, sums


# Unused operations are removed unless they have an effect.
# CHECK-LABEL: def dead(
# CHECK-NEXT: R.print((a,))
# CHECK-NEXT: return
def dead(a: f32[2]):
    e = R.exp(a)
    R.print((a,))
    return


# Rules reach into control flow.
# CHECK-LABEL: def regions(
# CHECK-NEXT: if c:
# CHECK-NEXT: y = a
# CHECK-NEXT: else:
def regions(c: T.bool, a: f32[2]) -> f32[2]:
    if c:
        y = R.negative(R.negative(a))
    else:
        y = R.exp(a)
    return y


# A more precise operand must not change the stated type of a result.
# CHECK-LABEL: def stated_types(
# CHECK-NEXT: once: R.Tensor(("?",), "float32") = R.negative(a)
# CHECK-NEXT: twice: R.Tensor(("?",), "float32") = R.negative(once)
def stated_types(a: f32[2]) -> f32["?"]:
    once: f32["?"] = R.negative(a)
    twice: f32["?"] = R.negative(once)
    return twice
