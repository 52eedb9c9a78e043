# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Factorizations, systems of equations, eigenvalues and distances."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from imported import check, exported

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


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(2, 4, 4), (5, 3), (3, 5), (0, 2, 2)])
def test_lu_and_qr(shape: tuple[int, ...]) -> None:
    a, dynamic = _matrices(*shape), 0 not in shape
    check(lambda a: tuple(torch.linalg.lu_factor_ex(a)), a, dynamic=dynamic)
    check(lambda a: tuple(torch.linalg.lu(a)), a)
    for mode in ("reduced", "complete"):
        check(lambda a, mode=mode: tuple(torch.linalg.qr(a, mode=mode)), a, dynamic=dynamic)


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


def _rebuilt(a: torch.Tensor, full: bool) -> list[torch.Tensor]:
    u, s, vh = torch.linalg.svd(a, full_matrices=full)
    count = s.shape[-1]
    return [s, u[..., :count] @ (s[..., None] * vh[..., :count, :]), u.mH @ u, vh @ vh.mH, torch.linalg.svdvals(a)]


def _eigen(a: torch.Tensor, half: str) -> list[torch.Tensor]:
    values, vectors = torch.linalg.eigh(a + a.mH, half)
    return [values, vectors @ (values[..., None] * vectors.mH), torch.linalg.eigvalsh(a + a.mH, half)]


_OF_COMPLEX: dict[str, Callable[..., object]] = {
    "cholesky": lambda a, _: [torch.linalg.cholesky(a @ a.mH, upper=upper) for upper in (False, True)],
    "cholesky_solve": lambda a, b: [torch.cholesky_solve(b, a, upper=upper) for upper in (False, True)],
    "lu": lambda a, _: tuple(torch.linalg.lu_factor_ex(a)),
    "lu_solve": lambda a, b: [
        torch.linalg.lu_solve(*torch.linalg.lu_factor(a), b if left else b.mT, left=left, adjoint=adjoint)
        for left in (False, True)
        for adjoint in (False, True)
    ],
    "qr": lambda a, b: [*torch.linalg.qr(b), *torch.linalg.qr(b, mode="complete"), torch.linalg.qr(b.mT, mode="r")[1]],
    "householder": lambda a, b: torch.linalg.householder_product(*torch.geqrf(b)),
    "triangular": lambda a, b: [
        torch.linalg.solve_triangular(a, b if left else b.mT, upper=upper, left=left)
        for upper in (False, True)
        for left in (False, True)
    ],
    "solve": lambda a, b: (torch.linalg.solve(a, b), torch.linalg.solve(a, b.mT, left=False)),
    "solve for vectors": lambda a, b: torch.linalg.solve(a, b[..., 0]),
    "solve of a shared side": lambda a, b: torch.linalg.solve(a, b[0]),
    "inverse": lambda a, _: torch.linalg.inv(a),
    "eigh": lambda a, _: [*_eigen(a, "L"), *_eigen(a, "U")],
    "svd": lambda a, b: [*_rebuilt(b, False), *_rebuilt(b, True)],
}


@pytest.mark.parametrize("name", _OF_COMPLEX)
def test_complex_matrices(name: str) -> None:
    a, b = _matrices(3, 4, 4, dtype=torch.complex128), _matrices(3, 4, 2, dtype=torch.complex128, seed=1)
    check(_OF_COMPLEX[name], a + 3 * torch.eye(4), b, dynamic=name != "householder")


@pytest.mark.parametrize("function", [torch.linalg.inv, torch.linalg.cholesky])
def test_matrices_without_result_raise(function: Callable[..., torch.Tensor]) -> None:
    run = rx.compile(rx.from_torch(exported(function, [torch.eye(2)])))["main"]
    torch.testing.assert_close(run(torch.eye(2) * 4), function(torch.eye(2) * 4))
    with pytest.raises(Exception, match=r"singular|not positive definite"):
        run(torch.ones(2, 2))


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(2, 5, 5), (7, 3), (3, 7), (1, 1)])
def test_eigenvalues_and_singular_values(shape: tuple[int, ...]) -> None:
    """Compare reconstructed matrices: vectors are defined only up to their signs."""

    def rebuilt(a: torch.Tensor) -> list[torch.Tensor]:
        squares = a @ a.mT
        return [*_rebuilt(a, False), *_rebuilt(a, True), *_eigen(squares, "L"), *_eigen(squares, "U")]

    check(rebuilt, _matrices(*shape), dynamic=len(shape) == 3)


def test_exponential() -> None:
    check(
        torch.linalg.matrix_exp, torch.stack([_matrices(4, 4), 20 * torch.eye(4).double(), torch.zeros(4, 4).double()])
    )


def test_distances() -> None:
    powers = (0.0, 1.0, 1.5, 2.0, float("inf"))
    pair = (_matrices(2, 4, 3), _matrices(2, 5, 3, seed=1))
    check(lambda x, y: [torch.cdist(x, y, p=p) for p in powers], *pair, dynamic=True)
    check(lambda x: [torch.nn.functional.pdist(x, p=p) for p in powers], _matrices(5, 3))


@pytest.mark.parametrize("shape", [(2, 9, 9), (0, 2, 2)])
def test_ldl_factors(shape: tuple[int, ...]) -> None:
    """Ignore the elements above the diagonal. Pivots of one row and of two are LAPACK's."""
    a = _matrices(*shape)
    check(lambda a: tuple(torch.linalg.ldl_factor_ex(a.tril())), a + a.mT, dynamic=0 not in shape)
    check(lambda a, b: torch.linalg.ldl_solve(*torch.linalg.ldl_factor(a), b), a + a.mT, _matrices(shape[-1], 3))


def _distances_to_eigenvalues(a: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Return the residuals, which are zero for eigenvectors, and the lengths."""
    values, vectors = torch.linalg.eig(a)
    wrong = a.to(vectors.dtype) @ vectors - vectors * values[..., None, :]
    return wrong.abs(), vectors.abs().square().sum(-2), torch.view_as_real(values)


@pytest.mark.parametrize("size", [1, 2, 7])
def test_general_eigenvalues(size: int) -> None:
    check(_distances_to_eigenvalues, _matrices(3, size, size), dynamic=True)
    check(lambda a: torch.view_as_real(torch.linalg.eigvals(a)), _matrices(size, size))
