# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LAPACK's functions as jax calls them on CPUs: by kernels of this project, and by SciPy for complex numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src.lax import linalg as lax_linalg
from jaxlib import lapack
from relax_mlir_jax.stablehlo.registry import CONVERTERS

import relax_mlir as rx

_QR = jax.lax.linalg.SvdAlgorithm.QR


@pytest.fixture(autouse=True)
def _with_doubles() -> Any:
    with jax.enable_x64(True):
        yield


def _random(dtype: str, *shape: int) -> Any:
    draw = np.random.default_rng(sum(shape))
    real = draw.standard_normal(shape)
    return (real + 1j * draw.standard_normal(shape) if dtype.startswith("complex") else real).astype(dtype)


def _tolerance(dtype: str) -> float:
    return 1e-4 if dtype in ("float32", "complex64") else 1e-10


def _agree(function: Callable[..., Any], dtype: str, *arguments: Any) -> None:
    # jax.jit runs LAPACK's calls of a program at the same time, and some of its results then differ from call to call.
    got, wanted = rx.jit(function, opt_level=0)(*arguments), function(*arguments)
    assert jax.tree.structure(got) == jax.tree.structure(wanted)
    for (place, one), other in zip(jax.tree.leaves_with_path(got), jax.tree.leaves(wanted), strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype), place
        np.testing.assert_allclose(one, other, rtol=0, atol=_tolerance(dtype), err_msg=str(place))


def _ormqr(v: Any, tau: Any, c: Any) -> Any:
    """Return all sides and directions. `c` is square."""
    return [lax_linalg.ormqr(v, tau, c, left=a, transpose=b) for a in (True, False) for b in (True, False)]


def _qr_multiply(tall: Any, wide: Any, c: Any) -> Any:
    multiply = jax.scipy.linalg.qr_multiply
    return multiply(tall, c, mode="left"), multiply(tall, tall.T, mode="right"), multiply(wide, c, mode="left")


def _schur(a: Any) -> Any:
    """Return the eigenvalues, the product of the factors, and the lower triangle. Vectors have undetermined factors."""
    t, z = jax.lax.linalg.schur(a)
    return jnp.diagonal(t, axis1=-2, axis2=-1), z @ t @ z.mT.conj(), z @ z.mT.conj(), jnp.tril(t, -1)


def _singular_values(a: Any) -> Any:
    values = jax.lax.linalg.svd(a, compute_uv=False, algorithm=_QR)
    u, s, vh = jax.lax.linalg.svd(a, full_matrices=False, algorithm=_QR)
    return values, s, (u * s[..., None, :]) @ vh


def _solve_tridiagonal(low: Any, d: Any, up: Any, b: Any) -> Any:
    solve = jax.lax.linalg.tridiagonal_solve
    return solve(low, d, up, b), jax.grad(lambda d: jnp.abs(solve(low, d, up, b)).sum())(d)


def _eigenvalues(a: Any) -> Any:
    """Return errors of eigenvectors, which have length 1 and an undetermined factor."""
    values, left, right = jax.lax.linalg.eig(a)
    complex_a = a.astype(values.dtype)
    errors = (
        complex_a @ right - right * values[..., None, :],
        left.mT.conj() @ complex_a - values[..., None] * left.mT.conj(),
    )
    lengths = [jnp.linalg.norm(each, axis=-2) for each in (left, right)]
    return (
        values,
        errors,
        lengths,
        jax.lax.linalg.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False),
    )


_SLOW = [pytest.param(dtype, marks=pytest.mark.slow) for dtype in ("float64", "complex128")]


