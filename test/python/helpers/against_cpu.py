# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Comparison of operators on a device with the same operators on the CPU."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy
from gpu_operator_cases import FAMILIES, cases_of, function_name, module_of
from relax_mlir.runtime import Executable, tensor, to_numpy

import relax_mlir as rx

#: The code of an elementwise operator is the same for known and for dynamic sizes.
CASES = [(family, is_open) for family in FAMILIES for is_open in (False, True) if is_open or family != "elementwise"]
IDS = [f"{family}-{'open' if is_open else 'known'}" for family, is_open in CASES]

#: A function of a program, by its name, on arrays.
Run = Callable[..., Any]


@functools.cache
def program(family: str, is_open: bool, target: str = "llvm") -> Executable:
    return rx.compile(module_of(cases_of(family, is_open), is_open), target)


def wrong_operators(family: str, is_open: bool, run: Run) -> Iterator[str]:
    """Yield the differences from the CPU. `run(function, *tensors)` calls a function of the device's program."""
    on_cpu = program(family, is_open)
    for name, case in cases_of(family, is_open).items():
        function, given = function_name(name), [tensor(each) for each in case.arrays]
        expected, found = on_cpu[function](*given), run(function, *given)
        held = [output.get("holds") for output in on_cpu.signature(function)["outputs"]]
        pairs = [(expected, found)] if len(held) == 1 else list(zip(expected, found, strict=True))
        for (one, other), dtype in zip(pairs, held, strict=True):
            yield from _differences(name, to_numpy(one, dtype), to_numpy(other, dtype))


def _differences(name: str, expected: numpy.ndarray, found: numpy.ndarray) -> list[str]:
    if (expected.dtype, expected.shape) != (found.dtype, found.shape):
        return [f"{name}: {found.dtype}{found.shape} instead of {expected.dtype}{expected.shape}"]
    if expected.dtype.kind != "f":
        return [] if (expected == found).all() else [f"{name}: {found} instead of {expected}"]
    close = numpy.isclose(found, expected, rtol=2e-5, atol=2e-6, equal_nan=True)
    return [] if close.all() else [f"{name}: {found[~close]} instead of {expected[~close]}"]
