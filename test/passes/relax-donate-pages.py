# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --relax-donate='args=*pages' --print-script | FileCheck %s
"""Updates of pages in the caller's memory. Refusals: relax-donate-pages-invalid.py; numerics: runtime/test_pages.py."""

from relax_mlir.script import ir as I, relax as R


@I.ir_module(ssa=True)
class Module:
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
        q: R.Tensor(("t", 4, 8), "float32"),
        k_pages: R.Tensor(("p", 16, 2, 8), "float32"),
        v_pages: R.Tensor(("p", 16, 2, 8), "float32"),
        rows: R.Tensor(("t", 2, 8), "float32"),
        slots: R.Tensor(("t",), "int32"),
        table: R.Tensor(("s", "m"), "int32"),
        sequences: R.Tensor(("t",), "int32"),
        lengths: R.Tensor(("t",), "int32"),
    ) -> R.Tuple(
        R.Tensor(("p", 16, 2, 8), "float32"), R.Tensor(("t", 4, 8), "float32"), R.Tensor(("p", 16, 2, 8), "float32")
    ):
        k = R.append_pages(k_pages, rows, slots)
        v = R.append_pages(v_pages, rows, slots)
        y = R.paged_attention(q, k, v, table, sequences, lengths)
        return k, y, v
