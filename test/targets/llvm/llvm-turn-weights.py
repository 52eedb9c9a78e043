# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --llvm-turn-weights='target=llvm{cpu=znver4}' --print-script | FileCheck %s
# RUN: relax-opt %s --llvm-turn-weights='target=llvm{triple=aarch64-linux-gnu cpu=cortex-a53}' --print-script | FileCheck %s --check-prefix=WITHOUT
"""Known weights of products with transposed operands are transposed; narrow ones if the CPU has dot products."""

from relax_mlir.script import ir as I, relax as R, tir as T


@I.ir_module(ssa=True)
class Module:
    # CHECK-LABEL: def turned(
    # CHECK: (x, R.const([{{\[}}1, 4], [2, 5], [3, 6]], "int8")), subscripts="bak,kn->ban"
    # WITHOUT-LABEL: def turned(
    # WITHOUT: subscripts="bak,nk->ban"
    @R.function
    def turned(x: R.Tensor((2, "a", 3), "int8")) -> R.Tensor((2, "a", 2), "int8"):
        w = R.const([[1, 2, 3], [4, 5, 6]], "int8")
        y = R.einsum((x, w), subscripts="bak,nk->ban")
        return y

    # CHECK-LABEL: def wide(
    # CHECK: [1.0, 4.0], [2.0, 5.0], [3.0, 6.0]{{.*}}subscripts="ak,kn->an"
    # WITHOUT-LABEL: def wide(
    # WITHOUT: subscripts="ak,kn->an"
    @R.function
    def wide(x: R.Tensor(("a", 3), "float32")) -> R.Tensor(("a", 2), "float32"):
        w = R.const([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "float32")
        y = R.einsum((x, w), subscripts="ak,nk->an")
        return y

    # Many rows justify a second copy of weights with other readers, a few do not. All products share the copy.
    # CHECK-LABEL: def shared(
    # CHECK: {{^ *}}[[W:[a-z_0-9]+]] = I.const(
    # CHECK: R.einsum((x, [[W]]), subscripts="ak,kn->an")
    # CHECK: (y, R.const({{.*}})), subscripts="ak,nk->an"
    # CHECK: R.einsum((z, [[W]]), subscripts="ak,kn->an")
    @R.function
    def shared(
        x: R.Tensor(("a", 64), "float32"), y: R.Tensor((16, 64), "float32"), z: R.Tensor((17, 64), "float32")
    ) -> R.Tuple(R.Tensor(("a", 64), "float32"), R.Tensor((16, 64), "float32"), R.Tensor((17, 64), "float32")):
        w = R.const(1.0, R.Tensor((64, 64), "float32"))
        a = R.einsum((x, w), subscripts="ak,nk->an")
        b = R.einsum((y, w), subscripts="ak,nk->an")
        c = R.einsum((z, w), subscripts="ak,nk->an")
        return a, b, c

    # Narrow weights with two readers stay, and so do weights in the right layout.
    # CHECK-LABEL: def twice(
    # CHECK: subscripts="ak,nk->an"
    @R.function
    def twice(x: R.Tensor((2, 3), "int8")) -> R.Tensor((2, 2), "int8"):
        w = R.const([[1, 2, 3], [4, 5, 6]], "int8")
        z = R.add(x, w)
        y = R.einsum((z, w), subscripts="ak,nk->an")
        return y

    # CHECK-LABEL: def right(
    # CHECK: [1, 2, 3], [4, 5, 6]]{{.*}}subscripts="ak,kn->an"
    @R.function
    def right(x: R.Tensor(("a", 2), "int8")) -> R.Tensor(("a", 3), "int8"):
        w = R.const([[1, 2, 3], [4, 5, 6]], "int8")
        y = R.einsum((x, w), subscripts="ak,kn->an")
        return y

    # CHECK-LABEL: def kept(
    # CHECK: subscripts="ak,nk->kan"
    @R.function
    def kept(x: R.Tensor(("a", 3), "int8")) -> R.Tensor((3, "a", 2), "int8"):
        w = R.const([[1, 2, 3], [4, 5, 6]], "int8")
        y = R.einsum((x, w), subscripts="ak,nk->kan")
        return y
