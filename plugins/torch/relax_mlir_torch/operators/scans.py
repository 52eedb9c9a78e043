# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of scans along a dimension, which combine each element with all elements before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.emit import linalg, loops
from relax_mlir.emit.axis_reduction import highest, lowest
from relax_mlir.emit.conversions import widened
from relax_mlir.emit.numbers import Number, Size, as_i64, constant, intrinsic, select
from relax_mlir.emit.parallel import share_ranges
from relax_mlir.emit.sorting import around_axis

from ..prelude import (
    Outputs,
    Tensor,
    TorchNode,
    Value,
    cast,
    info_of,
    joined,
    register_rows,
    register_torch,
    relax,
    sizes,
    wide_float,
)  # fmt: skip


def _scan(name: str) -> Callable[[TorchNode], Outputs]:
    def convert(node: TorchNode) -> Outputs:
        """Scan along a dimension. A 0-D tensor is unchanged."""
        x, rank = node.tensor("self", node.dtype), node.rank("self")
        return x if rank == 0 else relax.dialect.ops[name](x, axis=node.axis("dim", rank))

    return convert


register_rows(
    {
        "aten::cumsum": _scan("cumsum"),
        "aten::cumprod": _scan("cumprod"),
        "aten::cummax": lambda node: _extremes(node, "cummax"),
        "aten::cummin": lambda node: _extremes(node, "cummin"),
        "aten::logcumsumexp": lambda node: _log_sums(node),
    }
)


# ---- differences ----


@register_torch("aten::diff")
def diff(node: TorchNode) -> Outputs:
    """Convert diff: differences of adjacent elements, `n` times, with `prepend` and `append` joined before."""
    if node.int("n", 1) == 0:
        return node.held("self")
    around = [node.tensor(key, node.dtype) for key in ("prepend", "self", "append") if node.has(key)]
    axis = node.axis("dim", node.rank("self"))
    x = joined(around, axis)
    for _ in range(node.int("n", 1)):
        value = Value(ssa=x)
        size = sizes.sizes_of(value)[axis]
        last = sizes.larger(sizes.minus(size, 1), 0)
        after, before = (sizes.sliced(value, {axis: (*bounds, 1)}) for bounds in ((1, size), (0, last)))
        x = relax.logical_xor(after, before) if node.dtype == "i1" else relax.subtract(after, before)
    return x


# ---- scans without a relax operator ----


def _extremes(node: TorchNode, name: str) -> list[Tensor]:
    """Return the running extremes, and the last index of each. NaN counts as more extreme than all numbers."""
    x, rank, dtype = node.tensor("self"), node.rank("self"), node.value("self").dtype
    if rank == 0:
        return [x, relax.zeros((), "i64")]
    return cumulated(node, name, cast(x, "ui8") if dtype == "i1" else x, node.axis("dim", rank), dtype)


def cumulated(node: TorchNode, name: str, x: Tensor, axis: int, dtype: str = "") -> list[Tensor]:
    """Return the running extremes along an axis in an element type, and their indices."""
    info = info_of(x)
    values, places = node.call_tir(Extremes(name, axis, info.dtype), [x], [info, TensorInfo(info.shape, "i64")])
    return [cast(values, dtype or info.dtype), places]


def _log_sums(node: TorchNode) -> Tensor:
    x, rank = node.tensor("self", wide_float(node.dtype)), node.rank("self")
    if rank == 0:
        return cast(x, node.dtype)
    return cast(node.call_tir(LogSums(node.axis("dim", rank)), [x], info_of(x)), node.dtype)


_NANOSECONDS = 2
#: Function from a row's element index to the indices in the buffers.
Place = Callable[[Number], list[Number]]


def _each_row(buffers: Sequence[Tensor], axis: int, body: Callable[[Sequence[Tensor], Size, Place], None]) -> None:
    """Run `body(buffers, count, at)` for each row along an axis."""
    around = [around_axis(buffer, axis) for buffer in buffers]
    before, count, after = loops.sizes(around[0])

    def part(start: Number, rows: Size) -> None:
        loops.for_range(start, start + rows, lambda row: body(around, count, lambda i: [row // after, i, row % after]))

    share_ranges(linalg.product([before, after]), linalg.product([count, _NANOSECONDS]), part)


@dataclass(frozen=True)
class Extremes:
    """Kernel of the running extreme of each element and all before, and the last index of the extreme."""

    name: str
    axis: int
    dtype: str

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, x: Tensor, values: Tensor, places: Tensor) -> None:
        _each_row([x, values, places], self.axis, self._row)

    def _row(self, buffers: Sequence[Tensor], count: Size, at: Place) -> None:
        x, values, places = buffers
        is_largest = self.name == "cummax"

        def step(i: Number, best: Number, place: Number) -> list[Number]:
            element = widened(loops.load(x, *at(i)).of(self.dtype))
            is_taken = element >= best if is_largest else element <= best
            if element.is_float:
                is_taken = is_taken | (element != element)
            best, place = select(is_taken, element, best), select(is_taken, as_i64(i), place)
            loops.store(best.to(self.dtype), values, *at(i))
            loops.store(place, places, *at(i))
            return [best, place]

        first = constant(lowest(self.dtype) if is_largest else highest(self.dtype), self.dtype)
        loops.for_range(0, count, step, widened(first), as_i64(0))


@dataclass(frozen=True)
class LogSums:
    """Kernel of the logarithm of the sum of the exponentials of each element and all before."""

    axis: int
    __name__ = "logcumsumexp"

    def __call__(self, x: Tensor, sums: Tensor) -> None:
        _each_row([x, sums], self.axis, self._row)

    def _row(self, buffers: Sequence[Tensor], count: Size, at: Place) -> None:
        x, sums = buffers

        def step(i: Number, total: Number) -> Number:
            total = intrinsic("logaddexp", total, loops.load(x, *at(i)))
            loops.store(total, sums, *at(i))
            return total

        loops.for_range(0, count, step, constant(-float("inf"), x.type.element_type))
