# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls from tensor programs: of C functions, which the reference is given by name, and of packed functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from ...dialects.core.ir_attributes import PACKED_DTYPES, PACKED_TEXT
from ..python_functions import external_call, plain_number, python_function, results_of
from ..registry import register_step
from ..sites import Site, Step

if TYPE_CHECKING:
    from numpy import ndarray


@register_step(["tir.call_extern", "tir.call_pure_extern"])
def call_extern(site: Site) -> Step:
    return external_call(site, site.attributes["func"].value)


@register_step(["tir.call_packed", "tir.packed"])
def call_packed(site: Site) -> Step:
    name = site.attributes["func"].value
    if name == _SHAPE:
        return lambda frame, *sizes: [tuple(map(int, sizes))]
    results, numbers = results_of(site), site.numbers
    if name == _PRINT and name not in site.machine.functions:
        return _print(site)
    function = python_function(site, name)
    dtypes = [each.value for each in site.attributes[PACKED_DTYPES]] if PACKED_DTYPES in site.attributes else []

    def signed(value: ndarray, dtype: str) -> Any:
        """Memory has no signs, its elements do."""
        is_integer = isinstance(value, numpy.ndarray) and value.dtype.kind in "iu"
        return value.view(numbers.dtype(dtype)) if is_integer else value

    def run(frame: object, *operands: Any) -> list[Any]:
        given = map(signed, operands, dtypes) if dtypes else operands
        return results(function(*map(plain_number, given)))

    return run


def _print(site: Site) -> Step:
    text = site.attributes[PACKED_TEXT].value

    def run(frame: object, *values: Any) -> None:
        shown = [each.item() if not numpy.ndim(each) else each for each in values]
        print(text.format(*shown) if text else " ".join(map(str, shown)), flush=True)

    return run


#: What tvm-ffi registers: makes a shape of integers.
_SHAPE = "ffi.Shape"
#: What the runtime registers for relax.print.
_PRINT = "relax_mlir.print"
