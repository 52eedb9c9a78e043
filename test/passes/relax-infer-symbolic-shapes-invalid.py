# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-infer-symbolic-shapes --split-input-file --verify-diagnostics
# RUN: graphs %s | not relax-opt - --relax-infer-symbolic-shapes --split-input-file 2>&1 | FileCheck %s
"""Impossible sizes: an error at the operation that cannot run, and notes at the operations that it contradicts."""


# Each is said once.
# CHECK: error: 'relax.matmul' op can never run: sizes that must be the same are 3 and 4
# CHECK: note: n = 3 is needed by relax.matmul
# CHECK-NOT: n = 3 is needed by relax.matmul
# CHECK: error: 'relax.matmul' op can never run: sizes that must be the same are 60*n and 80
def main(x: f32[n], y: f32[3], z: f32[4]) -> R.Tuple(f32, f32):
    # expected-note-re @+1 {{n = 3 is needed by relax.matmul "a" at {{.*}}}}
    a = R.matmul(x, y)
    # expected-error @+1 {{'relax.matmul' op can never run: sizes that must be the same are 3 and 4}}
    b = R.matmul(x, z)
    return a, b


# -----


# No multiple of 60 is 80.
def main(x: f32[n, 60], y: f32[k], z: f32[80]) -> R.Tuple(f32, f32):
    flat = R.flatten(x)
    # expected-note-re @+1 {{60*n = k is needed by relax.matmul "a" at {{.*}}}}
    a = R.matmul(flat, y)
    # expected-error @+1 {{'relax.matmul' op can never run: sizes that must be the same are 60*n and 80}}
    b = R.matmul(y, z)
    return a, b


# -----


# In a called function: the caller's cast follows from the callee's requirement.
@R.function(private=True)
def callee(x: f32[n], w: f32[3]) -> f32:
    p = R.matmul(w, x)
    return p


def main(x: f32["2*k"], w: f32[3]) -> f32:
    # expected-note-re @+1 {{2*k = n is needed by relax.match_cast "xn" at {{.*}}}}
    xn = R.match_cast(x, out_sinfo=f32[n])
    # expected-error @+1 {{'relax.match_cast' op can never run: sizes that must be the same are 2*k and 3}}
    p = cls.callee(xn, w)
    return p


# -----


# Not even an empty tensor is five rows short.
def main(x: f32[n + 5], y: f32[k], z: f32[3]) -> R.Tuple(f32, f32):
    # expected-note-re @+1 {{n + 5 = k is needed by relax.matmul "a" at {{.*}}}}
    a = R.matmul(x, y)
    # expected-error @+1 {{'relax.matmul' op can never run: sizes that must be the same are n + 5 and 3}}
    b = R.matmul(y, z)
    return a, b


# -----


# A group's size does not divide the inferred n: inference refuses it then.
def main(x: f32[1, n, 8, 8], y: f32[1, 6, 8, 8], w: f32[n]) -> R.Tuple(f32[2, n, 8, 8], f32[1, n, 8, 8]):
    # expected-note-re @+1 {{6 = n is needed by relax.concat "a" at {{.*}}}}
    a: f32[2, n, 8, 8] = R.concat([x, y], axis=0)
    # expected-error-re @+1 {{'relax.nn.group_norm' op can never run: {{.*}}must divide}}
    b = R.nn.group_norm(x, w, w, num_groups=4, channel_axis=1, axes=[2, 3])
    return a, b
