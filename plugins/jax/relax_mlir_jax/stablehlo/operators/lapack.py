# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LAPACK functions as jax calls them on CPUs: names begin with the letter of the element type."""

from __future__ import annotations

from relax_mlir.frontends.core.complex_numbers import Pair
from relax_mlir.frontends.core.linear_algebra.eigenvalues import Eigen, svd_of
from relax_mlir.frontends.core.linear_algebra.factorizations import (
    cholesky_of,
    lu_of,
    multiplied_by_q,
    orthogonal,
    qr_of,
)
from relax_mlir.frontends.core.linear_algebra.general_eigenvalues import eig_of
from relax_mlir.frontends.core.linear_algebra.matrix_loops import Batch, transposed
from relax_mlir.frontends.core.linear_algebra.pivoted_qr import pivoted_qr_of
from relax_mlir.frontends.core.linear_algebra.triangular_forms import hessenberg_of, schur_of, tridiagonal_of
from relax_mlir.frontends.core.linear_algebra.tridiagonal_systems import (
    perturbed_tridiagonal_solved,
    tridiagonal_solved,
)

from ..prelude import ComplexValue, HloNode, Outputs, Tensor, Value, cast, register_stablehlo, relax, sizes
from .complex_lapack import through_scipy
from .linear_algebra import solved


def _lapack(name: str, of_complex: str = "") -> list[str]:
    """Return the names of a function for each element type; some have another name for complex numbers."""
    names = {"s": name, "d": name, "c": of_complex or name, "z": of_complex or name}
    return [f"custom_call @lapack_{letter}{each}_ffi" for letter, each in names.items()]


def _option(node: HloNode, name: str) -> str:
    """Return a letter among the options of a call, which are character codes."""
    given = node.attr("mhlo.backend_config", {}).get(name)
    return chr(given) if isinstance(given, int) else str(given or "")


@register_stablehlo(*_lapack("potrf"))
def potrf(node: HloNode) -> Outputs:
    """Return the Cholesky factor, and the failure info. The other triangle keeps its elements."""
    if node.is_complex:
        return through_scipy(node, "potrf", _option(node, "uplo") == "L")
    is_lower = _option(node, "uplo") == "L"
    a = node.tensor(0)
    factor, info = cholesky_of(node, a, not is_lower)
    rest = relax.triu(a, k=1) if is_lower else relax.tril(a, k=-1)
    kept = relax.add(relax.tril(factor) if is_lower else relax.triu(factor), rest)
    return [kept, info]


@register_stablehlo(*_lapack("trsm"))
def trsm(node: HloNode) -> Outputs:
    is_upper, is_unit = _option(node, "uplo") == "U", _option(node, "diag") == "U"
    return solved(node, _option(node, "side") == "L", is_upper, is_unit, "NTC".index(_option(node, "trans_x")))


@register_stablehlo(*_lapack("getrf"))
def getrf(node: HloNode) -> Outputs:
    return through_scipy(node, "getrf") if node.is_complex else list(lu_of(node, node.tensor(0)))


@register_stablehlo(*_lapack("geqrf"))
def geqrf(node: HloNode) -> Outputs:
    return through_scipy(node, "geqrf") if node.is_complex else list(qr_of(node, node.tensor(0), node.dtype))


@register_stablehlo(*_lapack("orgqr", "ungqr"))
def orgqr(node: HloNode) -> Outputs:
    """Return the columns of Q that elementary reflections define."""
    if node.is_complex:
        return through_scipy(node, "ungqr")
    return orthogonal(node, node.tensor(0), node.tensor(1), sizes.sizes_of(node.value(0))[-1])


@register_stablehlo(*_lapack("ormqr", "unmqr"))
def ormqr(node: HloNode) -> Outputs:
    """Multiply a matrix by Q from one side. Only the reflections in the first operand are read."""
    options = node.attr("mhlo.backend_config", {})
    is_left, is_transposed = bool(options.get("left")), bool(options.get("transpose"))
    if node.is_complex:
        return through_scipy(node, "unmqr", is_left, is_transposed)
    return multiplied_by_q(node, node.tensor(0), node.tensor(1), node.tensor(2), is_left, is_transposed)


@register_stablehlo(*_lapack("syevd", "heevd"))
def syevd(node: HloNode) -> Outputs:
    """Return eigenvectors as columns, eigenvalues, and the failure info."""
    if node.is_complex:
        return through_scipy(node, "heevd", _option(node, "uplo") == "L")
    a = node.tensor(0)
    batch, n = Batch.of(node, a), sizes.sizes_of(node.value(0))[-1]
    kernel = Eigen(_option(node, "uplo") == "U")
    values, rows = batch.call(kernel, [batch.flat(a)], ((n,), node.dtype), ((n, n), node.dtype))
    return [transposed(rows), values, sizes.zeros(batch.lead, "i32")]


