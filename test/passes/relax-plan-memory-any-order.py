# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --pass-pipeline='relax-legalize-ops,tir-bufferize,relax-plan-memory' --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --pass-pipeline='relax-legalize-ops,tir-bufferize,relax-plan-memory{any-order=true}' --print-script | FileCheck %s --check-prefix=ANY
"""Kernels with unordered points: a result overlaps an operand only if each point reads the element that it writes.

Memory begins at an alignment for vectors.
"""


# A softmax reads all of a row before it writes it, one operation after the other; a GPU may do both at once.
# CHECK: cls.nn_softmax, (a,), attrs={"relax.memory": ["operand 0;
# CHECK: cls.negative, (b,), attrs={"relax.memory": ["operand 0;
# ANY: cls.nn_softmax, (a,), attrs={"relax.memory": ["arena
# ANY: cls.negative, (b,), attrs={"relax.memory": ["operand 0;
def main(x: f32[8, 64]) -> f32[64, 8]:
    a = R.exp(x)
    b = R.nn.softmax(a, axis=-1)
    c = R.negative(b)
    return R.permute_dims(c, axes=[1, 0])


# GPUs load 16 bytes at once from the beginning of memory, so parts of results and tensors in slots have this
# alignment.
# CHECK-LABEL: def of_eight_bytes
# CHECK: cls.sin, (x,), attrs={"relax.memory": ["part; 8*n bytes
# ANY-LABEL: def of_eight_bytes
# ANY: cls.exp_1, (x,), attrs={"relax.memory": ["slot 0; 8*n bytes
# ANY: cls.sin, (x,), attrs={"relax.memory": ["slot 0 + 16*n; 8*n bytes
def of_eight_bytes(x: f32[n, 2]) -> f32[2 * n, 2]:
    y = R.exp(x)
    z = R.sin(x)
    return R.concat((y, z), axis=0)


# ANY-LABEL: def of_sixteen_bytes
# ANY: cls.sin_1, (x,), attrs={"relax.memory": ["part; 16*n bytes
def of_sixteen_bytes(x: f32[n, 4]) -> f32[2 * n, 4]:
    y = R.exp(x)
    z = R.sin(x)
    return R.concat((y, z), axis=0)
