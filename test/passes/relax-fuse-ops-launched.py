# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --pass-pipeline='builtin.module(relax-legalize-ops,relax-fuse-ops{epilogues=true},tir-fuse)' --print-script | FileCheck %s
# RUN: relax-opt %s --pass-pipeline='builtin.module(relax-legalize-ops,relax-fuse-ops{epilogues=true launched=true},tir-fuse)' --print-script | FileCheck %s --check-prefix=LAUNCHED

from relax_mlir.script import ir as I, relax as R, tir as T


@I.ir_module(ssa=True)
class Module:
    # Where a call is a launch, functions that wait for each other stay with the product.
    # CHECK-LABEL: def activation(
    # CHECK: cls.fused_matmul_exp,
    # CHECK: cls.tanh,
    # LAUNCHED-LABEL: def activation(
    # LAUNCHED: cls.fused_matmul_exp_tanh,
    # LAUNCHED-NEXT: return
    @R.function
    def activation(x: R.Tensor((8, 8), "float32"), w: R.Tensor((8, 8), "float32")) -> R.Tensor((8, 8), "float32"):
        y = R.tanh(R.exp(R.matmul(x, w)))
        return y

    # So do slices of one tensor, which read it at other places.
    # CHECK-LABEL: def slices(
    # CHECK-COUNT-2: cls.strided_slice
    # LAUNCHED-LABEL: def slices(
    # LAUNCHED: cls.fused_strided_slice_strided_slice, (x,),
    @R.function
    def slices(x: R.Tensor((8, 8), "float32")) -> R.Tuple(R.Tensor((8, 4), "float32"), R.Tensor((8, 4), "float32")):
        a = R.strided_slice(x, axes=[1], begin=[0], end=[4])
        b = R.strided_slice(x, axes=[1], begin=[4], end=[8])
        return a, b
