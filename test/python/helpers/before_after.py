# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results of a module before and after a pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy
from relax_mlir.bindings.navigation import body_of, functions_in, operations_in, symbol_name
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.infos import is_float
from relax_mlir.dialects.relax.known_constants import NUMPY_NAME
from relax_mlir.runtime import to_numpy

import relax_mlir as rx

Pass = str | Callable[[rx.Module], object]


def changed(module: rx.Module, change: Pass) -> rx.Module:
    """Return a copy of the module after a pass, which is an object or the text of a pipeline."""
    copied = module.copy()
    (rx.Pipeline(change).run if isinstance(change, str) else change)(copied)
    copied.verify()
    return copied


def keeps_results(
    module: rx.Module,
    change: Pass,
    arrays: Sequence[Any] | None = None,
    *,
    function: str = "main",
    sizes: Mapping[str, int] | None = None,
    tolerance: float = 1e-4,
) -> rx.Module:
    """Check that a function gives the same results before and after a pass, and return the changed module.

    Without arrays the parameters are random; symbols are 5 or the values in `sizes`. Tolerance 0 compares to the last
    bit.
    """
    given = random_arrays(module, function, sizes or {}) if arrays is None else arrays
    after = changed(module, change)
    expected, actual = results_of(module, given, function), results_of(after, given, function)
    for index, (one, other) in enumerate(zip(expected, actual, strict=True)):
        assert (one.dtype, one.shape) == (other.dtype, other.shape), f"result #{index} of\n{after.script()}"
        wide = [each.astype("float64") if each.dtype.kind == "f" else each for each in (one, other)]
        close = numpy.allclose(*wide, rtol=tolerance, atol=tolerance, equal_nan=True)
        assert close, f"result #{index}: {one}\nbecame {other}\nin\n{module.script()}\nwhich became\n{after.script()}"
    return after


def results_of(module: rx.Module, arrays: Sequence[Any], function: str = "main") -> list[Any]:
    results = rx.compile(module, opt_level=0)[function](*arrays)
    many = len(functions_by_name(module)[function].attributes["function_type"].value.results) != 1
    return [to_numpy(each) for each in (results if many else [results])]


def functions_by_name(module: rx.Module) -> dict[str, Any]:
    return {symbol_name(each): each for each in functions_in(module.operation)}


def random_arrays(module: rx.Module, function: str = "main", sizes: Mapping[str, int] | None = None) -> list[Any]:
    random = numpy.random.default_rng(7)
    arrays = []
    for parameter in body_of(functions_by_name(module)[function]).arguments:
        info: Any = decode(parameter.type)
        shape = [size if isinstance(size, int) else (sizes or {}).get(str(size), 5) for size in info.shape]
        dtype = NUMPY_NAME[info.dtype]
        numbers = random.standard_normal(shape) if is_float(info.dtype) else random.integers(0, 9, shape)
        arrays.append(numbers.astype(dtype))
    return arrays


def op_names(module: rx.Module, prefix: str = "relax.") -> list[str]:
    """Return the names of a dialect's operations in a module, in program order."""
    return [op.name for op in operations_in(module.operation) if op.name.startswith(prefix)]
