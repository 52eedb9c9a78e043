# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""llvm: what there is of it before a module becomes LLVM's. That is instructions for sums of products, and the table by
which code finds the constants that the artifact holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy

from ...dialects.core.ir_attributes import PLACED_CONSTANTS
from ..element_bits import bits_as, element_of
from ..held_values import computed
from ..literals import value_of
from ..registry import register_step
from ..sites import IS_CODE, Site, Step

# ---- sums of products ----

#: Of intrinsics, the types of the left and right factors: of some adjacent elements one sum has the products.
_DOTS = {
    "vpdpbusd": ("ui8", "i8"), "vpdpbssd": ("i8", "i8"), "vpdpbuud": ("ui8", "ui8"), "dpbf16ps": ("bf16", "bf16"),
    "neon.bfdot": ("bf16", "bf16"), "neon.sdot": ("i8", "i8"), "neon.udot": ("ui8", "ui8"),
    "neon.usdot": ("ui8", "i8"),
}  # fmt: skip
#: The same of tiles.
_TILE_DOTS = {
    "tdpbf16ps": ("bf16", "bf16"), "tdpfp16ps": ("f16", "f16"), "tdpbssd": ("i8", "i8"), "tdpbsud": ("i8", "ui8"),
    "tdpbusd": ("ui8", "i8"), "tdpbuud": ("ui8", "ui8"),
}  # fmt: skip
_TILE_ROWS, _ROW_WORDS = 16, 16


@register_step("llvm.call_intrinsic")
def call_intrinsic(site: Site) -> Step:
    name = site.attributes["intrin"].value
    if name.startswith("llvm.x86.cast."):
        return lambda frame, x: x
    if name == "llvm.x86.tilezero.internal":
        return lambda frame, *sizes: numpy.zeros(_TILE_ROWS * _ROW_WORDS, numpy.int32)
    if re.search(r"\bpmadd(\.wd|w\.d)\b", name):
        return _pairs(site)
    for part, types in _DOTS.items():
        if re.search(rf"\b{re.escape(part)}\b", name):
            return _dot(site, *types)
    for part, types in _TILE_DOTS.items():
        if re.search(rf"\b{part}\b", name):
            return _tile_dot(site, *types)
    raise site.refusal(f"the reference does not know the intrinsic {name}")


def _dot(site: Site, left: str, right: str) -> Step:
    dtypes = [element_of(value.type) for value in site.operation.operands]
    numbers, total = site.numbers, _total(left)

    def run(frame: object, sums: Any, x: Any, y: Any) -> Any:
        factors = [
            _wide(bits_as(numbers, each, dtype, held), total).reshape(len(sums), -1)
            for each, dtype, held in ((x, dtypes[1], left), (y, dtypes[2], right))
        ]
        return numbers.held(sums + (factors[0] * factors[1]).sum(-1), total)

    return run


def _pairs(site: Site) -> Step:
    """The products' sums alone, of pairs of signed numbers of 16 bits."""
    numbers = site.numbers

    def run(frame: object, x: Any, y: Any) -> Any:
        factors = [_wide(bits_as(numbers, each, "i16", "i16"), "i32").reshape(-1, 2) for each in (x, y)]
        return numbers.held((factors[0] * factors[1]).sum(-1), "i32")

    return run


def _total(factor: str) -> str:
    return "f32" if "f" in factor else "i32"


def _wide(x: Any, total: str) -> Any:
    return computed(x) if total == "f32" else x.astype(numpy.int32)


def _tile_dot(site: Site, left: str, right: str) -> Step:
    """Tiles are words in rows: row k of the right factor has for each column a word of adjacent factors."""
    numbers, total = site.numbers, _total(left)

    def factors(tile: Any, dtype: str) -> Any:
        return _wide(bits_as(numbers, tile, "i32", dtype), total).reshape(_TILE_ROWS, _ROW_WORDS, -1)

    def run(frame: object, rows: Any, columns: Any, depth: Any, sums: Any, x: Any, y: Any) -> Any:
        before = bits_as(numbers, sums, "i32", total).reshape(_TILE_ROWS, _ROW_WORDS)
        products = numpy.einsum("rkt,kct->rc", factors(x, left), factors(y, right))
        return bits_as(numbers, numbers.held(before + products, total).reshape(-1), total, "i32")

    return run


# ---- constants that the artifact holds ----


class _Address(NamedTuple):
    """So many bytes behind the table of constants, or, with a value, that constant's memory."""

    offset: int
    value: Any = None


@register_step("llvm.mlir.addressof")
def address_of(site: Site) -> Step:
    name = str(site.attributes["global_name"].value)
    if "constants" not in name:
        raise site.refusal(f"the reference does not know what is at @{name}")
    return lambda frame: _Address(0)


@register_step("llvm.getelementptr")
def behind(site: Site) -> Step:
    offsets = [int(each) for each in site.attributes["rawConstantIndices"]]
    if len(offsets) != 1 or len(site.operation.operands) != 1:
        raise site.refusal("the reference knows no addresses but those of constants")
    return lambda frame, address: address._replace(offset=address.offset + offsets[0])


@register_step("llvm.load")
def load(site: Site) -> Step:
    module = site.machine.module.attributes
    placed = list(module[PLACED_CONSTANTS]) if PLACED_CONSTANTS in module else []
    return lambda frame, address: _Address(0, placed[address.offset // 8]["value"])


@register_step("llvm.mlir.poison")
def descriptor(site: Site) -> Step:
    return lambda frame: {}


@register_step("llvm.mlir.constant")
def constant(site: Site) -> Step:
    value = site.attributes["value"].value
    return lambda frame: value


@register_step("llvm.insertvalue")
def insert_value(site: Site) -> Step:
    place = tuple(int(each) for each in site.attributes["position"])
    return lambda frame, container, value: {**container, place: value}


def memory_of(site: Site) -> Callable[[Any], Any]:
    """What a memref's descriptor is of."""
    type_, numbers = site.result_type(), site.numbers
    return lambda parts: value_of(parts[(1,)].value, type_, numbers)


@register_step(["llvm.*", "gpu.*", "nvvm.*"])
def refuse(site: Site) -> Step:
    raise site.refusal(IS_CODE)
