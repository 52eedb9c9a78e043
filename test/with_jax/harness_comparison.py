# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Comparison of results for jax's table with those of jax's own compiler.

Decompositions of matrices are defined up to signs and null spaces: there the decomposed matrix is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.dtypes import issubdtype

#: Relative tolerances by element type.
_RELATIVE = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 2e-5, "complex64": 2e-5, "float64": 1e-12}
_USUAL = 1e-12
#: Of decompositions: some more, as errors of steps add up.
_FACTOR = 20
#: Groups with sums of many terms, which may cancel out: errors are relative to the largest result.
_SUMS = frozenset(
    "add_any conv_general_dilated cumlogsumexp cumsum custom_linear_solve digamma dot_general fft igammac lgamma lu "
    "reduce_sum reduce_window_add scatter_add select_and_scatter_add triangular_solve tridiagonal_solve".split()
)
UNSTABLE_SORT = "sort, not stable"
Arrays = Sequence[Any]


def difference(group: str, arguments: Arrays, got: Any, wanted: Any) -> str:
    """Return the difference of the results in one line, or an empty text."""
    if jax.tree.structure(got) != jax.tree.structure(wanted):
        return f"the structure {jax.tree.structure(got)}, jax has {jax.tree.structure(wanted)}"
    own, others = ([_plain(each) for each in jax.tree.leaves(tree)] for tree in (got, wanted))
    for place, (one, other) in enumerate(zip(own, others, strict=True)):
        if (one.shape, one.dtype) != (other.shape, other.dtype):
            return f"result {place}: {one.dtype}{[*one.shape]}, jax has {other.dtype}{[*other.shape]}"
    equation = _EQUATIONS.get(group)
    if equation is not None and arguments and not np.array_equal(*map(_bits_of, (own, others))):
        return equation(_plain(arguments[0]), own, others)
    for place, (one, other) in enumerate(zip(own, others, strict=True)):
        found = _apart(one, other, group in _SUMS)
        if found:
            return f"result {place}: {found}"
    return ""


def _plain(array: Any) -> np.ndarray:
    if issubdtype(getattr(array, "dtype", None), jax.dtypes.prng_key):
        array = jax.random.key_data(array)
    return np.asarray(array)


def _bits_of(arrays: Arrays) -> np.ndarray:
    return np.frombuffer(b"".join(each.tobytes() for each in arrays), "uint8")


def _wide(array: np.ndarray) -> np.ndarray:
    if issubdtype(array.dtype, np.complexfloating):
        return array.astype("complex128")
    return array.astype("float64") if issubdtype(array.dtype, np.floating) else array


def _apart(one: np.ndarray, other: np.ndarray, is_sum: bool = False, factor: float = 1) -> str:
    """Return the position at which two arrays of one type differ too much, or an empty text."""
    if not issubdtype(one.dtype, np.inexact):
        differ = one != other
        return _shown(differ, one, other) if differ.any() else ""
    relative = factor * _RELATIVE.get(one.dtype.name, _USUAL)
    wide, wanted = _wide(one), _wide(other)
    size = np.abs(np.where(np.isfinite(wanted), wanted, 0))
    least = size.max(initial=0) if is_sum else float(jax.numpy.finfo(one.dtype).tiny) / relative
    near = np.isclose(wide, wanted, rtol=relative, atol=relative * least, equal_nan=True)
    return "" if near.all() else _shown(~near, wide, wanted)


def _shown(differ: np.ndarray, one: np.ndarray, other: np.ndarray) -> str:
    first = tuple(int(each) for each in np.argwhere(differ)[0])
    return f"{int(differ.sum())} of {differ.size} differ, at {[*first]} {one[first]}, jax has {other[first]}"


# ---- decompositions: functions of the matrix, our results and jax's ----


def _near(one: np.ndarray, other: np.ndarray, kind: Any, what: str) -> str:
    found = _apart(one.astype(kind), other.astype(kind), True, _FACTOR)
    return f"{what}: {found}" if found else ""


def _transposed(a: np.ndarray) -> np.ndarray:
    return np.conj(np.swapaxes(a, -1, -2))


def _is_unitary(q: np.ndarray, kind: Any, what: str) -> str:
    return _near(
        _transposed(q) @ q, np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], *[q.shape[-1]] * 2)), kind, what
    )


def _of_svd(a: np.ndarray, own: Arrays, wanted: Arrays) -> str:
    values = next(each for each in own if each.ndim == a.ndim - 1)
    wanted_values = next(each for each in wanted if each.ndim == a.ndim - 1)
    found = _near(values, wanted_values, values.dtype, "singular values")
    if found or len(own) == 1:
        return found
    u, vh = (_wide(each) for each in own if each.ndim == a.ndim)
    count = values.shape[-1]
    made = (u[..., :count] * _wide(values)[..., None, :]) @ vh[..., :count, :]
    return (
        _near(made, _wide(a), a.dtype, "U S V")
        or _is_unitary(u, a.dtype, "U'U")
        or _is_unitary(_transposed(vh), a.dtype, "V'V")
    )


def _of_qr(a: np.ndarray, own: Arrays, wanted: Arrays) -> str:
    q, r = _wide(own[0]), _wide(own[1])
    found = _near(q @ r, _wide(a), a.dtype, "Q R") or _is_unitary(q, a.dtype, "Q'Q")
    return found or _near(r, np.triu(r), a.dtype, "R below its diagonal")


def _of_eigh(a: np.ndarray, own: Arrays, wanted: Arrays) -> str:
    vectors, values = (next(each for each in own if each.ndim == a.ndim - gone) for gone in (0, 1))
    wanted_values = next(each for each in wanted if each.ndim == a.ndim - 1)
    found = _near(values, wanted_values, values.dtype, "eigenvalues")
    v = _wide(vectors)
    whole = np.tril(_wide(a)) + _transposed(np.tril(_wide(a), -1))
    made = (v * _wide(values)[..., None, :]) @ _transposed(v)
    return found or _near(made, whole, a.dtype, "V D V'") or _is_unitary(v, a.dtype, "V'V")


def _of_cholesky(a: np.ndarray, own: Arrays, wanted: Arrays) -> str:
    """Ignore the elements above the diagonal, which are undefined."""
    return _near(np.tril(_wide(own[0])), np.tril(_wide(wanted[0])), a.dtype, "L")


def _of_top_k(a: np.ndarray, own: Arrays, wanted: Arrays) -> str:
    """Accept any choice among equal elements."""
    taken = np.take_along_axis(a, own[1], -1)
    return _apart(own[0], wanted[0]) or _apart(taken, wanted[0])


def _of_sort(a: np.ndarray, own: Arrays, wanted: Arrays) -> str:
    """Accept any order of elements with equal keys: the first array is the key, and rows stay together."""
    same = _rows(own) == _rows(wanted)
    return _apart(own[0], wanted[0]) or ("" if same else "other elements stand together")


def _rows(arrays: Arrays) -> list[tuple[Any, ...]]:
    return sorted(zip(*(each.ravel().tolist() for each in arrays), strict=True))


_EQUATIONS: dict[str, Callable[[np.ndarray, Arrays, Arrays], str]] = {
    "svd": _of_svd,
    "qr": _of_qr,
    "eigh": _of_eigh,
    "cholesky": _of_cholesky,
    UNSTABLE_SORT: _of_sort,
    "approx_top_k": _of_top_k,
}
