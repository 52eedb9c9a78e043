# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions over axes, positions of extremes, and sums and products of all elements before."""

from __future__ import annotations

from typing import Any

from ....dialects.core.infos import is_bool, is_float
from ....dialects.core.symbols import SymExpr
from ....dialects.relax import const, dialect
from ..node import Node
from ..registry import register_onnx
from ..values import Outputs, known
from .run_time_axes import RunTimeAxes

relax = dialect.ops

_REDUCTIONS = [
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
    "ReduceSum", "ReduceSumSquare",
]  # fmt: skip
_BY_INPUT_SINCE = {"ReduceSum": 13}
_FLOATS_ONLY_SINCE = {"ReduceLogSum": 28, "ReduceLogSumExp": 28}


class StaticAxes:
    """Reduces over axes that the model says. No axes are all of them, an empty list none."""

    def __init__(self, node: Node, axes: tuple[int, ...] | None):
        self._axes = None if axes is None else list(axes)
        self._keepdims = bool(node.int("keepdims", 1))

    def fold(self, name: str, x: Any) -> Any:
        return relax[name](x, axis=self._axes, keepdims=self._keepdims)

    def spread_fold(self, name: str, x: Any) -> tuple[Any, Any]:
        """The result as it is, and with a size of 1 in the place of what is reduced."""
        kept = relax[name](x, axis=self._axes, keepdims=True)
        return kept if self._keepdims else relax["squeeze"](kept, axis=self._axes), kept


@register_onnx("", _REDUCTIONS)
def reduce(node: Node) -> Outputs:
    x, dtype = node.tensor(0), node.value(0).dtype
    axes = _axes(node)
    if is_bool(dtype):
        # The sum of booleans is whether any is true, their product whether all are.
        return axes.fold({"ReduceMax": "sum", "ReduceMin": "prod"}[node.op], x)
    if node.op in _SIMPLE:
        return axes.fold(_SIMPLE[node.op], x)
    if is_float(dtype) or node.op in ("ReduceL1", "ReduceSumSquare"):
        return _COMPOSED[node.op](axes, x)
    if node.version >= _FLOATS_ONLY_SINCE.get(node.op, node.version + 1):
        raise node.fail(f"takes floats only, not {dtype}: put a Cast in front, as exp and log are those of floats")
    # The real number, cut towards zero as a Cast does.
    return relax["astype"](_COMPOSED[node.op](axes, relax["astype"](x, dtype="f64")), dtype=dtype)


def _axes(node: Node) -> Any:
    if node.version < _BY_INPUT_SINCE.get(node.op, 18):
        listed = node.ints("axes")
        return StaticAxes(node, tuple(listed) if listed else None)
    axes = node.numbers(1) if node.has(1) else ()
    if axes is None:
        return RunTimeAxes(node)
    if not axes and not node.int("noop_with_empty_axes", 0):
        return StaticAxes(node, None)
    return StaticAxes(node, axes)


_SIMPLE = {"ReduceMax": "max", "ReduceMean": "mean", "ReduceMin": "min", "ReduceProd": "prod", "ReduceSum": "sum"}


def _l1(axes: Any, x: Any) -> Any:
    return axes.fold("sum", relax["abs"](x))


def _sum_square(axes: Any, x: Any) -> Any:
    return axes.fold("sum", relax["square"](x))


def _l2(axes: Any, x: Any) -> Any:
    return relax["sqrt"](_sum_square(axes, x))


def _log_sum(axes: Any, x: Any) -> Any:
    return relax["log"](axes.fold("sum", x))


def _log_sum_exp(axes: Any, x: Any) -> Any:
    """Of the distances to the largest element, so that nothing overflows; an infinite one is left where it is."""
    largest, spread = axes.spread_fold("max", x)
    zeros = relax["zeros_like"]
    shift = relax["where"](relax["isfinite"](largest), largest, zeros(largest))
    shifts = relax["where"](relax["isfinite"](spread), spread, zeros(spread))
    total = axes.fold("sum", relax["exp"](relax["subtract"](x, shifts)))
    return relax["add"](relax["log"](total), shift)


_COMPOSED = {
    "ReduceL1": _l1, "ReduceL2": _l2, "ReduceLogSum": _log_sum, "ReduceLogSumExp": _log_sum_exp,
    "ReduceSumSquare": _sum_square,
}  # fmt: skip


# ---- positions ----
@register_onnx("", ["ArgMax", "ArgMin"])
def position(node: Node) -> Outputs:
    axis, keepdims = node.int("axis", 0), bool(node.int("keepdims", 1))
    x, name = node.tensor(0), node.op.lower()
    if not node.int("select_last_index", 0):
        return relax[name](x, axis=axis, keepdims=keepdims)
    from_end = relax[name](relax["flip"](x, axis=axis), axis=axis, keepdims=keepdims)
    return relax["subtract"](relax["subtract"](_size(node, axis), const(1, "i64")), from_end)


def _size(node: Node, axis: int) -> Any:
    """The first input's size along an axis, a 0-D tensor."""
    shape = node.value(0).shape
    if shape is not None and isinstance(shape[axis], (int, SymExpr)):
        return known(shape[axis]).ssa
    place = axis % node.rank(0)
    sizes = relax["shape_to_tensor"](relax["shape_of"](node.tensor(0)))
    return relax["reshape"](relax["strided_slice"](sizes, axes=[0], begin=[place], end=[place + 1]), ())


# ---- scans ----
@register_onnx("", ["CumSum", "CumProd"])
def scan(node: Node) -> Outputs:
    axes = node.numbers(1)
    if axes is not None:
        return _scanned(node, axes[0])
    # Only the run tells the axis: one of the scans along each.
    axis = relax["reshape"](node.tensor(1), ())
    dtype, rank = node.value(1).dtype, node.rank(0)
    axis = relax["where"](relax["less"](axis, const(0, dtype)), relax["add"](axis, const(rank, dtype)), axis)
    result = _scanned(node, 0)
    for other in range(1, rank):
        result = relax["where"](relax["equal"](axis, const(other, dtype)), _scanned(node, other), result)
    return result


def _scanned(node: Node, axis: int) -> Any:
    x, is_reversed = node.tensor(0), node.int("reverse", 0)
    if is_reversed:
        x = relax["flip"](x, axis=axis)
    result = relax[node.op.lower()](x, axis=axis, exclusive=bool(node.int("exclusive", 0)))
    return relax["flip"](result, axis=axis) if is_reversed else result
