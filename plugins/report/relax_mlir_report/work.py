# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Work of a call: float operations, and bytes read and written, for given sizes of symbols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

from relax_mlir.dialects.core.infos import bit_width
from relax_mlir.dialects.core.symbols import SymbolError
from relax_mlir.tools.run.input_sizes import evaluated, symbols_in

if TYPE_CHECKING:
    from .links import Row

#: Sizes of a tensor, None for unknown ones.
Shape = tuple[int | None, ...]


def add_work(calls: Sequence[Row], kernels: Sequence[Row], sizes: Mapping[str, int]) -> None:
    """Add `flops` and `bytes` to each call. None if a size is unknown or loops are not described."""
    for call in calls:
        types = [_type(place["type"], sizes) for place in [*call["inputs"], *call["outputs"]]]
        bytes_ = [_bytes(*type_) for type_ in types]
        call["bytes"] = None if None in bytes_ else sum(filter(None, bytes_))
        loops = [] if call["kernel"] is None else kernels[call["kernel"]]["loops"]
        call["flops"] = flops_of(loops, [shape for _, shape in types])


def flops_of(loops: Sequence[Row], shapes: Sequence[Shape] = ()) -> int | None:
    """Return the float operations of a call with parameters of these shapes."""
    total = 0
    for loop in loops:
        sizes = [_loop_size(size, shapes) for size in loop["sizes"]]
        if loop["reason"]:
            return None
        if not loop["flops"] and not loop["epilogue"]:
            continue  # data movement only
        if None in sizes:
            return None
        known = [size for size in sizes if size is not None]
        elements = prod(size for dim, size in enumerate(known) if dim not in loop["reductions"])
        total += prod(known) * loop["flops"] + elements * (loop["epilogue"] or 0)
    return total if loops else None


def _loop_size(size: int | str | None, shapes: Sequence[Shape]) -> int | None:
    """Return the size of a loop, see LoopsFact.sizes."""
    if not isinstance(size, str):
        return size
    factors = [_factor(text, shapes) for text in size.split("*")]
    return None if None in factors else prod(factor for factor in factors if factor is not None)


def _factor(text: str, shapes: Sequence[Shape]) -> int | None:
    parameter, dot, axis = text.partition(".")
    if not dot:
        return int(parameter)
    try:
        return shapes[int(parameter)][int(axis)]
    except IndexError:  # the call passes the parameter in another form
        return None


def _type(text: str, sizes: Mapping[str, int]) -> tuple[str, Shape]:
    """Parse `f32[n,64]` into element type and sizes. Other values than tensors have no type, and no bytes."""
    dtype, bracket, rest = text.partition("[")
    if not bracket:
        return "", ()
    if rest == "...]":
        return dtype, (None,)
    inner = rest.removesuffix("]")
    return dtype, tuple(_size(each, sizes) for each in _split(inner)) if inner else ()


def _split(text: str) -> list[str]:
    """Split at commas outside of parentheses: `min(n, 4),8` is two sizes."""
    found, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            found.append("")
        else:
            found[-1] += letter
    return found


def _size(text: str, sizes: Mapping[str, int]) -> int | None:
    try:
        return evaluated(text, sizes) if symbols_in(text) <= sizes.keys() else None
    except SymbolError:  # size `?`
        return None


def _bytes(dtype: str, shape: Shape) -> int | None:
    if not dtype:
        return 0
    if None in shape:
        return None
    return prod(size for size in shape if size is not None) * -(-bit_width(dtype) // 8)
