# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One case for each operator, interpreted and compiled for llvm: both must give the same numbers."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import relax_mlir as rx
from gpu_operator_cases import FAMILIES, Case, cases_of, function_name, module_of
from relax_mlir.dialects.relax.constants import storage_dtype


def check(found: Any, expected: Any, name: str, tolerance: float = 1e-5) -> None:
    for one, other in zip(*(each if isinstance(each, tuple) else (each,) for each in (found, expected)), strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype), name
        if one.dtype.kind == "f" or (one.dtype.isbuiltin == 2 and "float" in one.dtype.name):
            wide = [each.astype("float64") for each in (one, other)]
            numpy.testing.assert_allclose(*wide, rtol=tolerance, atol=tolerance, err_msg=name)
        else:
            numpy.testing.assert_array_equal(one, other, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_every_operator(family: str) -> None:
    cases: dict[str, Case] = cases_of(family, is_open=False)
    module = module_of(cases, is_open=False)
    reference = rx.reference(module)
    compiled = rx.compile(module).copying()
    for name, case in cases.items():
        function = function_name(name)
        expected = compiled[function](*case.arrays)
        expected = tuple(expected) if isinstance(expected, (tuple, list)) else expected
        check(reference[function](*case.arrays), expected, name)


_BOTH = "add subtract multiply divide floor_divide mod floor_mod maximum minimum equal less greater_equal atan2"
_INTEGER = "power left_shift right_shift bitwise_and bitwise_xor"
_UNARY = "abs negative sign square ceil round isinf isnan"
_FLOAT_UNARY = "acos asinh atan cosh erf exp log sigmoid sqrt rsqrt tan tanh"
#: Of floats more than a step of the type: where a result is rounded, or an approximation.
_TOLERANCES = {"f64": 4e-15, "f32": 1e-6, "f16": 2e-3, "bf16": 1.6e-2, "f8E4M3FN": 0.0, "f8E5M2": 2e-5}
_SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.5, -3.5, 1e-3, numpy.inf, -numpy.inf, numpy.nan]


def special(dtype: str) -> Any:
    """Return the ends of the range, the special values, and some random values."""
    random, stored = numpy.random.default_rng(11), storage_dtype(dtype)
    if dtype[:2] == "f8":
        return numpy.arange(0, 256, 11, dtype="uint8").view(stored)
    if dtype in ("i4", "ui4"):
        return (numpy.arange(16) - (8 if dtype == "i4" else 0)).astype(stored)
    if dtype in _TOLERANCES:
        return numpy.concatenate([_SPECIAL, random.normal(scale=4, size=14)]).astype(stored)
    limits = numpy.iinfo(stored)
    ends = numpy.array([limits.min, limits.max, 0, 1, 2, limits.max - 1, limits.min + 1, 7, 8, 63], stored)
    return numpy.concatenate([ends, random.integers(limits.min, limits.max, 14, stored, endpoint=True)])


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["i4", "ui4", "i8", "ui8", "i16", "i32", "ui32", "i64", "ui64", *_TOLERANCES])
def test_special_values(dtype: str) -> None:
    """Compare all pairs of special values."""
    values = special(dtype)
    x, y = (numpy.ascontiguousarray(each.ravel()) for each in numpy.meshgrid(values, values))
    is_float = dtype in _TOLERANCES
    module = rx.Module()
    for name in f"{_UNARY} {_FLOAT_UNARY if is_float else 'bitwise_not'}".split():
        with module.function(name, [rx.tensor(x.shape, dtype)]) as f:
            f.returns(rx.find_op(f"relax.{name}")(*f))
    for name in f"{_BOTH} {'power log_add_exp' if is_float else _INTEGER}".split():
        with module.function(name, [rx.tensor(x.shape, dtype)] * 2) as f:
            f.returns(rx.find_op(f"relax.{name}")(*f))
    for target in ("i8", "ui8", "i32", "ui64", "i1", "bf16", "f16", "f8E4M3FN", "f8E5M2", "i4"):
        if target != dtype:
            with module.function(f"to_{target}", [rx.tensor(x.shape, dtype)]) as f:
                f.returns(rx.relax.astype(*f, dtype=target))
    reference, executable = rx.reference(module), rx.compile(module)
    compiled = executable.copying()
    for name in reference:
        given = [x, y][: len(executable.signature(name)["inputs"])]
        expected = compiled[name](*given)
        check(reference[name](*given), expected, f"{name} of {dtype}", _TOLERANCES.get(dtype, 0))
