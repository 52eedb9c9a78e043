# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversions of element types."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy
from relax_mlir.dialects.core.infos import bit_width, is_bool
from relax_mlir.passes.evaluate.references import register_reference

from ..held_values import stored
from .element_types import converted

if TYPE_CHECKING:
    from numpy import ndarray
    from relax_mlir.passes.evaluate.registry import EvaluationCall


@register_reference("relax.astype")
def astype(call: EvaluationCall, x: ndarray) -> ndarray:
    return converted(x, call.result.dtype)


@register_reference("relax.bitcast", stored=True)
def bitcast(call: EvaluationCall, x: ndarray) -> ndarray:
    """Reinterpret bits. A sub-byte element occupies the low bits of a byte. A bool is a byte of 0 or 1."""
    source, target = call.x.dtype, call.result.dtype
    array = numpy.ascontiguousarray(numpy.asarray(x).astype(stored(source)))
    bits = array.view(f"uint{array.dtype.itemsize * 8}").reshape(x.shape)
    return bits != 0 if is_bool(target) else _from_bits(bits, target)


def _from_bits(bits: ndarray, dtype: str) -> ndarray:
    found = stored(dtype)
    if found.isbuiltin == 2 and found.kind != "f" and "int" in found.name:
        return bits.astype(found)  # the sign extends above the low bits
    return numpy.ascontiguousarray(bits & (2 ** bit_width(dtype) - 1)).view(found).reshape(bits.shape)
