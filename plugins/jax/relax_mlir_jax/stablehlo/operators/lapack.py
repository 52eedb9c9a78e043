# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LAPACK functions as jax calls them on CPUs: names begin with the letter of the element type."""

from __future__ import annotations

from ..hlo_types import info_of, is_complex
from ..prelude import ComplexValue, HloNode, Outputs, Value, cast, register_stablehlo, relax, sizes
from .linear_algebra import adjoint, has_complex, identity, pairs_of, solve, value_of
from .perturbed_systems import perturbed_systems


def _lapack(name: str, of_complex: str = "") -> list[str]:
    """Return the names of a function for each element type; some have another name for complex numbers."""
    names = {"s": name, "d": name, "c": of_complex or name, "z": of_complex or name}
    return [f"custom_call @lapack_{letter}{each}_ffi" for letter, each in names.items()]


def _option(node: HloNode, name: str) -> str:
    """Return a letter among the options of a call, which are character codes."""
    given = node.attr("mhlo.backend_config", {}).get(name)
    return chr(given) if isinstance(given, int) else str(given or "")


def _call(node: HloNode, name: str, kinds: str, **options: object) -> list[Value | ComplexValue]:
    """Call an operator with the operands of a node.

    Kinds of results: 'c' for elements like the matrix's, 'p' for complex numbers, and others for real ones.
    """
    operands = [pairs_of(node, place) for place in range(len(node.inputs))]
    results = getattr(relax.linalg, name)(*operands, complex=has_complex(node), **options)
    return [
        value_of(result, kind == "p" or (kind == "c" and has_complex(node)))
        for result, kind in zip(results, kinds, strict=True)
    ]


def _parts(node: HloNode, values: Value | ComplexValue) -> list[Value | ComplexValue]:
    """Return eigenvalues in jax's form: a real matrix has their real and imaginary parts apart."""
    return [values.real, values.imag] if isinstance(values, ComplexValue) and not has_complex(node) else [values]


def _zeros(node: HloNode, place: int) -> Value | ComplexValue:
    """Return zeros for a result that is not computed."""
    zeros = Value(ssa=sizes.zeros(node.static_shape(place), info_of(node.result_types[place]).dtype))
    return ComplexValue(zeros, zeros) if is_complex(node.result_types[place]) else zeros


@register_stablehlo(*_lapack("potrf"))
def potrf(node: HloNode) -> Outputs:
    """Return the Cholesky factor, and the failure info. jax does not read the other triangle."""
    return _call(node, "cholesky", "ci", upper=_option(node, "uplo") == "U")


@register_stablehlo(*_lapack("trsm"))
def trsm(node: HloNode) -> Outputs:
    is_upper, is_unit = _option(node, "uplo") == "U", _option(node, "diag") == "U"
    form = {"N": "none", "T": "transpose", "C": "adjoint"}[_option(node, "trans_x")]
    a, b = (pairs_of(node, place) for place in range(2))
    x = solve(a, b, _option(node, "side") == "L", form, has_complex(node), upper=is_upper, unit_diagonal=is_unit)
    return value_of(x, has_complex(node))


@register_stablehlo(*_lapack("getrf"))
def getrf(node: HloNode) -> Outputs:
    return _call(node, "lu_factor", "cii")


@register_stablehlo(*_lapack("geqrf"))
def geqrf(node: HloNode) -> Outputs:
    return _call(node, "qr_factor", "cc")


@register_stablehlo(*_lapack("orgqr", "ungqr"))
def orgqr(node: HloNode) -> Outputs:
    """Return the columns of Q that elementary reflections define."""
    v, tau = (pairs_of(node, place) for place in range(2))
    q = relax.linalg.multiply_q(v, tau, identity(v, has_complex(node)), complex=has_complex(node))
    return value_of(q, has_complex(node))