@pytest.mark.parametrize("dtype", ["float32", "complex64", *_SLOW])
def test_functions_agree_with_jax(dtype: str) -> None:
    def compute(square: Any, wide: Any, positive: Any, diagonals: Any) -> Any:
        tall, solve = wide.mT, jax.lax.linalg.triangular_solve
        return {
            "cholesky": (jax.lax.linalg.cholesky(positive), jnp.linalg.eigvalsh(positive)),
            "systems": [
                solve(square, b, left_side=is_left, conjugate_a=is_conjugate, transpose_a=is_transposed)
                for is_left, b in ((True, tall[..., :4, :]), (False, wide[..., :4]))
                for is_conjugate, is_transposed in ((False, False), (False, True), (True, True))
            ],
            "solve": jnp.linalg.solve(square, tall[..., :4, :]),
            "ormqr": _ormqr(square[..., :3], square[..., 0, :3], square),
            "qr_multiply": _qr_multiply(tall[0], wide[0], wide[0, :, :2]),
            "qr": (jnp.linalg.qr(tall), jax.lax.linalg.qr(tall, pivoting=True)),
            "svd": (_singular_values(wide), _singular_values(tall), jnp.linalg.svd(tall)[1]),
            "forms": (*map(jax.lax.linalg.hessenberg, (square, positive)), _schur(square)),
            "tridiagonal": [jax.lax.linalg.tridiagonal(positive, lower=is_lower) for is_lower in (False, True)],
            "gtsv": _solve_tridiagonal(*diagonals, tall[..., :4, :]),
            "geev": _eigenvalues(square),
        }

    square, wide = _random(dtype, 2, 4, 4), _random(dtype, 2, 3, 5)
    positive = (square @ square.mT.conj() + 4 * np.eye(4)).astype(dtype)
    _agree(compute, dtype, square, wide, positive, [_random(dtype, 2, 4) + 2] * 3)


def test_small_and_special_matrices() -> None:
    rotation, nothing = jnp.array([[0.0, -1.0], [1.0, 0.0]]), jnp.zeros((2, 2))
    matrices = jnp.stack([rotation, nothing, nothing.at[0, 1].set(jnp.nan), nothing.at[1, 1].set(jnp.inf)])
    _agree(_eigenvalues, "float64", matrices)
    _agree(_eigenvalues, "float64", matrices[:, :1, :1])
    singular = rx.jit(jax.lax.linalg.tridiagonal_solve)(*[jnp.zeros(3)] * 3, jnp.ones((3, 1)))
    assert np.isnan(singular).all()


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("size", [0, 1, 2, 5])
def test_systems_that_are_singular(dtype: str, size: int) -> None:
    """Solve systems, a third of them with a pivot of 0 or almost 0. The solutions depend on the order of the rows."""
    draw = np.random.default_rng(size)

    def units(*shape: int) -> Any:
        return draw.choice([0, 1, -1, 1j, -1j] if dtype.startswith("complex") else [0, 1, -1, 2], shape).astype(dtype)

    diagonals = np.stack([units(90, size) for _ in range(3)])
    diagonals[:, :3] = np.zeros(size), np.full(size, 1e-30), np.full(size, 1e-37)  # XLA takes subnormal numbers for 0.
    solve = lambda low, d, up, b: lax_linalg.tridiagonal_solve(low, d, up, b, perturb_singular=True)  # noqa: E731
    got, wanted = (np.asarray(jit(solve)(*diagonals, b)) for b in [units(90, size, 2)] for jit in (rx.jit, jax.jit))
    largest = np.maximum(np.abs(wanted).max(axis=(1, 2), initial=0, keepdims=True), np.finfo(dtype).tiny)
    np.testing.assert_allclose(got / largest, wanted / largest, atol=_tolerance(dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [1, 2, 12])
def test_eigenvectors_of_tridiagonal_matrices(dtype: str, size: int) -> None:
    """Equal eigenvalues, too, have vectors that are orthogonal."""
    for d, e in ((_random(dtype, size), _random(dtype, size - 1)), (np.ones(size, dtype), np.zeros(size - 1, dtype))):
        values, vectors = map(np.asarray, rx.jit(jax.scipy.linalg.eigh_tridiagonal)(d, e))
        matrix = np.diag(d) + np.diag(e, 1) + np.diag(e, -1)
        np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=_tolerance(dtype))
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(size), atol=_tolerance(dtype))


def test_gradients_of_eigenvalues() -> None:
    _agree(jax.jacfwd(lambda a: jnp.abs(jnp.linalg.eigvals(a))), "float64", _random("float64", 3, 3))


def test_each_name_that_hints_can_give_is_jax_s() -> None:
    CONVERTERS.load()
    named = {each.removeprefix("custom_call @") for each in CONVERTERS.entries if "@lapack_" in each}
    known = {name for name, *_ in lapack._lapack.registrations().items() if name.endswith("_ffi")}
    perturbed = "tridiagonal_solve_perturbed_ffi"
    assert named == known - {perturbed} and f"custom_call @{perturbed}" in CONVERTERS.entries
