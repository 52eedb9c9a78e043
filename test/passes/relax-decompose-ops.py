# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-decompose-ops --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --relax-decompose-ops='ops=nn.silu,relax.nn.softmax,nn.rms_norm,nn.conv1d_transpose' --print-script | FileCheck %s --check-prefix=LIST
# RUN: graphs %s | relax-opt - --relax-decompose-ops='mode=training' --print-script | FileCheck %s --check-prefix=TRAINED
# RUN: graphs %s | not relax-opt - --relax-decompose-ops='ops=nn.sofmax' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
"""Definitions of operators.

Their results are compared in test/python/passes/test_decompose_ops.py.
Counterpart in Apache TVM: test_transform_decompose_ops.py.
"""

# UNKNOWN: option 'ops': 'nn.sofmax' has no decomposition; did you mean 'relax.nn.softmax'? (operators with one:


# CHECK-LABEL: def batch_norm(
# CHECK: expand_dims_0: {{.*}} = R.expand_dims(gamma, axis=(1, 2))
# CHECK-NEXT: expand_dims_1: {{.*}} = R.expand_dims(beta, axis=(1, 2))
# CHECK-NEXT: expand_dims_2: {{.*}} = R.expand_dims(mean, axis=(1, 2))
# CHECK-NEXT: subtract_0: {{.*}} = R.subtract(x, expand_dims_2)
# CHECK-NEXT: expand_dims_3: {{.*}} = R.expand_dims(variance, axis=(1, 2))
# CHECK-NEXT: add_0: {{.*}} = R.add(expand_dims_3, R.const(
# CHECK-NEXT: rsqrt_0: {{.*}} = R.rsqrt(add_0)
# CHECK-NEXT: multiply_0: {{.*}} = R.multiply(subtract_0, rsqrt_0)
# CHECK-NEXT: multiply_1: {{.*}} = R.multiply(multiply_0, expand_dims_0)
# CHECK-NEXT: add_1: {{.*}} = R.add(multiply_1, expand_dims_1)
# CHECK-NEXT: return add_1, mean
# TRAINED-LABEL: def batch_norm(
# TRAINED: R.mean(x, axis=(0, 2, 3))
# TRAINED: R.multiply(mean, R.const(0.9
# TRAINED-NOT: R.nn.batch_norm
# LIST-LABEL: def batch_norm(
# LIST: R.nn.batch_norm(
def batch_norm(x: f32[n, 4, 8, 8], gamma: f32[4], beta: f32[4], mean: f32[4], variance: f32[4]) -> R.Tuple(
    f32[n, 4, 8, 8], f32[4]
):
    y, m, v = R.nn.batch_norm(x, gamma, beta, mean, variance, axis=1, training=False)
    return y, m


# Nothing is dropped, unless it is trained.
# CHECK-LABEL: def dropout(
# CHECK: ones_like_0: {{.*}} = R.ones_like(x)
# CHECK-NEXT: return x, ones_like_0
# TRAINED-LABEL: def dropout(
# TRAINED: R.nn.dropout(
def dropout(x: f32[4]) -> R.Tuple(f32[4], f32[4]):
    y, mask = R.nn.dropout(x, rate=0.5)
    return y, mask


# Half floats are computed with in f32, and rounded once.
# CHECK-LABEL: def listed(
# CHECK: R.nn.silu(x)
# LIST-LABEL: def listed(
# LIST: s: R.Tensor(("n", 8), "float32") = R.astype(x, dtype="float32")
# LIST-NEXT: s_1: {{.*}} = R.sigmoid(s)
# LIST-NEXT: s_2: {{.*}} = R.multiply(s, s_1)
# LIST-NEXT: s_3: R.Tensor(("n", 8), "float16") = R.astype(s_2, dtype="float16")
# LIST-NEXT: y: {{.*}} = R.astype(s_3, dtype="float32")
# LIST-NEXT: y_1: R.Tensor(("n", 1), "float32") = R.max(y, axis=(-1,), keepdims=True)
# LIST-NEXT: y_2: {{.*}} = R.subtract(y, y_1)
# LIST-NEXT: y_3: {{.*}} = R.exp(y_2)
# LIST-NEXT: y_4: {{.*}} = R.sum(y_3, axis=(-1,), keepdims=True)
# LIST-NEXT: y_5: {{.*}} = R.divide(y_3, y_4)
# LIST-NEXT: y_6: R.Tensor(("n", 8), "float16") = R.astype(y_5, dtype="float16")
# LIST-NEXT: return y_6
def listed(x: f16[n, 8]) -> f16[n, 8]:
    s = R.nn.silu(x)
    y = R.nn.softmax(s)
    return y


# Where a size might be 1 and grow, the operator itself has to look at it.
# LIST-LABEL: def unproven(
# LIST: R.nn.rms_norm(
def unproven(x: f32[n, m], w: f32[k]) -> f32[n, m]:
    y = R.nn.rms_norm(x, w)
    return y


# Users keep the stated type.
# LIST-LABEL: def stated(
# LIST: R.match_cast({{.*}}, out_sinfo=R.Tensor(("?", 8), "float32"))
def stated(x: f32[n, 8]) -> f32["?", 8]:
    y: f32["?", 8] = R.nn.softmax(x)
    return y


# Results at 2 * q and at 2 * q + 1 are two convolutions of two taps each, computed as one and dealt out.
# CHECK-LABEL: def transposed(
# CHECK: R.nn.conv1d_transpose(
# LIST-LABEL: def transposed(
# LIST: y: {{.*}} = R.reshape(w, (1, 3, 5, 2, 2))
# LIST-NEXT: y_1: {{.*}} = R.flip(y, axis=3)
# LIST-NEXT: y_2: R.Tensor((1, 5, 2, 3, 2), "float32") = R.permute_dims(y_1, axes=(0, 2, 4, 1, 3))
# LIST-NEXT: y_3: R.Tensor((10, 3, 2), "float32") = R.reshape(y_2, (10, 3, 2))
# LIST-NEXT: y_4: R.Tensor((1, 10, "n + 1"), "float32") = R.nn.conv1d(x, y_3, padding=(1, 1))
# LIST-NEXT: y_5: {{.*}} = R.reshape(y_4, (1, 5, 2, "n + 1"))
# LIST-NEXT: y_6: {{.*}} = R.permute_dims(y_5, axes=(0, 1, 3, 2))
# LIST-NEXT: y_7: {{.*}} = R.reshape(y_6, (1, 5, "2*n + 2"))
# LIST-NEXT: y_8: R.Tensor((1, 5, "2*n"), "float32") = R.nn.pad(y_7, pad_width=(0, 0, 0, 0, -1, -1))
# LIST-NEXT: return y_8
def transposed(x: f32[1, 3, n], w: f32[3, 5, 4]) -> f32[1, 5, "2*n"]:
    y = R.nn.conv1d_transpose(x, w, strides=(2,), padding=(1,))
    return y
