# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exchange between the threads of a warp. Not pure: outside of its branch, other threads would participate."""

from __future__ import annotations

from ..core.attributes import DType, Int
from ..core.infos import Info, ScalarInfo, bit_width, is_int
from ..core.opdef import Call
from .dialect import op
from .infer import with_dtype

_WIDTHS = {
    "width": Int(32, doc="number of threads in an exchange"),
    "warp_size": Int(32, doc="number of threads in a warp"),
}


def _shuffle(call: Call) -> Info:
    mask, lane = (operand.name for operand in call.definition.operands if operand.name != "value")
    for name in (mask, lane):
        info = call.operands[name]
        is_scalar = isinstance(info, ScalarInfo) and is_int(info.dtype)
        call.require(is_scalar, f"{call.describe(name)} must be an integer scalar")
    mask_bits = bit_width(call.operands[mask].dtype)
    call.require(mask_bits in (32, 64), f"{call.describe(mask)} must have 32 or 64 bits")
    for name in _WIDTHS:
        size = call.attributes[name]
        call.require(size > 0 and size & (size - 1) == 0, f"{call.describe(name)} must be a power of two")
    fits = call.width <= call.warp_size
    call.require(fits, f"{call.describe('width')} must not exceed {call.describe('warp_size')}")
    return with_dtype(call.value, call.value.dtype)


def _activemask(call: Call) -> Info:
    call.require(call.dtype in ("i32", "i64"), f"{call.describe('dtype')} must be i32 or i64")
    return ScalarInfo(call.dtype)


_VALUE = "mask:elementwise value:elementwise"

op("tvm_warp_shuffle", f"{_VALUE} warp_id:elementwise", attrs=_WIDTHS, pure=False, infer=_shuffle,
   doc="Value of lane warp_id.")  # fmt: skip
op("tvm_warp_shuffle_up", f"{_VALUE} offset:elementwise", attrs=_WIDTHS, pure=False, infer=_shuffle,
   doc="Value of the lane `offset` below; the own value if there is no such lane.")  # fmt: skip
op("tvm_warp_shuffle_down", f"{_VALUE} offset:elementwise", attrs=_WIDTHS, pure=False, infer=_shuffle,
   doc="Value of the lane `offset` above; the own value if there is no such lane.")  # fmt: skip
op("tvm_warp_shuffle_xor", f"{_VALUE} lane_mask:elementwise", attrs=_WIDTHS, pure=False, infer=_shuffle,
   doc="Value of the lane with index (own index XOR lane_mask).")  # fmt: skip
op("tvm_warp_activemask", attrs={"dtype": DType("i32", doc="i64 for warps of 64 threads")}, pure=False,
   infer=_activemask, doc="Mask of the warp's active threads.")  # fmt: skip
