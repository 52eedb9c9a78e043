# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --llvm-turn-weights='target=llvm{cpu=znver4}' --print-script | FileCheck %s
# RUN: relax-opt %s --llvm-turn-weights='target=llvm{cpu=haswell}' --print-script | FileCheck %s --check-prefix=WITHOUT
"""Known weights of narrow numbers that products read transposed are turned, where the CPU has dot products."""

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

    # Wide numbers, weights that are read twice, and those that lie right, stay.
    # CHECK-LABEL: def wide(
    # CHECK: subscripts="ak,nk->an"
    @R.function
    def wide(x: R.Tensor(("a", 3), "float32")) -> R.Tensor(("a", 2), "float32"):
        w = R.const([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "float32")
        y = R.einsum((x, w), subscripts="ak,nk->an")
        return y

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
