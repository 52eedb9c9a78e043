# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reshaping operators of neural networks."""

from __future__ import annotations

from ..core.attributes import Int, Ints, Number, Str
from ..core.infos import TensorInfo
from ..core.opdef import Call
from ..core.symbols import Dim, dim_add, dim_floordiv, dim_mod, dim_mul, equal, product
from .dialect import injective_op


def batch_flatten(call: Call) -> TensorInfo:
    if (shape := call.data.shape) is None:
        return call.data.with_shape((None, None))
    call.require(len(shape) >= 2, f"{call.describe('data')} must be 2-D or more, but is {len(shape)}-D")
    return call.data.with_shape((shape[0], product(shape[1:])))


def pad(call: Call) -> TensorInfo:
    widths, shape = call.pad_width, call.data.shape
    if shape is None:
        paired = len(widths) % 2 == 0
        call.require(paired, f"{call.describe('pad_width')} must have two entries for each dimension")
        return call.data.with_shape((None,) * (len(widths) // 2))
    call.require(
        len(widths) == 2 * len(shape),
        f"{call.describe('pad_width')} must have {2 * len(shape)} entries, "
        f"before and after each dimension of {call.describe('data')}, got {len(widths)}",
    )
    return call.data.with_shape(
        _pad_size(call, axis, size, widths[2 * axis], widths[2 * axis + 1]) for axis, size in enumerate(shape)
    )


def _pad_size(call: Call, axis: int, size: Dim, before: int, after: int) -> Dim:
    if size == 0 and call.pad_mode != "constant" and max(before, after) > 0:
        raise call.fail(
            f"{call.describe('data')} is empty along axis {axis}: "
            f"there is nothing to pad it with in mode '{call.pad_mode}'"
        )
    if isinstance(padded := dim_add(size, before + after), int) and padded < 0:
        removed = -before - after
        raise call.fail(f"{call.describe('pad_width')} removes {removed} of {size} elements along axis {axis}")
    return padded


def pixel_shuffle(call: Call) -> TensorInfo:
    factor = call.upscale_factor
    call.require(factor >= 1, f"{call.describe('upscale_factor')} must be 1 or more")
    if (shape := call.data.shape) is None:
        return call.data
    if len(shape) < 3:
        raise call.fail(f"{call.describe('data')} must be 3-D or more (..., C, H, W), but is {len(shape)}-D")
    *batch, channels, height, width = shape
    if equal(dim_mod(channels, factor * factor), 0) is False:
        raise call.fail(
            f"{call.describe('data')} must have a number of channels that {factor * factor} divides, "
            f"the square of {call.describe('upscale_factor')}, got {channels}"
        )
    return call.data.with_shape(
        (*batch, dim_floordiv(channels, factor * factor), dim_mul(height, factor), dim_mul(width, factor))
    )


injective_op("nn.batch_flatten", "data", infer=batch_flatten, view="data", doc="Flattens all dimensions but the first.")
injective_op("nn.pad", "data", attrs={"pad_width": Ints(doc="counts before and after each dimension; negative: crops"),
          "pad_mode": Str("constant", choices=("constant", "reflect", "replicate", "circular")),
          "pad_value": Number(0.0, doc="for mode 'constant'")}, infer=pad,
   doc="Pads data.")  # fmt: skip
injective_op("nn.pixel_shuffle", "data", attrs={"upscale_factor": Int()}, infer=pixel_shuffle,
   doc="Moves channels to height and width: (..., C*r*r, H, W) becomes (..., C, H*r, W*r).")  # fmt: skip
