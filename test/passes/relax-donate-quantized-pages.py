# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-donate='args=pages,scales' --print-script | FileCheck %s
"""Updates of pages of integers with their scales, one after the other, in the caller's memory."""


# CHECK-LABEL: def main(
# CHECK: ) -> R.Tensor(("p", 4, 2, 8), "float32"):
# CHECK: cls.append_pages_quantized, (pages, scales, rows, slots), inplace_indices=(0, 1),
# CHECK: cls.append_pages_quantized,
# CHECK: R.astype(
def main(pages: i8[p, 4, 2, 8], scales: f32[p, 4, 2], rows: f32[t, 2, 8], slots: i32[t], others: i32[t]) -> R.Tuple(
    i8[p, 4, 2, 8], f32[p, 4, 2, 8], f32[p, 4, 2]
):
    codes, steps = R.append_pages_quantized(pages, scales, rows, slots)
    new_pages, new_scales = R.append_pages_quantized(codes, steps, rows, others)
    return new_pages, R.multiply(R.astype(new_pages, "float32"), R.expand_dims(new_scales, axis=[3])), new_scales
