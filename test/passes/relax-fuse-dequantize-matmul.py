# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-fuse-dequantize-matmul --relax-dead-code-elimination --print-script | FileCheck %s
"""Products with matrices that are dequantized block by block: they read the codes."""


# Codes of a column lie one behind the other, two in a byte, the first in the lower half; from 0 on.
# CHECK-LABEL: def signed(
# CHECK: y = R.const({{\[\[\[}}135, 169, 203, 237], [15, 33, 67, 101]], {{\[\[}}136, 136
# CHECK: R.matmul_nbits(
# CHECK-NEXT: x, y, R.const({{\[\[}}1.0, 3.0], [2.0, 4.0]], "float32"), R.const({{\[\[}}8, 10], [9, 11]], "uint8"),
# CHECK-NEXT: block_size=8,
def signed(x: f32[n, 16]) -> f32[n, 2]:
    w = R.const(
        [
            [-1, 0], [0, 0], [1, 0], [2, 0], [3, 0], [4, 0], [5, 0], [6, 0],
            [7, 0], [-8, 0], [-7, 0], [-6, 0], [-5, 0], [-4, 0], [-3, 0], [-2, 0],
        ],
        "int4",
    )  # fmt: skip
    s = R.const([[1.0, 2.0], [3.0, 4.0]], "float32")
    z = R.const([[0, 1], [2, 3]], "int4")
    zeros = R.astype(R.repeat(z, repeats=8, axis=0), dtype="float32")
    numbers = R.subtract(R.astype(w, dtype="float32"), zeros)
    y = R.matmul(x, R.multiply(numbers, R.repeat(s, repeats=8, axis=0)))
    return y


# Without zero points signed codes are relative to the middle, and unsigned ones to 0. The permutation or the
# subscripts give the summed dimensions. The last block may be shorter.
# CHECK-LABEL: def others(
# CHECK: R.matmul_nbits(
# CHECK-NEXT: x, y, R.const(0.5, R.Tensor((3, 3), "float32")), bits=8, block_size=16,
# CHECK: R.matmul_nbits(
# CHECK-NEXT: x, z, R.const(0.5, R.Tensor((3, 3), "float32")), R.const(0, R.Tensor((3, 3), "uint8")), bits=8,
# CHECK-NOT: R.matmul(
# CHECK: return
def others(x: f32[n, 40]) -> R.Tuple(f32[n, 3], f32[n, 3]):
    s = R.const(0.5, R.Tensor((3, 3), "float32"))
    scale = R.strided_slice(R.repeat(s, repeats=16, axis=1), axes=(1,), begin=(0,), end=(40,))
    v = R.const(5, R.Tensor((3, 40), "int8"))
    y = R.matmul(x, R.permute_dims(R.multiply(R.astype(v, dtype="float32"), scale)))
    u = R.const(5, R.Tensor((3, 40), "uint8"))
    z = R.einsum((x, R.multiply(R.astype(u, dtype="float32"), scale)), subscripts="ak,nk->an")
    return y, z


# Blocks along the columns, of too few elements, codes of the call, zero points for other blocks.
# CHECK-LABEL: def as_it_is(
# CHECK-NOT: nbits
# CHECK: return
def as_it_is(x: f32[n, 16], c: i8[16, 16]) -> R.Tuple(f32[n, 16], f32[n, 16], f32[n, 16], f32[n, 16]):
    w = R.const(5, R.Tensor((16, 16), "int8"))
    numbers = R.astype(w, dtype="float32")
    columns = R.repeat(R.const(0.5, R.Tensor((16, 2), "float32")), repeats=8, axis=1)
    a = R.matmul(x, R.multiply(numbers, columns))
    few = R.repeat(R.const(0.5, R.Tensor((8, 16), "float32")), repeats=2, axis=0)
    b = R.matmul(x, R.multiply(numbers, few))
    rows = R.repeat(R.const(0.5, R.Tensor((2, 16), "float32")), repeats=8, axis=0)
    d = R.matmul(x, R.multiply(R.astype(c, dtype="float32"), rows))
    zeros = R.astype(R.repeat(R.const(1, R.Tensor((4, 16), "int8")), repeats=4, axis=0), dtype="float32")
    e = R.matmul(x, R.multiply(R.subtract(numbers, zeros), rows))
    return a, b, d, e
