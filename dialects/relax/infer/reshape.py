# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reshaping: what -1 and 0 stand for in a new shape, and whether the elements fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.codec import decode
from ...core.infos import TensorInfo, describe
from ...core.opdef import Call, OpProblem
from ...core.operands import as_dim, as_value
from ...core.symbols import Dim, SymExpr, dim_floordiv, dim_mod, equal, product
from .sizes import Shape, at_least


def resolve_new_shape(arguments: dict[str, Any]) -> dict[str, Any]:
    """The builder's arguments with -1 and 0 in a Python shape replaced by the sizes that they stand for."""
    given, source = arguments.get("shape"), as_value(arguments.get("x"))
    if given is None or source is None or as_value(given) is not None:
        return arguments
    try:
        items = (given,) if isinstance(given, (int, str, SymExpr)) else tuple(given)
    except TypeError:  # no list of sizes: the builder says so
        return arguments
    wanted = [as_dim(item, "shape") for item in items]
    info = decode(source.type)
    if isinstance(info, TensorInfo) and (0 in wanted or -1 in wanted):
        wanted = _resolve(wanted, info)
    return {**arguments, "shape": tuple(wanted)}


def _resolve(wanted: Sequence[Any], source: TensorInfo) -> list[Any]:
    sizes = [_copied(axis, source) if size == 0 else size for axis, size in enumerate(wanted)]
    if -1 not in sizes:
        return sizes
    if sizes.count(-1) > 1:
        raise OpProblem("operand 'shape': only one size can be -1")
    rest = product(size for size in sizes if size != -1)
    if rest == 0:
        raise OpProblem("operand 'shape': -1 beside a size of 0 could be anything: give the size itself")
    count = None if source.shape is None else product(source.shape)
    if count is None:
        raise OpProblem(
            f"operand 'shape': -1 needs the sizes of operand 'x' ({describe(source)}): name them with "
            "relax.match_cast, or give all sizes"
        )
    if equal(dim_mod(count, rest), 0) is False:
        raise OpProblem(f"operand 'shape': -1 cannot be resolved, {rest} does not divide {count} elements")
    return [dim_floordiv(count, rest) if size == -1 else size for size in sizes]


def _copied(axis: int, source: TensorInfo) -> Any:
    """The size that a 0 stands for: the source's at the same place."""
    if source.shape is None or axis >= len(source.shape) or source.shape[axis] is None:
        raise OpProblem(
            f"operand 'shape': 0 copies size {axis} of operand 'x' ({describe(source)}), which is not there or unknown"
        )
    return source.shape[axis]


def reshape(call: Call) -> TensorInfo:
    old, new = call.x.shape, call.shape.dims
    if old is None or new is None:
        return call.x.with_shape(new)
    if not _may_match(old, new):
        raise call.fail(f"{call.describe('x')} does not have as many elements as {call.describe('shape')}")
    return call.x.with_shape(_completed(new, product(old)))


def _may_match(old: Shape, new: Shape) -> bool:
    """Whether both shapes can have the same number of elements."""
    old_count, new_count = product(old), product(new)
    if old_count is not None and new_count is not None:
        return equal(old_count, new_count) is not False
    partial, count = (old, new_count) if old_count is None else (new, old_count)
    factor = product(size for size in partial if size is not None)
    if not isinstance(count, int) or not isinstance(factor, int):
        return True
    return count % factor == 0 if factor else count == 0


def _completed(new: Shape, count: Dim) -> Shape:
    """The shape with its one unknown size, if it is one, computed from the number of elements."""
    rest = product(size for size in new if size is not None)
    if new.count(None) != 1 or not at_least(rest, 1):
        return new
    return tuple(dim_floordiv(count, rest) if size is None else size for size in new)


def flatten(call: Call) -> TensorInfo:
    shape = call.x.shape
    return call.x.with_shape((None if shape is None else product(shape),))
