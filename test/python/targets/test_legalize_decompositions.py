# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decompositions by LAPACK, and by loops where LAPACK is missing, against numpy."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy
import pytest
from numpy.testing import assert_allclose
from prim_jit import run_op
from relax_mlir.dialects.core.dialect import find_op
from relax_mlir.runtime import libraries
from relax_mlir.targets.llvm import legalize_decompositions

import relax_mlir as rx
from relax_mlir import relax

DTYPES = ("float32", "float64", "complex64", "complex128")
#: Element types with LAPACK, and with the loops of targets without LAPACK.
IMPLEMENTATIONS = [*((dtype, False) for dtype in DTYPES), *((dtype, True) for dtype in DTYPES[:2])]
SHAPES = [(2, 3, 4, 4), (2, 4, 6), (5, 3), (1, 1), (2, 0, 3), (3, 0), (0, 3, 3)]


def draw(dtype: str, *shape: int) -> Any:
    random = numpy.random.default_rng(sum(shape))
    real = random.standard_normal(shape)
    return (real + 1j * random.standard_normal(shape) if dtype.startswith("complex") else real).astype(dtype)


def adjoint(a: Any) -> Any:
    return numpy.swapaxes(a, -1, -2).conj()


def run_linalg(name: str, kinds: str, *operands: Any, **attributes: Any) -> list[Any]:
    """Run an operator. 'c' is a result with elements like the operands', 'p' a complex one."""
    is_complex = numpy.iscomplexobj(operands[0])
    pairs = [numpy.stack([a.real, a.imag], -1) if numpy.iscomplexobj(a) else a for a in operands]
    if "complex" in find_op(f"relax.linalg.{name}").attrs:
        attributes["complex"] = is_complex
    results = run_op(f"relax.linalg.{name}", *pairs, **attributes)
    listed = results if isinstance(results, tuple) else (results,)
    return [
        result[..., 0] + 1j * result[..., 1] if kind == "p" or (kind == "c" and is_complex) else result
        for result, kind in zip(listed, kinds, strict=True)
    ]


def agree(one: Any, other: Any) -> None:
    tolerance = 1e-4 if numpy.asarray(one).dtype.name in ("float32", "complex64") else 1e-11
    assert_allclose(one, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("dtype", "default_rules"), IMPLEMENTATIONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_factors_multiply_to_the_matrix(dtype: str, shape: tuple[int, ...], default_rules: bool) -> None:
    run = functools.partial(run_linalg, default_rules=default_rules)
    a = draw(dtype, *shape)
    lu, pivots, _ = run("lu_factor", "cii", a)
    m, k, swapped = shape[-2], pivots.shape[-1], a.copy()
    for place in numpy.ndindex(*shape[:-2]):
        for row, pivot in enumerate(pivots[place]):
            swapped[place][[row, pivot - 1]] = swapped[place][[pivot - 1, row]]
    agree((numpy.tril(lu[..., :k], -1) + numpy.eye(m, k)).astype(dtype) @ numpy.triu(lu[..., :k, :]), swapped)
    qr, tau = run("qr_factor", "cc", a)
    agree(run("multiply_q", "c", qr, tau, numpy.triu(qr))[0], a)
    agree(run("multiply_q", "c", qr, tau, a, adjoint=True)[0], numpy.triu(qr))


@pytest.mark.parametrize(("dtype", "default_rules"), IMPLEMENTATIONS)
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_factors_and_triangular_systems(dtype: str, upper: bool, default_rules: bool) -> None:
    run = functools.partial(run_linalg, default_rules=default_rules)
    a, b = draw(dtype, 2, 3, 5, 5), draw(dtype, 2, 3, 5, 2)
    positive = (a @ adjoint(a) + 5 * numpy.eye(5)).astype(dtype)
    half = numpy.triu if upper else numpy.tril
    factor, info = run("cholesky", "ci", half(positive), upper=upper)
    agree(adjoint(factor) @ factor if upper else factor @ adjoint(factor), positive)
    assert not info.any() and run("cholesky", "ci", -positive, upper=upper)[1].tolist() == [[1] * 3] * 2
    turned = {"none": lambda x: x, "transpose": lambda x: numpy.swapaxes(x, -1, -2), "adjoint": adjoint}
    for form, turn in turned.items():
        agree(turn(half(positive)) @ run("solve_triangular", "c", positive, b, upper=upper, transpose=form)[0], b)
    (x,) = run("solve_triangular", "c", positive / 20, b, upper=upper, unit_diagonal=True)
    agree((half(positive / 20) * (1 - numpy.eye(5)) + numpy.eye(5)).astype(dtype) @ x, b)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_eigenvalues_and_singular_values(dtype: str, shape: tuple[int, ...]) -> None:
    a = draw(dtype, *shape)
    for is_full in (False, True):
        values, _, u, vh = run_linalg("svd", "ricc", a, full_matrices=is_full)
        agree((u[..., : values.shape[-1]] * values[..., None, :]) @ vh[..., : values.shape[-1], :], a)
        for vectors in (adjoint(u) @ u, vh @ adjoint(vh)):
            agree(vectors, numpy.broadcast_to(numpy.eye(vectors.shape[-1]), vectors.shape))
    agree(run_linalg("svd", "ri", a, compute_uv=False)[0], numpy.linalg.svd(a, compute_uv=False))
    a = a @ draw(dtype, *shape[:-2], *shape[:-3:-1])
    both = a + adjoint(a)
    for upper, half in ((False, numpy.tril), (True, numpy.triu)):
        values, _, vectors = run_linalg("eigh", "ric", half(both), upper=upper)
        agree(both @ vectors, vectors * values[..., None, :])
        agree(run_linalg("eigh", "ri", half(both), upper=upper, compute_vectors=False)[0], numpy.linalg.eigvalsh(both))
    values, info, left, right = run_linalg("eig", "pipp", a, left=True)
    agree(a @ right, right * values[..., None, :])
    agree(adjoint(left) @ a, values[..., None] * adjoint(left))
    t, _, _, z = run_linalg("schur", "cpic", a)
    agree(z @ t @ adjoint(z), a)
    assert not info.any() and not numpy.tril(t, -2).any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "matrix",
    [
        numpy.zeros((4, 4)),
        numpy.eye(4),
        numpy.diag([2.0, 2.0, 0.0, 0.0]),
        numpy.ones((4, 4)),
        numpy.eye(4, k=1),
        1e-30 * numpy.arange(16.0).reshape(4, 4),
        1e18 * numpy.arange(16.0).reshape(4, 4),
    ],
    ids=["zeros", "identity", "equal and zero values", "rank 1", "nilpotent", "tiny", "huge"],
)
def test_special_matrices_are_products_of_their_factors(dtype: str, matrix: Any) -> None:
    a = matrix.astype(dtype)
    size = float(abs(matrix).max()) or 1.0
    unit = a / size
    values, info, u, vh = run_linalg("svd", "ricc", a)
    assert not info.any() and (values >= 0).all() and (numpy.diff(values) <= 0).all()
    agree((u * (values / size)) @ vh, unit)
    both = (a + adjoint(a)) / 2
    values, info, vectors = run_linalg("eigh", "ric", both)
    assert not info.any() and (numpy.diff(values) >= 0).all()
    agree((vectors * (values / size)) @ adjoint(vectors), both / size)
    t, _, info, z = run_linalg("schur", "cpic", a)
    assert not info.any()
    agree(z @ (t / size) @ adjoint(z), unit)
    values, info, _ = run_linalg("eig", "pip", a)
    # Eigenvalues of a defective matrix have half of the digits.
    assert_allclose(values.sum() / size, numpy.trace(unit), atol=1e-3)


