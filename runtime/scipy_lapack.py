# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LAPACK for complex matrices: packed functions that call SciPy, which programs find by name.

A function takes its options, as numbers, then tensors, and returns an array of tensors. Complex numbers are pairs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ..support.lapack_names import NEEDS, PREFIX
from .arrays import tensor, to_numpy
from .complex_arrays import in_pairs, of_pairs

if TYPE_CHECKING:
    from numpy import ndarray
    from numpy.typing import ArrayLike

    from .foreign_types import Tensor

#: Functions of SciPy for one dtype, by LAPACK's names.
Lapack: TypeAlias = Callable[[str], Callable[..., Any]]
#: Shape of one matrix's result, and its kind: complex, real or integer.
Result = tuple[tuple[int, ...], str]
_PARTS = {"complex64": "float32", "complex128": "float64"}


class Routine(NamedTuple):
    """Routine of LAPACK: its options, and a letter per argument, 'c' for complex numbers."""

    options: int
    arguments: str
    #: `compute(lapack, options, matrices)` returns the results of one matrix, by functions of scipy.linalg.lapack.
    compute: Callable[..., Sequence[ArrayLike]]
    #: `results(options, *shapes)` returns shapes and kinds of the results for matrices of these shapes.
    results: Callable[..., Sequence[Result]]


def _square(*kinds: str) -> Callable[..., Sequence[Result]]:
    """Return the results of an n by n matrix: "nn c" is a complex matrix, "n r" a real vector, "m" n - 1, " i" a
    number."""

    def results(options: Sequence[int], shape: Sequence[int], *rest: Sequence[int]) -> list[Result]:
        extents = {"n": shape[-1], "m": max(shape[-1] - 1, 0)}
        return [(tuple(extents[each] for each in kind[:-2]), kind[-1]) for kind in kinds]

    return results


def _rectangular(*kinds: str) -> Callable[..., Sequence[Result]]:
    """Return the results of an m by n matrix; k is the smaller extent."""

    def results(options: Sequence[int], shape: Sequence[int], *rest: Sequence[int]) -> list[Result]:
        extents = {"m": shape[0], "n": shape[1], "k": min(shape)}
        return [(tuple(extents[each] for each in kind[:-2]), kind[-1]) for kind in kinds]

    return results


def _svd_results(options: Sequence[int], shape: Sequence[int]) -> list[Result]:
    m, n = shape
    rows, columns = (m, n) if options[1] else (min(m, n), min(m, n))
    return [((m, n), "c"), ((min(m, n),), "r"), ((m, rows), "c"), ((columns, n), "c"), ((), "i")]


def _svd(name: str) -> Callable[..., Sequence[ArrayLike]]:
    def compute(of: Lapack, options: Sequence[int], a: ndarray) -> Sequence[ArrayLike]:
        with_vectors, is_full = options
        u, s, vt, info = of(name)(a, compute_uv=with_vectors, full_matrices=is_full)
        return [a, s, u, vt, info] if with_vectors else [a, s, 0, 0, info]

    return compute


def _potrf(of: Lapack, options: Sequence[int], a: ndarray) -> Sequence[ArrayLike]:
    return of("potrf")(a, lower=options[0], clean=0)


def _getrf(of: Lapack, options: Sequence[int], a: ndarray) -> Sequence[ArrayLike]:
    lu, pivots, info = of("getrf")(a)
    return [lu, pivots + 1, info]


def _geqrf(of: Lapack, options: Sequence[int], a: ndarray) -> Sequence[ArrayLike]:
    qr, tau, _, _ = of("geqrf")(a)
    return [qr, tau]


def _ungqr(of: Lapack, options: Sequence[int], a: ndarray, tau: ndarray) -> Sequence[ArrayLike]:
    return [of("ungqr")(a, tau)[0]]


def _unmqr(of: Lapack, options: Sequence[int], a: ndarray, tau: ndarray, c: ndarray) -> Sequence[ArrayLike]:
    side, turn = "L" if options[0] else "R", "C" if options[1] else "N"
    return [of("unmqr")(side, turn, a[:, : len(tau)], tau, c, max(1, *c.shape) * 32)[0]]


def _heevd(of: Lapack, options: Sequence[int], a: ndarray) -> Sequence[ArrayLike]:
    values, vectors, info = of("heevd")(a, lower=options[0])
    return [vectors, values, info]


def _geev(of: Lapack, options: Sequence[int], a: ndarray) -> Sequence[ArrayLike]:
    values, left, right, info = of("geev")(a, compute_vl=options[0], compute_vr=options[1])
    return [values, left if options[0] else 0, right if options[1] else 0, info]


def _gees(of: Lapack, options: Sequence[int], a: ndarray) -> Sequence[ArrayLike]:
    t, count, values, vectors, _, info = of("gees")(lambda value: None, a, compute_v=options[0])
    return [t, vectors if options[0] else 0, values, count, info]


def _gehrd(of: Lapack, options: Sequence[int], a: ndarray) -> Sequence[ArrayLike]:
    return of("gehrd")(a)


