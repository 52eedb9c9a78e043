# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reshaping operators of neural networks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy
from relax_mlir.dialects.core.infos import is_float
from relax_mlir.passes.evaluate.elements import NotKnown
from relax_mlir.passes.evaluate.references import register_reference

from ..steps import require_same

if TYPE_CHECKING:
    from numpy import ndarray
    from relax_mlir.passes.evaluate.registry import EvaluationCall

_MODES: dict[str, Literal["reflect", "edge", "wrap"]] = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@register_reference("relax.nn.batch_flatten")
def batch_flatten(call: object, data: ndarray) -> ndarray:
    return data.reshape(data.shape[0], math.prod(data.shape[1:]))


@register_reference("relax.nn.pad")
def pad(call: EvaluationCall, data: ndarray) -> ndarray:
    """Add elements, then remove elements where the width is negative."""
    dtype = call.data.dtype
    if call.pad_mode == "constant" and not is_float(dtype) and not math.isfinite(call.pad_value):
        raise NotKnown(f"elements of type {dtype} cannot be {call.pad_value}")
    widths = list(zip(call.pad_width[::2], call.pad_width[1::2], strict=True))
    added = [(max(before, 0), max(after, 0)) for before, after in widths]
    for axis, (size, width) in enumerate(zip(data.shape, widths, strict=True)):
        if size + sum(width) < 0:
            raise ValueError(f"axis {axis} has {size} elements, of which {-sum(width)} are to be removed")
        if not size and max(width) > 0 and call.pad_mode != "constant":
            raise ValueError(f"axis {axis} is empty: there is nothing to pad it with")
    if not widths:
        return data
    if call.pad_mode == "constant":
        padded = numpy.pad(data, added, constant_values=numpy.asarray(call.pad_value).astype(data.dtype))
    else:
        padded = numpy.pad(data, added, mode=_MODES[call.pad_mode])
    kept = zip(widths, padded.shape, strict=True)
    return padded[tuple(slice(max(-before, 0), size - max(-after, 0)) for (before, after), size in kept)]


@register_reference("relax.nn.pixel_shuffle")
def pixel_shuffle(call: EvaluationCall, data: ndarray) -> ndarray:
    """Reshape (..., C*r*r, H, W) to (..., C, r, r, H, W), and move the axes to (..., C, H, r, W, r)."""
    *batch, channels, height, width = data.shape
    r = call.upscale_factor
    require_same(channels, channels // (r * r) * (r * r), "channels to shuffle")
    turned = numpy.moveaxis(data.reshape(*batch, channels // (r * r), r, r, height, width), (-4, -3), (-3, -1))
    return turned.reshape(*batch, channels // (r * r), height * r, width * r)
