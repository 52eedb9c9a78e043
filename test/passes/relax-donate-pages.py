# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-donate='args=*pages' --print-script | FileCheck %s
"""Updates of pages in the caller's memory. Refusals: relax-donate-pages-invalid.py; numerics: runtime/test_pages.py."""


# Updated pages are no results, and readers read the written memory. Kernels are shared by types.
# CHECK-LABEL: @R.function(attrs={"relax.result_names": ["y"]})
# CHECK-NEXT: def main(
# CHECK: ) -> R.Tensor(("t", 4, 8), "float32"):
# CHECK: R.call_tir_inplace(
# CHECK-NEXT: cls.append_pages, (k_pages, rows, slots), inplace_indices=(0,),
# CHECK: cls.append_pages, (v_pages, rows, slots), inplace_indices=(0,),
# CHECK: R.paged_attention(q, k, v,
# CHECK: return y
# CHECK: message="slot {} is out of range: the pages have {} places"
@R.function(attrs={"relax.result_names": ["k", "y", "v"]})
def main(
    q: f32[t, 4, 8],
    k_pages: f32[p, 16, 2, 8],
    v_pages: f32[p, 16, 2, 8],
    rows: f32[t, 2, 8],
    slots: i32[t],
    table: i32[s, m],
    sequences: i32[t],
    lengths: i32[t],
) -> R.Tuple(f32[p, 16, 2, 8], f32[t, 4, 8], f32[p, 16, 2, 8]):
    k = R.append_pages(k_pages, rows, slots)
    v = R.append_pages(v_pages, rows, slots)
    y = R.paged_attention(q, k, v, table, sequences, lengths)
    return k, y, v