def _hetrd(of: Lapack, options: Sequence[int], a: ndarray) -> Sequence[ArrayLike]:
    return of("hetrd")(a, lower=options[0])


def _gtsv(of: Lapack, options: Sequence[int], low: ndarray, d: ndarray, up: ndarray, b: ndarray) -> Sequence[ArrayLike]:
    second, pivots, first, x, info = of("gtsv")(low[1:], d, up[:-1], b)
    return [[*second, *[0] * (len(d) - len(second))], pivots, [*first, up[-1]], x, info]


def _geqp3(of: Lapack, options: Sequence[int], a: ndarray, chosen: ndarray) -> Sequence[ArrayLike]:
    if chosen.any():
        raise RuntimeError("geqp3 of complex numbers puts no columns first: jpvt must be 0")
    qr, order, tau, _, _ = of("geqp3")(a)
    return [qr, order, tau]


def _trsm(of: Lapack, options: Sequence[int], a: ndarray, b: ndarray) -> Sequence[ArrayLike]:
    is_left, is_lower, turn, is_unit = options
    return [of("trsm")(1, a, b, side=not is_left, lower=is_lower, trans_a=turn, diag=is_unit)]


ROUTINES = {
    "potrf": Routine(1, "c", _potrf, _square("nn c", " i")),
    "getrf": Routine(0, "c", _getrf, _rectangular("mn c", "k i", " i")),
    "geqrf": Routine(0, "c", _geqrf, _rectangular("mn c", "k c")),
    "ungqr": Routine(0, "cC", _ungqr, _rectangular("mn c")),
    "unmqr": Routine(2, "cCc", _unmqr, lambda options, a, tau, c: [(tuple(c), "c")]),
    "heevd": Routine(1, "c", _heevd, _square("nn c", "n r", " i")),
    "gesdd": Routine(2, "c", _svd("gesdd"), _svd_results),
    "gesvd": Routine(2, "c", _svd("gesvd"), _svd_results),
    "geev": Routine(2, "c", _geev, _square("n c", "nn c", "nn c", " i")),
    "gees": Routine(1, "c", _gees, _square("nn c", "nn c", "n c", " i", " i")),
    "gehrd": Routine(0, "c", _gehrd, _square("nn c", "m c", " i")),
    "hetrd": Routine(1, "c", _hetrd, _square("nn c", "n r", "m r", "m c", " i")),
    "gtsv": Routine(
        0, "CCCc", _gtsv, lambda options, low, d, up, b: [*[(tuple(d), "c")] * 3, (tuple(b), "c"), ((), "i")]
    ),
    "geqp3": Routine(0, "cI", _geqp3, _rectangular("mn c", "n i", "k c")),
    "trsm": Routine(4, "cc", _trsm, lambda options, a, b: [(tuple(b), "c")]),
}


@functools.lru_cache(maxsize=1)
def register_lapack() -> None:
    """Register the packed functions. Each imports SciPy when it is called."""
    from .ffi import tvm_ffi

    for name, routine in ROUTINES.items():
        tvm_ffi.register_global_func(PREFIX + name, functools.partial(_call, name, routine), override=True)


def _call(name: str, routine: Routine, *arguments: Any) -> list[Tensor]:
    import numpy

    options = [int(argument) for argument in arguments[: routine.options]]
    given = [to_numpy(argument) for argument in arguments[routine.options :]]
    arrays = [
        each if kind == "I" else numpy.asarray(of_pairs(each))
        for each, kind in zip(given, routine.arguments, strict=True)
    ]
    # Capital letters denote vectors.
    ranks = [1 if kind.isupper() else 2 for kind in routine.arguments]
    lead = arrays[0].shape[: arrays[0].ndim - ranks[0]]
    shapes = [array.shape[array.ndim - rank :] for array, rank in zip(arrays, ranks, strict=True)]
    part = _PARTS[arrays[0].dtype.name]
    dtypes = {"c": arrays[0].dtype.name, "r": part, "i": "int32"}
    results = [numpy.zeros((*lead, *shape), dtypes[kind]) for shape, kind in routine.results(options, *shapes)]
    functions = _functions(name, arrays[0].dtype.name)
    for place in numpy.ndindex(*lead) if all(map(all, shapes)) else ():
        found = routine.compute(functions, options, *(array[place] for array in arrays))
        for result, each in zip(results, found, strict=True):
            result[place] = each
    pairs: list[Any] = [in_pairs(each, part, name) if each.dtype.kind == "c" else each for each in results]
    return list(map(tensor, pairs))


def _functions(name: str, dtype: str) -> Lapack:
    """Return SciPy's functions for a dtype, by LAPACK's names."""
    try:
        from scipy.linalg import blas, lapack
    except ImportError as error:
        raise RuntimeError(f"lapack {name}: {NEEDS}") from error
    letter = "c" if dtype == "complex64" else "z"
    return lambda each: getattr(lapack if hasattr(lapack, letter + each) else blas, letter + each)
