# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --llvm-turn-weights='target=llvm{cpu=znver4}' --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --llvm-turn-weights='target=llvm{triple=aarch64-linux-gnu cpu=cortex-a53}' --print-script | FileCheck %s --check-prefix=WITHOUT
"""Known weights of products with transposed operands are transposed; narrow ones if the CPU has dot products."""


# CHECK-LABEL: def turned(
# CHECK: (x, R.const([{{\[}}1, 4], [2, 5], [3, 6]], "int8")), subscripts="bak,kn->ban"
# WITHOUT-LABEL: def turned(
# WITHOUT: subscripts="bak,nk->ban"
def turned(x: i8[2, a, 3]) -> i8[2, a, 2]:
    w = R.const([[1, 2, 3], [4, 5, 6]], "int8")
    y = R.einsum((x, w), subscripts="bak,nk->ban")
    return y


# CHECK-LABEL: def wide(
# CHECK: [1.0, 4.0], [2.0, 5.0], [3.0, 6.0]{{.*}}subscripts="ak,kn->an"
# WITHOUT-LABEL: def wide(
# WITHOUT: subscripts="ak,kn->an"
def wide(x: f32[a, 3]) -> f32[a, 2]:
    w = R.const([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "float32")
    y = R.einsum((x, w), subscripts="ak,nk->an")
    return y


# Many rows justify a second copy of weights with other readers, a few do not. All products share the copy.
# CHECK-LABEL: def shared(
# CHECK: {{^ *}}[[W:[a-z_0-9]+]] = I.const(
# CHECK: R.einsum((x, [[W]]), subscripts="ak,kn->an")
# CHECK: (y, R.const({{.*}})), subscripts="ak,nk->an"
# CHECK: R.einsum((z, [[W]]), subscripts="ak,kn->an")
def shared(x: f32[a, 64], y: f32[16, 64], z: f32[17, 64]) -> R.Tuple(f32[a, 64], f32[16, 64], f32[17, 64]):
    w = R.const(1.0, R.Tensor((64, 64), "float32"))
    a = R.einsum((x, w), subscripts="ak,nk->an")
    b = R.einsum((y, w), subscripts="ak,nk->an")
    c = R.einsum((z, w), subscripts="ak,nk->an")
    return a, b, c


# Narrow weights with two readers stay, and so do weights in the right layout.
# CHECK-LABEL: def twice(
# CHECK: subscripts="ak,nk->an"
def twice(x: i8[2, 3]) -> i8[2, 2]:
    w = R.const([[1, 2, 3], [4, 5, 6]], "int8")
    z = R.add(x, w)
    y = R.einsum((z, w), subscripts="ak,nk->an")
    return y


# CHECK-LABEL: def right(
# CHECK: [1, 2, 3], [4, 5, 6]]{{.*}}subscripts="ak,kn->an"
def right(x: i8[a, 2]) -> i8[a, 3]:
    w = R.const([[1, 2, 3], [4, 5, 6]], "int8")
    y = R.einsum((x, w), subscripts="ak,kn->an")
    return y


# CHECK-LABEL: def kept(
# CHECK: subscripts="ak,nk->kan"
def kept(x: i8[a, 3]) -> i8[3, a, 2]:
    w = R.const([[1, 2, 3], [4, 5, 6]], "int8")
    y = R.einsum((x, w), subscripts="ak,nk->kan")
    return y