@register_stablehlo(*_lapack("ormqr", "unmqr"))
def ormqr(node: HloNode) -> Outputs:
    """Multiply a matrix by Q from one side: C Q is the adjoint of Qᴴ Cᴴ."""
    options = node.attr("mhlo.backend_config", {})
    is_left, is_adjoint = bool(options.get("left")), bool(options.get("transpose"))
    v, tau, c = (pairs_of(node, place) for place in range(3))
    turned = c if is_left else adjoint(c, has_complex(node))
    product = relax.linalg.multiply_q(v, tau, turned, adjoint=is_adjoint == is_left, complex=has_complex(node))
    return value_of(product if is_left else adjoint(product, has_complex(node)), has_complex(node))


@register_stablehlo(*_lapack("syevd", "heevd"))
def syevd(node: HloNode) -> Outputs:
    """Return eigenvectors as columns, eigenvalues, and the failure info."""
    values, info, vectors = _call(node, "eigh", "ric", upper=_option(node, "uplo") == "U")
    return [vectors, values, info]


@register_stablehlo(*_lapack("gesdd"), *_lapack("gesvd"))
def gesdd(node: HloNode) -> Outputs:
    """Return the matrix that LAPACK overwrites, singular values, singular vectors of both sides, and the failure
    info."""
    mode = _option(node, "mode")
    kinds = "ri" if mode == "N" else "ricc"
    values, info, *vectors = _call(node, "svd", kinds, full_matrices=mode == "A", compute_uv=mode != "N")
    return [node.held(0), values, *(vectors or [_zeros(node, place) for place in (2, 3)]), info]


@register_stablehlo(*_lapack("geev"))
def geev(node: HloNode) -> Outputs:
    """Return eigenvalues, of a real matrix in two parts, left and right vectors as columns, and the failure info."""
    is_left, is_right = (_option(node, name) == "V" for name in ("compute_left", "compute_right"))
    values, info, *vectors = _call(node, "eig", "pi" + "p" * (is_left + is_right), left=is_left, right=is_right)
    parts = _parts(node, values)
    first = len(parts)
    left = vectors[0] if is_left else _zeros(node, first)
    right = vectors[-1] if is_right else _zeros(node, first + 1)
    # jax calls LAPACK for finite matrices only.
    axes = [-3, -2, -1] if has_complex(node) else [-2, -1]
    unusable = relax.max(cast(relax.logical_not(relax.isfinite(pairs_of(node, 0))), "i32"), axis=axes)
    return [*parts, left, right, relax.maximum(info.ssa, unusable)]  # type: ignore[union-attr]


@register_stablehlo(*_lapack("gees"))
def gees(node: HloNode) -> Outputs:
    """Return the Schur form and its vectors, the eigenvalues, the number of selected ones, and the failure info."""
    if _option(node, "sort") not in ("N", ""):
        raise node.fail("eigenvalues are not sorted: leave out the argument sort_eig_vals")
    t, values, info, z = _call(node, "schur", "cpic")
    return [t, z, *_parts(node, values), relax.zeros_like(info.ssa), info]  # type: ignore[union-attr]


@register_stablehlo(*_lapack("gehrd"))
def gehrd(node: HloNode) -> Outputs:
    return [*_call(node, "hessenberg", "cc"), _zeros(node, 2)]


@register_stablehlo(*_lapack("sytrd", "hetrd"))
def sytrd(node: HloNode) -> Outputs:
    """Return the tridiagonal form with its reflections, both diagonals, the reflections' factors, and the failure
    info."""
    return [*_call(node, "tridiagonal", "crrc", upper=_option(node, "uplo") == "U"), _zeros(node, 4)]


@register_stablehlo(*_lapack("gtsv"))
def gtsv(node: HloNode) -> Outputs:
    """Return the diagonals of the upper factor in place of the matrix's, the solution, and the first pivot that is
    0."""
    return _call(node, "solve_tridiagonal", "cccci")


@register_stablehlo("custom_call @tridiagonal_solve_perturbed_ffi")
def perturbed_tridiagonal_systems(node: HloNode) -> Outputs:
    return perturbed_systems(node)


@register_stablehlo(*_lapack("geqp3"))
def geqp3(node: HloNode) -> Outputs:
    """Return R with the reflections below it, the order of the columns, and the reflections' factors."""
    return _call(node, "pivoted_qr", "cic")
