# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --relax-donate='args=pages,scales' --print-script | FileCheck %s
"""Updates of pages of integers with their scales, one after the other, in the caller's memory."""

from relax_mlir.script import ir as I, relax as R


@I.ir_module(ssa=True)
class Module:
    # CHECK-LABEL: def main(
    # CHECK: ) -> R.Tensor(("p", 4, 2, 8), "float32"):
    # CHECK: cls.append_pages_quantized, (pages, scales, rows, slots), inplace_indices=(0, 1),
    # CHECK: cls.append_pages_quantized,
    # CHECK: R.astype(
    @R.function
    def main(
        pages: R.Tensor(("p", 4, 2, 8), "int8"),
        scales: R.Tensor(("p", 4, 2), "float32"),
        rows: R.Tensor(("t", 2, 8), "float32"),
        slots: R.Tensor(("t",), "int32"),
        others: R.Tensor(("t",), "int32"),
    ) -> R.Tuple(
        R.Tensor(("p", 4, 2, 8), "int8"), R.Tensor(("p", 4, 2, 8), "float32"), R.Tensor(("p", 4, 2), "float32")
    ):
        codes, steps = R.append_pages_quantized(pages, scales, rows, slots)
        new_pages, new_scales = R.append_pages_quantized(codes, steps, rows, others)
        return new_pages, R.multiply(R.astype(new_pages, "float32"), R.expand_dims(new_scales, axis=[3])), new_scales
