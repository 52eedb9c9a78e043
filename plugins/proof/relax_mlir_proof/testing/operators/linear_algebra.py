# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # a table of one line per row reads best
"""Products of matrices, and of tensors by labels."""

from __future__ import annotations

from ..core.rows import row

_SUBSCRIPTS = {
    "ij->ji": "n,m:F", "ij->i": "n,m:F", "ij->": "n,m:N", "ii->i": "n,n:F", "ii": "n,n:F",
    "ij,kj->ik": "n,m:F k,m:F", "ji,jk": "m,n:F m,k:F", "bij,bjk->bik": "b,n,m:F b,m,k:F",
    "bij,bkj->bki": "b,n,m:F b,k,m:F", "i,j->ij": "n:F m:F", "ij,ij->": "n,m:F n,m:F", "ij,ij->ij": "n,m:N n,m:N",
    "ij,j->i": "n,m:F m:F", "ij,jk,kl->il": "n,m:F m,k:F k,n:F", "bhid,bhjd->bhij": "b,2,n,d:F b,2,m,d:F",
    "abc,cd->abd": "n,m,k:F k,d:F", "i,i": "k:F k:F", "bqhd,bkhd->bhqk": "b,n,2,d:F b,m,2,d:F",
}  # fmt: skip
_RANKS = {
    "of batches": "b,n,k:N b,k,m:N", "of one matrix": "b,n,k:F k,m:F", "broadcast": "b,1,n,k:F 3,k,m:F",
    "of a vector": "k:F k,m:F", "with a vector": "n,k:F k:F", "of vectors": "k:N k:N", "of one row": "1,k:F k,m:F",
    "of one column": "n,k:F k,1:F", "with a known matrix": "n,k:F k,m:F!", "with a known matrix of batches": "b,n,k:F k,m:F!",
    "of many": "b,65,33:F b,33,47:F", "by a large known matrix": "n,129:F 129,70:F!", "of few": "n,1:F 1,m:F",
    "of a known matrix": "n,k:F! k,m:F", "of vectors in batches": "k:F b,k,m:F",
}  # fmt: skip

ROWS = (
    row("matmul", "n,k:N k,m:N"),
    *(row("matmul", operands, name) for name, operands in _RANKS.items()),
    *(row("matmul", f"n,k:{dtype} k,m:{dtype}", f"of {dtype} to {wider}", out_dtype=wider)
      for dtype, wider in (("i8", "i32"), ("ui8", "i32"), ("f16", "f32"), ("bf16", "f32"), ("f32", "f64"))),
    *(row("matmul", f"17,70:{dtype} 70,37:{dtype}!", f"with a known matrix of {dtype} to {wider}", out_dtype=wider)
      for dtype, wider in (("i8", "i32"), ("f16", "f32"), ("bf16", "f32"))),
    row("einsum", "(n,m:N m,k:N)", subscripts="ij,jk->ik"),
    *(row("einsum", f"({operands})", subscripts, subscripts=subscripts) for subscripts, operands in _SUBSCRIPTS.items()),
    row("outer", "n:N m:N"),
    row("outer", "k:F! m:F", "with a known vector"),
)  # fmt: skip
