# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention with keys and values in pages, which sequences of any length share.

Pages are [pages, places, heads, size]. A table [sequences, most pages] lists the pages of each sequence in the order of
positions. Pages of 8-bit integers have a scale for each place and head.
"""

from __future__ import annotations

from ..core.attributes import Float, Int
from ..core.infos import TensorInfo
from ..core.opdef import Call
from ..core.symbols import Dim, dim_add, dim_mul, product
from .dialect import op
from .infer.dtypes import check_dtype, check_same_dtype
from .infer.sizes import Shape, check_rank, expect_size, same_size, shape_of_rank
from .nn_attention import check_heads, check_window

_INDEX, _SCALE, _CODES = "i32", "f32", "i8"
_ELEMENTS = ("f32", "f16", "bf16")


def paged_attention(call: Call) -> TensorInfo:
    _check_elements(call, "q", _ELEMENTS)
    check_same_dtype(call, "k_pages", "v_pages")
    _check_elements(call, "k_pages", (*_ELEMENTS, _CODES))
    tokens, heads, _ = shape_of_rank(call, "q", 3)
    *shared, width = shape_of_rank(call, "v_pages", 4)
    check_heads(call, heads, "k_pages", shape_of_rank(call, "k_pages", 4)[2], "q")
    for axis, what in enumerate(("number of pages", "number of places in a page", "number of heads")):
        shared[axis] = same_size(call, what, k_pages=axis, v_pages=axis)
    same_size(call, "size of a head", q=2, k_pages=3)
    _check_indices(call, "table", 2)
    for name in ("sequences", "lengths"):
        _check_indices(call, name, 1)
    tokens = same_size(call, "number of tokens", q=0, sequences=0, lengths=0)
    for name in ("k_scale", "v_scale"):
        _check_scale(call, name, "k_pages", tuple(shared))
    if call.sinks is not None:
        call.require(call.sinks.dtype == _SCALE, f"{call.describe('sinks')} must have elements of type {_SCALE}")
        check_rank(call, "sinks", 1)
        expect_size(call, "sinks", 0, heads, "heads")
    check_window(call)
    cap = call.softcap
    call.require(cap is None or cap > 0, f"{call.describe('softcap')} must be positive")
    return TensorInfo((tokens, heads, width), call.q.dtype)


def paged_attention_work(call: Call, count: Dim) -> Dim:
    """for each token and place of its longest sequence, two for each element of a head's query and value, and five"""
    tokens, heads, size = shape_of_rank(call, "q", 3)
    _, places, _, width = shape_of_rank(call, "v_pages", 4)
    keys = (shape_of_rank(call, "table", 2)[1], places)
    return product((tokens, heads, *keys, dim_add(dim_mul(2, dim_add(size, width)), 5)))


def append_pages(call: Call) -> TensorInfo:
    _check_elements(call, "pages", _ELEMENTS)
    _check_rows(call)
    return call.pages


def append_pages_quantized(call: Call) -> tuple[TensorInfo, TensorInfo]:
    _check_elements(call, "pages", (_CODES,))
    _check_rows(call)
    _check_scale(call, "scales", "pages", shape_of_rank(call, "pages", 4)[:3])
    return call.pages, call.scales


def _check_rows(call: Call) -> None:
    check_rank(call, "pages", 4)
    check_rank(call, "rows", 3)
    check_dtype(call, "rows", "float")
    _check_elements(call, "rows", _ELEMENTS)
    same_size(call, "number of heads", pages=2, rows=1)
    same_size(call, "size of a head", pages=3, rows=2)
    _check_indices(call, "slots", 1)
    same_size(call, "number of tokens", rows=0, slots=0)


def _check_elements(call: Call, name: str, allowed: tuple[str, ...]) -> None:
    described = f"{call.describe(name)} must have elements of type {' or '.join(allowed)}"
    hint = "; relax.append_pages_quantized writes pages of i8" if call.operands[name].dtype == _CODES else ""
    call.require(call.operands[name].dtype in allowed, f"{described}{hint}")


def _check_indices(call: Call, name: str, rank: int) -> None:
    call.require(call.operands[name].dtype == _INDEX, f"{call.describe(name)} must have elements of type {_INDEX}")
    check_rank(call, name, rank)


def _check_scale(call: Call, name: str, pages: str, shape: Shape) -> None:
    """Check the scales of quantized pages, one for each place and head."""
    is_quantized = call.operands[pages].dtype == _CODES
    if call.operands[name] is None:
        call.require(not is_quantized, f"operand '{name}' is missing: {call.describe(pages)} needs scales")
        return
    described = call.describe(name)
    call.require(is_quantized, f"{described} is for pages of {_CODES}, not for {call.describe(pages)}")
    call.require(call.operands[name].dtype == _SCALE, f"{described} must have elements of type {_SCALE}")
    check_rank(call, name, 3)
    for axis, (size, what) in enumerate(zip(shape, ("pages", "places in a page", "heads"), strict=True)):
        expect_size(call, name, axis, size, what)


op("paged_attention", "q k_pages v_pages table sequences lengths k_scale? v_scale? sinks?",
   attrs={"scale": Float(None, doc="factor of the scores; default: 1 / sqrt(size of a head)"),
          "window_size": Int(None, doc="number of keys, up to its own, that a token sees; default: all"),
          "softcap": Float(None, doc="bound of the scores: softcap * tanh(score / softcap); default: none")},
   own=True, flops=paged_attention_work, infer=paged_attention,
   doc="Attention of tokens [tokens, heads, size] of any sequences. A token sees the first `lengths` keys of the "
       "sequence in row `sequences` of the table; with length 0 its result is 0. `sinks` are further scores without "
       "values, one a head. A result does not depend on the other tokens, nor on the choice of pages.")  # fmt: skip
op("append_pages", "pages rows slots", own=True, flops=0, infer=append_pages,
   doc="Pages with rows [tokens, heads, size] at slots: page * places of a page + place. Slots differ. A negative "
       "slot drops its row; a slot behind the last page is an IndexError. With donate=, rx.compile writes in place."
       )  # fmt: skip
op("append_pages_quantized", "pages scales rows slots", results="new_pages new_scales", own=True, flops=0,
   infer=append_pages_quantized,
   doc="append_pages for pages of i8: each row of a head is divided by its scale, its largest magnitude / 127. Rows "
       "are finite.")  # fmt: skip