@pytest.mark.parametrize("default_rules", [False, True])
def test_singular_matrices_have_a_first_zero_pivot(default_rules: bool) -> None:
    a = numpy.array([[[1, 2, 3], [2, 4, 6], [1, 0, 1]], [[0, 0, 0], [0, 1, 0], [0, 0, 1]], numpy.eye(3)])
    run = functools.partial(run_linalg, default_rules=default_rules)
    assert run("lu_factor", "cii", a)[2].tolist() == [3, 1, 0]
    assert run("cholesky", "ci", a)[1].tolist() == [2, 1, 0]
    qr, tau = run("qr_factor", "cc", numpy.zeros((3, 2)))
    assert not qr.any() and not tau.any()


def test_symmetric_systems_refuse_pivots_of_no_row() -> None:
    matrix = numpy.array([[0.0, 1, 2], [1, 0, 3], [2, 3, 0]])
    ld, pivots, info = run_linalg("ldl_factor", "cii", matrix)
    b = numpy.arange(6.0).reshape(3, 2)
    agree(matrix @ run_linalg("ldl_solve", "c", ld, pivots, b)[0], b)
    assert info == 0 and (pivots < 0).any()
    for wrong in ([0, 1, 2], [9, 2, 3], [1, 2, -3], [-2, -3, 3], [1, 1, 3], [-(2**31), -(2**31), 3]):
        x = run_linalg("ldl_solve", "c", ld, numpy.array(wrong, "int32"), b)[0]
        assert numpy.isnan(x).all()


def test_matrices_that_are_not_finite_have_no_values() -> None:
    for number in (numpy.nan, numpy.inf):
        a = numpy.array([[number, 1], [1, 2]])
        for name, kinds in (("eigh", "ric"), ("svd", "ricc"), ("eig", "pip")):
            values, info, *_ = run_linalg(name, kinds, a)
            assert numpy.isnan(values).all() and info > 0
    agree(run_linalg("eigh", "ric", numpy.array([[2, numpy.nan], [0, 1.0]]))[0], [1, 2])


def test_missing_lapack_is_reported_with_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse the operator on other targets and without LAPACK, and a saved program where LAPACK is missing."""
    module = rx.Module()
    with module.function("main", {"a": rx.tensor(("n", "m"), "float64")}) as f:
        f.returns(relax.linalg.svd(*f, compute_uv=False)[0])
    with pytest.raises(rx.RefusalError, match="svd for target 'cuda': the operator needs LAPACK, which runs on CPUs"):
        rx.compile(module, "cuda")
    rx.compile(module).save(tmp_path / "program.rxa")
    agree(numpy.from_dlpack(rx.runtime.load(tmp_path / "program.rxa")["main"](numpy.eye(3, 2))), [1, 1])
    for place in (legalize_decompositions, libraries):
        monkeypatch.setattr(place, "find_lapack", lambda: "")
    with pytest.raises(rx.RefusalError, match=r"svd .* LAPACK is missing .*pip install 'relax-mlir\[lapack\]'"):
        rx.compile(module, cache=False)
    with pytest.raises(rx.runtime.ArtifactError, match=r"the program calls LAPACK\. .*'relax-mlir\[lapack\]'"):
        rx.runtime.load(tmp_path / "program.rxa")
