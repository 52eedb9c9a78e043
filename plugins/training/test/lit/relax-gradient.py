# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-gradient='function=loss wrt=w' --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --relax-gradient='function=loss' --print-script | FileCheck %s --check-prefix=ALL
# RUN: graphs %s | relax-opt - --relax-gradient='function=several target-index=1 wrt=b,x' --print-script | FileCheck %s --check-prefix=SEVERAL
# RUN: graphs %s | relax-opt - --relax-gradient='function=calls' --print-script | FileCheck %s --check-prefix=CALLS
# RUN: graphs %s | relax-opt - --relax-gradient='function=middle' --print-script | FileCheck %s --check-prefix=PUBLIC
# RUN: graphs %s | relax-opt - --relax-gradient='function=loss wrt=w' --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s --check-prefix=LOC
# Apache TVM: test_transform_gradient.py.

# The function stays unchanged. The new function follows it, with its operators and then their gradients.
# CHECK-LABEL: def loss(
# CHECK: return mean
# CHECK-LABEL: def loss_adjoint(
# CHECK-NEXT: x: R.Tensor(("n", 4), "float32"),
# CHECK-NEXT: w: R.Tensor((4, 3), "float32"),
# CHECK-NEXT: labels: R.Tensor(("n", 3), "int64"),
# CHECK-NEXT: ) -> R.Tuple(R.Tensor((), "float32"), R.Tensor((4, 3), "float32")):
# CHECK-NEXT: y: {{.*}} = R.matmul(x, w)
# CHECK-NEXT: t: {{.*}} = R.astype(labels, dtype="float32")
# CHECK-NEXT: d: {{.*}} = R.subtract(y, t)
# CHECK-NEXT: s: {{.*}} = R.square(d)
# CHECK-NEXT: mean: {{.*}} = R.sum(s)
# CHECK-NEXT: = R.ones_like(mean)
# CHECK: mean_2: {{.*}} = R.broadcast_to(mean_1, ("n", 3))
# CHECK-NEXT: s_1: {{.*}} = R.multiply(R.const(2.0, "float32"), d)
# CHECK-NEXT: s_2: {{.*}} = R.multiply(mean_2, s_1)
# CHECK-NEXT: y_1: {{.*}} = R.permute_dims(x, axes=(1, 0))
# CHECK-NEXT: y_2: {{.*}} = R.matmul(y_1, s_2)
# CHECK-NEXT: return mean, y_2
# Without names all that are floats: labels are not.
# ALL-LABEL: def loss_adjoint(
# ALL: ) -> R.Tuple(R.Tensor((), "float32"), R.Tensor(("n", 4), "float32"), R.Tensor((4, 3), "float32")):
# Backward operators have the locations of the operators that they differentiate.
# LOC-LABEL: func.func @loss_adjoint(
# LOC: "relax.permute_dims"{{.*}} loc("y"(
def loss(x: f32[n, 4], w: f32[4, 3], labels: i64[n, 3]) -> f32:
    y = R.matmul(x, w)
    t = R.astype(labels, dtype="float32")
    d = R.subtract(y, t)
    s = R.square(d)
    mean = R.sum(s)
    return mean


# One of several results is differentiated, with gradients in the order of the names. Independent parameters have
# zeros; effects happen once.
# SEVERAL-LABEL: def several_adjoint(
# SEVERAL: ) -> R.Tuple(R.Tensor((2,), "float64"), R.Tensor((), "float64"), R.Tensor((), "float64"), R.Tensor((2,), "float64")):
# SEVERAL-NEXT: e: {{.*}} = R.exp(x)
# SEVERAL-NEXT: R.print((e,))
# SEVERAL-NOT: R.print(
# SEVERAL: [[ZERO:[a-z_0-9]+]]: R.Tensor((), "float64") = R.zeros_like(b)
# SEVERAL: return e, total, [[ZERO]],
def several(x: f64[2], b: f64) -> R.Tuple(f64[2], f64):
    e = R.exp(x)
    R.print(e)
    total = R.sum(e)
    return e, total


# Calls are bodies in the new function, and calls elsewhere. It is there to be called: no private one.
# PUBLIC: @R.function(private=True)
# PUBLIC-NEXT: def middle(
# PUBLIC: @R.function{{$}}
# PUBLIC-NEXT: def middle_adjoint(
# CALLS-LABEL: def leaf(
# CALLS-LABEL: def middle(
# CALLS: cls.leaf(
# CALLS-LABEL: def calls(
# CALLS: cls.middle(x)
# CALLS-LABEL: def calls_adjoint(
# CALLS-NOT: cls.
# CALLS: R.exp(x)
# CALLS-NOT: cls.
# CALLS: return
def leaf(x: f32[4]) -> f32[4]:
    e = R.exp(x)
    return e


@R.function(private=True)
def middle(x: f32[4]) -> f32:
    y = cls.leaf(x)
    s = R.sum(y)
    return s


def calls(x: f32[4]) -> f32:
    s = cls.middle(x)
    return s
