# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-combine-parallel-matmul --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --relax-combine-parallel-matmul='constants-only=true' --print-script | FileCheck %s --check-prefix=CONSTANTS
# RUN: graphs %s | relax-opt - --relax-combine-parallel-matmul='least=3' --print-script | FileCheck %s --check-prefix=THREE
# RUN: graphs %s | not relax-opt - --relax-combine-parallel-matmul='least=1' 2>&1 | FileCheck %s --check-prefix=ONE
"""Results are compared in test/python/passes/test_combine_parallel_matmul.py.
Counterpart in Apache TVM: test_transform_combine_parallel_matmul.py."""

# ONE: pass 'relax-combine-parallel-matmul': least must be 2 or more, got 1


# Biases and activations that all have are combined, too; sizes may be symbols.
# CHECK-LABEL: def biased(
# CHECK: p_s: R.Tensor((4, "m + 3"), "float32") = R.concat((a, b), axis=1)
# CHECK-NEXT: p_s_1: R.Tensor((2, "n", "m + 3"), "float32") = R.matmul(x, p_s)
# CHECK-NEXT: p_s_2: {{.*}} = R.concat((c, d), axis=-1)
# CHECK-NEXT: p_s_3: {{.*}} = R.add(p_s_1, p_s_2)
# CHECK-NEXT: p_s_4: {{.*}} = R.nn.relu(p_s_3)
# CHECK-NEXT: p_s_5: R.Tensor((2, "n", 3), "float32") = R.strided_slice(p_s_4, axes=(2,), begin=(0,), end=(3,))
# CHECK-NEXT: p_s_6: R.Tensor((2, "n", "m"), "float32") = R.strided_slice(
# CHECK-NEXT: p_s_4, axes=(2,), begin=(3,), end=("m + 3",),
# CHECK-NEXT: )
# CHECK-NEXT: return p_s_5, p_s_6
# CONSTANTS-LABEL: def biased(
# CONSTANTS-COUNT-2: R.matmul(x,
def biased(x: f32[2, n, 4], a: f32[4, 3], b: f32[4, m], c: f32[3], d: f32[m]) -> R.Tuple(f32[2, n, 3], f32[2, n, m]):
    p = R.matmul(x, a)
    q = R.add(p, c)
    r = R.nn.relu(q)
    s = R.matmul(x, b)
    t = R.add(s, d)
    u = R.nn.relu(t)
    return r, u


# Where they differ, each goes its own way.
# CHECK-LABEL: def diverging(
# CHECK: R.matmul(x, concat_0)
# CHECK: R.nn.relu(
# CHECK: R.nn.gelu(
# THREE-LABEL: def diverging(
# THREE-NOT: R.concat
# THREE: return
def diverging(x: f32[2, 4], a: f32[4, 3], b: f32[4, 3]) -> R.Tuple(f32[2, 3], f32[2, 3]):
    p = R.nn.relu(R.matmul(x, a))
    q = R.nn.gelu(R.matmul(x, b))
    return p, q


# Constants move to the first product; it is they that are joined when the program is compiled.
# CONSTANTS-LABEL: def constants(
# CONSTANTS: R.concat(
# CONSTANTS: (R.const({{.*}}, "float32"), R.const({{.*}}, "float32")), axis=1,
# CONSTANTS: R.matmul(x,
# CONSTANTS-NOT: R.matmul
# CONSTANTS: return
def constants(x: f32[2, 1]) -> R.Tuple(f32[2, 1], f32[2, 2]):
    p = R.matmul(x, R.const([[1.0]], "float32"))
    e = R.exp(p)
    w = R.const([[2.0, 3.0]], "float32")
    q = R.matmul(x, w)
    return e, q


# Convolutions by kernels of one size, of the same strides; the third one's is another.
# CHECK-LABEL: def convolutions(
# CHECK: concat_0: R.Tensor((3, 3, 6, 3), "float32") = R.concat((a, b), axis=2)
# CHECK-NEXT: conv2d_0: {{.*}} = R.nn.conv2d(
# CHECK-NEXT: x, concat_0, data_layout="NHWC", kernel_layout="HWOI",
# CHECK: R.concat((d, e), axis=-1)
# CHECK: r: {{.*}} = R.nn.conv2d(x, c,
def convolutions(
    x: f32[1, 8, 8, 3], a: f32[3, 3, 4, 3], b: f32[3, 3, 2, 3], c: f32[1, 1, 2, 3], d: f32[1, 1, 4], e: f32[1, 1, 2]
) -> R.Tuple(f32[1, 6, 6, 4], f32[1, 6, 6, 2], f32[1, 8, 8, 2]):
    p = R.add(R.nn.conv2d(x, a, data_layout="NHWC", kernel_layout="HWOI"), d)
    q = R.add(R.nn.conv2d(x, b, data_layout="NHWC", kernel_layout="HWOI"), e)
    r = R.nn.conv2d(x, c, data_layout="NHWC", kernel_layout="HWOI")
    return p, q, r


# Not combined: a weight that depends on the first product, another batch, another element type of the result, a
# single vector, weights with an unknown number of columns.
# CHECK-LABEL: def others(
# CHECK-NOT: R.concat
# CHECK: return
def others(x: f32[4, 4], w: f32[4, 4], b: f32[2, 4, 4], v: f32[4], u: f32[4, "?"]) -> R.Tuple(
    f32[4, 4], f32[2, 4, 4], f64[4, 4], f32[4], f32[4, "?"]
):
    p = R.matmul(x, w)
    q = R.matmul(x, R.exp(p))
    r = R.matmul(x, b)
    s = R.matmul(x, w, out_dtype="float64")
    t = R.matmul(x, v)
    y = R.matmul(x, u)
    return q, r, s, t, y
