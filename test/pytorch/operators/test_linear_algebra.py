# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Factorizations, systems of equations, eigenvalues and distances."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from imported import PEER, check, exported

import relax_mlir as rx


def _matrices(*shape: int, dtype: torch.dtype = torch.float64, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def _positive(*shape: int) -> torch.Tensor:
    a = _matrices(*shape)
    return a @ a.mT + torch.eye(shape[-1], dtype=a.dtype)


@pytest.mark.parametrize("upper", [False, True])
def test_cholesky(upper: bool) -> None:
    """Ignore the elements on the other side of the diagonal."""
    a = _positive(2, 5, 5) + torch.triu(torch.full((5, 5), 3.0, dtype=torch.float64), 1) * (not upper)
    check(lambda a: torch.linalg.cholesky(a, upper=upper), a, dynamic=True)
    check(lambda a, b: torch.cholesky_solve(b, a, upper=upper), a, _matrices(2, 5, 3))


def test_cholesky_of_what_is_not_positive() -> None:
    a = torch.diag(torch.tensor([1.0, -2.0, 3.0]))
    check(lambda a: torch.linalg.cholesky_ex(a).info, a)
    run = rx.compile(rx.from_torch(exported(torch.linalg.cholesky, [a])))["main"]
    with pytest.raises(Exception, match="not positive definite"):
        run(a)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(2, 4, 4), (5, 3), (3, 5), (0, 2, 2)])
def test_lu(shape: tuple[int, ...]) -> None:
    check(lambda a: tuple(torch.linalg.lu_factor_ex(a)), _matrices(*shape), dynamic=0 not in shape)
    check(lambda a: tuple(torch.linalg.lu(a)), _matrices(*shape))


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["reduced", "complete"])
@pytest.mark.parametrize("shape", [(2, 4, 4), (5, 3), (3, 5)])
def test_qr(shape: tuple[int, ...], mode: str) -> None:
    check(lambda a: tuple(torch.linalg.qr(a, mode=mode)), _matrices(*shape), dynamic=True)


def test_qr_of_zeros() -> None:
    check(lambda a: tuple(torch.linalg.qr(a)), torch.zeros(3, 3))


@pytest.mark.parametrize("unit", [False, True])
def test_triangular_systems(unit: bool) -> None:
    solve: Callable[..., torch.Tensor] = torch.linalg.solve_triangular
    sides = [(upper, left) for upper in (False, True) for left in (False, True)]
    check(
        lambda a, b: [solve(a, b, upper=upper, left=left, unitriangular=unit) for upper, left in sides],
        _positive(3, 4, 4),
        _matrices(3, 4, 4),
    )


def test_systems() -> None:
    """Solve a batch with one vector each, with a shared right side, and from the right."""
    a = _positive(3, 4, 4)
    check(torch.linalg.solve, a, _matrices(3, 4), dynamic=True)
    check(torch.linalg.solve, a, _matrices(4, 2))
    check(lambda a, b: torch.linalg.solve(a, b, left=False), a, _matrices(3, 2, 4))
    check(lambda a, b: torch.linalg.lu_solve(*torch.linalg.lu_factor(a), b, adjoint=True), a, _matrices(3, 4, 2))


def test_inverses_and_determinants() -> None:
    a = _matrices(3, 4, 4)
    check(lambda a: (torch.linalg.inv(a), torch.linalg.det(a), *torch.linalg.slogdet(a)), a, dynamic=True)
    check(lambda a: torch.linalg.pinv(a), _matrices(2, 5, 3))
    check(lambda a: (torch.linalg.det(a), torch.logdet(a)), torch.ones(2, 3, 3))


@pytest.mark.parametrize("inverse", [torch.linalg.inv, lambda x: torch.linalg.tensorinv(x, ind=1)])
def test_singular_matrices(inverse: Callable[..., torch.Tensor]) -> None:
    run = rx.compile(rx.from_torch(exported(inverse, [torch.eye(2)])))["main"]
    torch.testing.assert_close(run(torch.eye(2) * 2), torch.eye(2) / 2)
    with pytest.raises(Exception, match="singular"):
        run(torch.ones(2, 2))


@pytest.mark.slow
@pytest.mark.parametrize("upper", ["L", "U"])
@pytest.mark.parametrize("size", [1, 2, 7, 24])
def test_eigenvalues(size: int, upper: str) -> None:
    """Compare the reconstructed matrix: vectors are defined only up to their signs."""

    def rebuilt(a: torch.Tensor) -> tuple[torch.Tensor, ...]:
        values, vectors = torch.linalg.eigh(a, UPLO=upper)
        return values, vectors @ (values[..., None] * vectors.mT), vectors.mT @ vectors

    a = _matrices(2, size, size)
    check(rebuilt, a + a.mT, dynamic=size > 2)


