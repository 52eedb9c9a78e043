# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decompositions of matrices with unique results."""

from __future__ import annotations

from ..core.rows import row

ROWS = (
    row("linalg.cholesky", "b,n,n:L+"),
    row("linalg.cholesky", "n,n:L+", "upper", upper=True),
    row("linalg.lu_factor", "b,n,m:L"),
    row("linalg.lu_factor", "m,n:L", "of more rows"),
    row("linalg.lu_factor", "3,3:L", "of a singular matrix", given={0: [[1, 2, 3], [2, 4, 6], [1, 0, 1]]}),
    row("linalg.lu_factor", "m,n,2:L", "complex", complex=True),
    row("linalg.solve_triangular", "b,n,n:L+ b,n,m:L"),
    *(row("linalg.solve_triangular", "n,n:L+ n,m:L", form, upper=True, transpose=form)
      for form in ("none", "transpose", "adjoint")),
    row("linalg.solve_triangular", "n,n:L[-0.5,0.5] n,m:L", "of a unit diagonal", unit_diagonal=True),
    row("linalg.qr_factor", "b,n,d:L"),
    row("linalg.qr_factor", "m,n:L", "of more rows"),
    row("linalg.qr_factor", "m,n,2:L", "complex", complex=True),
    row("linalg.multiply_q", "b,h,d:L b,d:L b,h,n:L"),
    row("linalg.multiply_q", "d,h:L h:L d,n:L", "of more reflections than rows"),
    row("linalg.multiply_q", "h,d:L d:L h,n:L", "adjoint", adjoint=True),
    row("linalg.eigh", "b,n,n:L+", compute_vectors=False),
    row("linalg.eigh", "n,n:L", "of the upper triangle", compute_vectors=False, upper=True),
    row("linalg.svd", "b,n,m:L", compute_uv=False),
    row("linalg.svd", "m,n,2:L", "complex", compute_uv=False, complex=True),
)  # fmt: skip
