# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with matrices of few bits per element: blocks of codes, each with a scale and a zero point."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.attributes import Int
from ..core.equalities import contradict
from ..core.infos import TensorInfo, is_float
from ..core.opdef import Call
from ..core.symbols import Dim, dim_mod, dim_mul, equal, product
from .dialect import op
from .infer.dtypes import check_dtype
from .infer.sizes import Shape, check_min_rank, shape_of_rank

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTHS = (2, 4, 6, 8)
REALS = ("f16", "bf16", "f32")
#: Bytes of adjacent codes of one column; a block has a whole number of words.
WORD = 4
#: Operands with a number for each block, and the operands with the factors of these numbers, for several blocks each.
OF_BLOCKS = ("scale", "zero_point", "offset")
OUTER = {"outer_scale": "scale", "outer_offset": "offset"}
#: Widths of the integers that rows of x are rounded to, and 0 for x as it is.
ACTIVATIONS = (0, 8)
#: Size of the longest block with sums that f32 represents exactly: each product is at most 255 * 127.
_MOST_EXACT = 512


def unit(bits: int) -> int:
    """Return the least number of codes that fill whole words. 6 bits are 4 low bits and 2 high bits, apart."""
    return 16 if bits == 6 else 8 * WORD // bits


def matmul_nbits(call: Call) -> TensorInfo:
    _check_words(call)
    columns, blocks, _ = shape_of_rank(call, "codes", 3)
    _check_shape(call, "codes", (columns, blocks, call.block_size * call.bits // 8), "the bytes of a block at last")
    _check_depth(call, blocks)
    _check_numbers(call, (columns,), blocks, ())
    if call.bias is not None:
        _check_shape(call, "bias", (columns,), "a number for each column")
    return _result(call, columns)


def matmul_nbits_panels(call: Call) -> TensorInfo:
    _check_words(call)
    panels, words, _ = shape_of_rank(call, "codes", 3)
    _, blocks, width = shape_of_rank(call, "scale", 3)
    _check_shape(call, "codes", (panels, words, dim_mul(WORD, width)), f"{WORD} bytes for each column")
    fits = call.lanes > 0 and equal(dim_mod(width, call.lanes), 0) is not False
    call.require(fits, f"{call.describe('lanes')} must divide the columns of a panel, {width}")
    call.require(call.rows > 0, f"{call.describe('rows')} must be positive")
    _check_numbers(call, (panels,), blocks, (width,))
    if call.bias is not None:
        _check_shape(call, "bias", (panels, width), "a number for each column of each panel")
    _check_depth(call, blocks)
    if isinstance(blocks, int) and isinstance(words, int):
        of_block = call.block_size * call.bits // (8 * WORD)
        call.require(
            blocks * of_block == words, f"{call.describe('codes')} must have {blocks} blocks of {of_block} words"
        )
    if isinstance(panels, int) and isinstance(width, int):
        fits = (panels - 1) * width < call.columns <= panels * width
        call.require(fits, f"{call.describe('columns')} must be those of {panels} panels of {width}")
    return _result(call, call.columns)


def _check_words(call: Call) -> None:
    call.require(call.bits in WIDTHS, f"{call.describe('bits')} must be one of {', '.join(map(str, WIDTHS))}")
    numbers = unit(call.bits)
    fits = call.block_size > 0 and call.block_size % numbers == 0
    call.require(fits, f"{call.describe('block_size')} must be a multiple of {numbers}, with {call.bits} bits")
    call.require(call.x.dtype in REALS, f"{call.describe('x')} must have elements of f16, bf16 or f32")
    check_min_rank(call, "x", 1)
    call.require(call.codes.dtype == "ui8", f"{call.describe('codes')} must have elements of ui8")
    zero_point = call.zero_point
    is_number = zero_point is None or zero_point.dtype == "ui8" or is_float(zero_point.dtype)
    call.require(is_number, f"{call.describe('zero_point')} must have elements of ui8 or a float")
    if call.bias is not None:
        check_dtype(call, "bias", "float")
    if call.offset is not None and zero_point is not None:
        raise call.fail(
            f"{call.describe('offset')} takes the place of zero_point: add -zero_point * scale to the offset, or leave "
            "one of both out"
        )
    _check_levels(call)
    _check_activations(call)


def _check_activations(call: Call) -> None:
    call.require(
        call.activation_bits in ACTIVATIONS, f"{call.describe('activation_bits')} must be 8, or 0 for x as it is"
    )
    fits = not call.activation_bits or call.block_size <= _MOST_EXACT
    call.require(fits, f"{call.describe('block_size')} must be at most {_MOST_EXACT} with activation_bits")


def _check_levels(call: Call) -> None:
    """Check the types of scales and offsets. Factors for several blocks allow integers of 8 bits."""
    for outer, name in OUTER.items():
        inner, factors = call.operands[name], call.operands[outer]
        if factors is not None:
            call.require(inner is not None, f"{call.describe(outer)} needs the operand {name}")
            call.require(factors.dtype in REALS, f"{call.describe(outer)} must have elements of f16, bf16 or f32")
        wanted, shown = (
            (REALS, "f16, bf16 or f32") if factors is None else ((*REALS, "ui8", "i8"), "a float, ui8 or i8")
        )
        help_ = f"; integers need the operand {outer}" if factors is None else ""
        call.require(
            inner is None or inner.dtype in wanted, f"{call.describe(name)} must have elements of {shown}{help_}"
        )


def _check_numbers(call: Call, leading: tuple[Dim, ...], blocks: Dim, last: tuple[Dim, ...]) -> None:
    """Check the shapes of the numbers of blocks, and of their factors for several blocks."""
    where = " in each panel" if last else ""
    for name in OF_BLOCKS:
        if call.operands[name] is not None:
            _check_shape(call, name, (*leading, blocks, *last), f"a number for each column's blocks{where}")
    for name in OUTER:
        if call.operands[name] is None:
            continue
        count = shape_of_rank(call, name, len(leading) + 1 + len(last))[1]
        _check_shape(call, name, (*leading, count, *last), f"a number for some of each column's blocks{where}")
        fits = count != 0 and equal(dim_mod(blocks, count), 0) is not False
        call.require(
            fits, f"{call.describe(name)} must have a number for each part of equal size of the {blocks} blocks"
        )


def _check_shape(call: Call, name: str, dims: Sequence[Dim], last: str) -> None:
    if any(contradict(*pair) for pair in zip(shape_of_rank(call, name, len(dims)), dims, strict=True)):
        shown = ", ".join("?" if size is None else str(size) for size in dims)
        raise call.fail(f"{call.describe(name)} must have the shape ({shown}), {last}")


def _check_depth(call: Call, blocks: Dim) -> None:
    """Check that rows of x end in the last block."""
    depth = call.x.shape[-1] if call.x.shape else None
    if isinstance(depth, int) and equal(blocks, -(-depth // call.block_size)) is False:
        raise call.fail(
            f"{call.describe('x')} has rows of {depth} elements, which are {-(-depth // call.block_size)} blocks of "
            f"{call.block_size}, not {blocks}"
        )


def _result(call: Call, columns: Dim) -> TensorInfo:
    shape: Shape | None = call.x.shape
    return TensorInfo(None if shape is None else (*shape[:-1], columns), call.x.dtype)


def products(call: Call, count: Dim) -> Dim:
    """two for each product of elements: a multiplication and an addition"""
    return product((2, count, call.x.shape[-1] if call.x.shape else None))


_BITS = Int(4, doc="bits of a code: 2, 4, 6 or 8. A byte holds the first code in its lowest bits. With 6 bits, a block "
                   "has all low 4 bits, then all high 2 bits")  # fmt: skip
_BLOCK = Int(32, doc="elements of a column with a common scale")
_ACTIVATIONS = Int(0, doc="8 rounds blocks of x to i8, as relax.quantize does with the scale max(|x|) / 127; 0: x as "
                          "it is")  # fmt: skip
_OPERANDS = "x codes scale zero_point? bias? offset? outer_scale? outer_offset?"

op("matmul_nbits", _OPERANDS,
   attrs={"bits": _BITS, "block_size": _BLOCK, "activation_bits": _ACTIVATIONS},
   own=True, flops=products, infer=matmul_nbits,
   doc="Product of x and a matrix with columns (codes - zero_point) * scale, or codes * scale + offset, accumulated in "
       "f32. A row of codes [columns, blocks, bytes] is a column. Default zero point: half of the codes' range. "
       "outer_scale and outer_offset [columns, parts] are factors for parts of the blocks.")  # fmt: skip
op("matmul_nbits_panels", _OPERANDS,
   attrs={"bits": _BITS, "block_size": _BLOCK, "columns": Int(doc="columns of the result"),
          "lanes": Int(doc="columns per vector"), "rows": Int(1, doc="rows of x that fit in registers"),
          "activation_bits": _ACTIVATIONS},
   own=True, flops=products, infer=matmul_nbits_panels,
   doc="matmul_nbits of codes packed in the order of vector loads: [panels, words, bytes].")  # fmt: skip