@register_stablehlo(*_lapack("gesdd"), *_lapack("gesvd"))
def gesdd(node: HloNode) -> Outputs:
    """Return the matrix that LAPACK overwrites, singular values, singular vectors of both sides, and the failure
    info."""
    mode = _option(node, "mode")
    if node.is_complex:
        return through_scipy(node, "gesvd" if "gesvd" in node.op else "gesdd", mode != "N", mode == "A")
    a = node.tensor(0)
    u, s, vh = svd_of(node, a, is_full=mode == "A", with_vectors=mode != "N")
    info = sizes.zeros(Batch.of(node, a).lead, "i32")
    if mode == "N":
        u, vh = (sizes.zeros(node.static_shape(index), node.dtype) for index in (2, 3))
    return [a, s, u, vh, info]


def _failed(values: Tensor) -> Tensor:
    """Return LAPACK's info of matrices: 1 if an eigenvalue was not found and is NaN."""
    return relax.max(cast(relax.isnan(values), "i32"), axis=[-1])


@register_stablehlo(*_lapack("geev"))
def geev(node: HloNode) -> Outputs:
    """Return real and imaginary parts of the eigenvalues, left and right vectors as columns, and the failure info."""
    is_left, is_right = (_option(node, name) == "V" for name in ("compute_left", "compute_right"))
    if isinstance(node.held(0), ComplexValue):
        return through_scipy(node, "geev", is_left, is_right)
    eigenvectors = eig_of(node, node.tensor(0), is_left, is_right)
    zeros = sizes.zeros(node.static_shape(2), node.dtype)
    missing = ComplexValue(Value(ssa=zeros), Value(ssa=zeros))
    real, imag = eigenvectors.values.real.ssa, eigenvectors.values.imag.ssa
    # jax calls LAPACK for finite matrices only.
    unusable = relax.logical_not(relax.isfinite(node.tensor(0)))
    failed = relax.maximum(_failed(real), relax.max(cast(unusable, "i32"), axis=[-2, -1]))
    return [real, imag, eigenvectors.left or missing, eigenvectors.right or missing, failed]


@register_stablehlo(*_lapack("gees"))
def gees(node: HloNode) -> Outputs:
    """Return the Schur form and its vectors, the eigenvalues, the number of selected ones, and the failure info."""
    if _option(node, "sort") not in ("N", ""):
        raise node.fail("eigenvalues are not sorted: leave out the argument sort_eig_vals")
    if node.is_complex:
        return through_scipy(node, "gees", _option(node, "mode") == "V")
    t, z, real, imag = schur_of(node, node.tensor(0))
    return [t, z, real, imag, sizes.zeros(Batch.of(node, real, 1).lead, "i32"), _failed(real)]


@register_stablehlo(*_lapack("gehrd"))
def gehrd(node: HloNode) -> Outputs:
    if node.is_complex:
        return through_scipy(node, "gehrd")
    a = node.tensor(0)
    return [*hessenberg_of(node, a), sizes.zeros(Batch.of(node, a).lead, "i32")]


@register_stablehlo(*_lapack("sytrd", "hetrd"))
def sytrd(node: HloNode) -> Outputs:
    """Return the tridiagonal form with its reflections, both diagonals, the reflections' factors, and the failure
    info."""
    if node.is_complex:
        return through_scipy(node, "hetrd", _option(node, "uplo") == "L")
    a = node.tensor(0)
    return [*tridiagonal_of(node, a, _option(node, "uplo") == "U"), sizes.zeros(Batch.of(node, a).lead, "i32")]


@register_stablehlo(*_lapack("gtsv"))
def gtsv(node: HloNode) -> Outputs:
    """Return the diagonals of the upper factor in place of the matrix's, the solution, and the first pivot that is
    0."""
    if node.is_complex:
        return through_scipy(node, "gtsv")
    return list(tridiagonal_solved(node, *map(node.tensor, range(4))))


@register_stablehlo("custom_call @tridiagonal_solve_perturbed_ffi")
def perturbed_tridiagonal_systems(node: HloNode) -> Outputs:
    parts = [part for place in range(4) for part in node.pair(place) if part is not None]
    tensors = perturbed_tridiagonal_solved(node, *parts)
    return [Pair(*tensors).value()] if node.is_complex else tensors


@register_stablehlo(*_lapack("geqp3"))
def geqp3(node: HloNode) -> Outputs:
    """Return R with the reflections below it, the order of the columns, and the reflections' factors."""
    if node.is_complex:
        return through_scipy(node, "geqp3")
    return list(pivoted_qr_of(node, node.tensor(0), node.tensor(1)))
