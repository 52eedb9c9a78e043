# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decompositions of matrices, by numpy.linalg and from the definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy
from relax_mlir.passes.evaluate.references import register_reference

if TYPE_CHECKING:
    from numpy import ndarray
    from relax_mlir.passes.evaluate.registry import EvaluationCall


def _pairs(numbers: ndarray) -> ndarray:
    return numpy.stack([numbers.real, numbers.imag], axis=-1)


def _operand(call: EvaluationCall, array: ndarray) -> ndarray:
    return (array[..., 0] + 1j * array[..., 1]) if call.complex else array


def _result(call: EvaluationCall, array: ndarray) -> ndarray:
    return _pairs(array) if call.complex else array


def _adjoint(a: ndarray) -> ndarray:
    return numpy.swapaxes(a, -1, -2).conj()


def _no_failures(a: ndarray) -> ndarray:
    return numpy.zeros(a.shape[:-2], "int32")


@register_reference("relax.linalg.cholesky")
def cholesky(call: EvaluationCall, a: ndarray) -> list[ndarray]:
    """Factorize positive definite matrices; numpy refuses others."""
    matrix = _operand(call, a)
    lower = numpy.linalg.cholesky(_adjoint(numpy.triu(matrix)) if call.upper else numpy.tril(matrix))
    return [_result(call, _adjoint(lower) if call.upper else lower), _no_failures(matrix)]


@register_reference("relax.linalg.solve_triangular")
def solve_triangular(call: EvaluationCall, a: ndarray, b: ndarray) -> ndarray:
    matrix = _operand(call, a)
    half = numpy.triu(matrix) if call.upper else numpy.tril(matrix)
    if call.unit_diagonal:
        eye = numpy.eye(half.shape[-1])
        half = half * (1 - eye) + eye
    turned = {"none": lambda x: x, "transpose": lambda x: numpy.swapaxes(x, -1, -2), "adjoint": _adjoint}
    return _result(call, numpy.linalg.solve(turned[call.transpose](half), _operand(call, b)))


@register_reference("relax.linalg.lu_factor")
def lu_factor(call: EvaluationCall, a: ndarray) -> list[ndarray]:
    lu = _operand(call, a).copy()
    pivots = numpy.zeros((*lu.shape[:-2], min(lu.shape[-2:])), "int32")
    info = _no_failures(lu)
    for place in numpy.ndindex(*lu.shape[:-2]):
        info[place] = _eliminate(lu[place], pivots[place])
    return [_result(call, lu), pivots, info]


def _eliminate(lu: ndarray, pivots: ndarray) -> int:
    """Factorize a matrix in place, and return the 1-based index of the first pivot that is 0, or 0."""
    info = 0
    for k in range(len(pivots)):
        # LAPACK compares complex numbers by this sum.
        place = k + int(numpy.argmax(abs(lu[k:, k].real) + abs(lu[k:, k].imag)))
        lu[[k, place]] = lu[[place, k]]
        pivots[k] = place + 1
        if lu[k, k] == 0:
            info = info or k + 1
            continue
        lu[k + 1 :, k] /= lu[k, k]
        lu[k + 1 :, k + 1 :] -= numpy.outer(lu[k + 1 :, k], lu[k, k + 1 :])
    return info


@register_reference("relax.linalg.qr_factor")
def qr_factor(call: EvaluationCall, a: ndarray) -> list[ndarray]:
    turned, tau = numpy.linalg.qr(_operand(call, a), mode="raw")
    return [_result(call, numpy.swapaxes(turned, -1, -2)), _result(call, tau)]


@register_reference("relax.linalg.multiply_q")
def multiply_q(call: EvaluationCall, qr: ndarray, tau: ndarray, c: ndarray) -> ndarray:
    vectors, factors, product = (_operand(call, operand) for operand in (qr, tau, c))
    count = min(factors.shape[-1], *vectors.shape[-2:])
    for k in range(count) if call.adjoint else reversed(range(count)):
        v = numpy.tril(vectors, -1)[..., :, k : k + 1] + numpy.eye(vectors.shape[-2])[:, k : k + 1]
        factor = factors[..., k, None, None]
        product = product - (factor.conj() if call.adjoint else factor) * (v @ (_adjoint(v) @ product))
    return _result(call, product)


@register_reference("relax.linalg.eigh")
def eigh(call: EvaluationCall, a: ndarray) -> list[ndarray]:
    matrix = _operand(call, a)
    values, vectors = numpy.linalg.eigh(matrix, "U" if call.upper else "L")
    return [values, _no_failures(matrix), *([_result(call, vectors)] if call.compute_vectors else [])]


@register_reference("relax.linalg.svd")
def svd(call: EvaluationCall, a: ndarray) -> list[ndarray]:
    matrix = _operand(call, a)
    u, values, vh = numpy.linalg.svd(matrix, full_matrices=call.full_matrices)
    return [values, _no_failures(matrix), *(_result(call, vectors) for vectors in (u, vh) if call.compute_uv)]


@register_reference("relax.linalg.eig")
def eig(call: EvaluationCall, a: ndarray) -> list[ndarray]:
    matrix = _operand(call, a)
    values, right = numpy.linalg.eig(matrix)
    left = _adjoint(numpy.linalg.inv(right)) if call.left else right
    left = left / numpy.linalg.norm(left, axis=-2, keepdims=True)
    return [_pairs(values), _no_failures(matrix), *map(_pairs, [left] * call.left + [right] * call.right)]