@pytest.mark.parametrize("make", [torch.zeros, torch.ones])
def test_eigenvalues_that_are_equal(make: Callable[..., torch.Tensor]) -> None:
    """Compute equal eigenvalues up to a rounding error of the largest one, whose square may overflow."""
    for scale in (1.0, 1e200):
        check(lambda a, scale=scale: torch.linalg.eigvalsh(a * scale) / scale, make(4, 4, dtype=torch.float64))


@pytest.mark.slow
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("shape", [(2, 5, 5), (7, 3), (3, 7), (1, 4)])
def test_singular_values(shape: tuple[int, ...], full: bool) -> None:
    def rebuilt(a: torch.Tensor) -> tuple[torch.Tensor, ...]:
        u, s, vh = torch.linalg.svd(a, full_matrices=full)
        k = s.shape[-1]
        return s, u[..., :k] @ (s[..., None] * vh[..., :k, :]), u.mT @ u, vh @ vh.mT

    check(rebuilt, _matrices(*shape), dynamic=not full and len(shape) == 3)


def test_singular_values_that_are_zero() -> None:
    """Check that vectors of zero singular values are orthogonal to the others."""

    def rebuilt(a: torch.Tensor) -> tuple[torch.Tensor, ...]:
        u, s, vh = torch.linalg.svd(a)
        return s, u @ (s[..., None] * vh), u.mT @ u, vh @ vh.mT

    check(rebuilt, torch.ones(4, 4, dtype=torch.float64))
    check(rebuilt, torch.zeros(3, 3, dtype=torch.float64))


def test_exponential() -> None:
    check(
        torch.linalg.matrix_exp, torch.stack([_matrices(4, 4), 20 * torch.eye(4).double(), torch.zeros(4, 4).double()])
    )


def test_distances() -> None:
    powers = (0.0, 1.0, 1.5, 2.0, float("inf"))
    pair = (_matrices(2, 4, 3), _matrices(2, 5, 3, seed=1))
    check(lambda x, y: [torch.cdist(x, y, p=p) for p in powers], *pair, dynamic=True)
    check(lambda x: [torch.nn.functional.pdist(x, p=p) for p in powers], _matrices(5, 3))


def _symmetric(*shape: int) -> torch.Tensor:
    """Return a matrix with pivots of one row and of two."""
    a = _matrices(*shape)
    return a + a.mT


@pytest.mark.parametrize("shape", [(2, 9, 9), (0, 2, 2)])
def test_ldl_factors(shape: tuple[int, ...]) -> None:
    """Ignore the elements above the diagonal. Pivots, and rows of zeros, are LAPACK's."""
    check(lambda a: tuple(torch.linalg.ldl_factor_ex(a.tril())), _symmetric(*shape), dynamic=0 not in shape)
    zeros = torch.zeros(3, 3, dtype=torch.float64)
    zeros[2, 2] = 1
    check(lambda a: tuple(torch.linalg.ldl_factor_ex(a)), zeros)


def test_ldl_systems() -> None:
    def solve(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.linalg.ldl_solve(*torch.linalg.ldl_factor(a), b)

    check(solve, _symmetric(2, 9, 9), _matrices(9, 3), dynamic=True)


def _distances_to_eigenvalues(a: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Return the residuals, which are zero for eigenvectors, and the lengths."""
    values, vectors = torch.linalg.eig(a)
    wrong = a.to(vectors.dtype) @ vectors - vectors * values[..., None, :]
    return wrong.abs(), vectors.abs().square().sum(-2), torch.view_as_real(values)


@pytest.mark.parametrize("size", [1, 2, 7])
def test_general_eigenvalues(size: int) -> None:
    check(_distances_to_eigenvalues, _matrices(3, size, size), dynamic=True)
    check(lambda a: torch.view_as_real(torch.linalg.eigvals(a)), _matrices(size, size))


def test_eigenvalues_of_special_matrices() -> None:
    """Compute a triangular matrix exactly, also permuted, a rotation, and a matrix with equal eigenvalues."""
    a, up = _matrices(5, 5).triu(), torch.tensor([3, 1, 4, 0, 2])
    skew = _matrices(5, 5)
    special = [a.T, a[up][:, up], torch.eye(5).double().roll(1, 0), skew - skew.T, torch.ones(5, 5).double().triu()]
    run = PEER.compiled(PEER.imported(exported(_distances_to_eigenvalues, [a])))
    for each in special:
        wrong, lengths, values = run([each.contiguous()])
        wanted = torch.view_as_real(torch.linalg.eigvals(each))
        torch.testing.assert_close(wrong, torch.zeros_like(wrong))
        torch.testing.assert_close(lengths, torch.ones_like(lengths))
        torch.testing.assert_close(values, wanted)


def test_eigenvalues_of_what_is_not_finite() -> None:
    a = torch.full((3, 3), float("nan"))
    run = PEER.compiled(PEER.imported(exported(lambda a: torch.linalg.eigvals(a).real, [a])))
    assert run([a])[0].isnan().all()
