# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Addresses of a PrimFunc's accesses: element offsets from its parameters, in terms of the call's sizes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import NamedTuple

from ....bindings.ir import Block, Operation, Value
from ....bindings.mlir import DYNAMIC, ir
from ....bindings.navigation import constant_of, made_by
from ....dialects.core.infos import Info, ScalarInfo, TensorInfo
from ....dialects.core.symbols import Size, SymExpr, at_most, dim_floordiv, dim_max, dim_min, dim_mod
from ....dialects.core.symbols_expr import make_variable
from .accesses import BoxAccess, kept_axes
from .linear import Linear


class Address(NamedTuple):
    """First element of a box, and count and stride of each dimension with several elements."""

    first: Size
    steps: tuple[tuple[int, Size], ...]


class _Layout(NamedTuple):
    """Layout of a memref in the memory of a parameter."""

    sizes: tuple[Size, ...]
    strides: tuple[Size, ...]
    offset: Size


#: Name prefix of unknown numbers, such as loop counters, which may be negative.
_OPEN = "%"


class Addresses:
    """Addresses of one PrimFunc for one call."""

    def __init__(self, parameters: Sequence[Value], infos: Sequence[Info]):
        self._sizes: dict[Hashable, Size] = {}
        self._layouts: dict[Value, _Layout] = {}
        self._names = itertools.count()
        #: Expressions for which no element is moved unless they are positive.
        self.spans: list[Size] = []
        for parameter, info in zip(parameters, infos, strict=True):
            if isinstance(info, TensorInfo) and isinstance(parameter.type, ir.MemRefType):
                self._layouts[parameter] = self._dense(parameter, info)
            elif isinstance(info, ScalarInfo) and isinstance(info.value, (int, SymExpr)):
                self._sizes[parameter] = info.value

    def of(self, access: BoxAccess) -> Address | None:
        """Return the address of an access, or None for an unsupported memref.

        Raise SymbolError for too long an expression.
        """
        layout = None if access.memref is None else self._layout(access.memref)
        if layout is None:
            return None
        first = layout.offset
        for stride, index in zip(layout.strides, access.indices, strict=True):
            first = first + stride * self._locate(index.first, access)
        pairs = zip(layout.strides, access.indices, strict=True)
        return Address(first, tuple((index.length, stride) for stride, index in pairs if index.length != 1))

    def _locate(self, index: Linear, access: BoxAccess) -> Size:
        total: Size = index.number
        for term, factor in index.terms.items():
            total = total + factor * (
                self._size(term) if (once := _only(term, access)) is None else self._locate(once, access)
            )
        return total

    # ---- numbers ----

    def _size(self, value: Hashable) -> Size:
        if value not in self._sizes:
            self._sizes[value] = self._compute(value) if isinstance(value, Value) else self._open()
        return self._sizes[value]

    def _open(self) -> SymExpr:
        return make_variable(f"{_OPEN}{next(self._names)}")

    def _compute(self, value: Value) -> Size:
        if (number := constant_of(value)) is not None:
            return number
        op = None if isinstance(value.owner, Block) else value.owner.operation
        found: Size | None = None
        if op is not None and op.name == "memref.dim":
            found = self._dimension(op)
        elif op is not None and op.name == "arith.select":
            found = self._choose(op)
        elif op is not None and op.name in _ARITHMETIC:
            found = _ARITHMETIC[op.name](*map(self._size, op.operands))
        return self._open() if found is None else found

    def _dimension(self, op: Operation) -> Size | None:
        memref, axis = op.operands
        layout, at = self._layout(memref), self._size(axis)
        return layout.sizes[at] if layout is not None and isinstance(at, int) and 0 <= at < len(layout.sizes) else None

    def _choose(self, op: Operation) -> Size | None:
        """Return the chosen number of a select operation, or None.

        `select(n <= 0, 0, m)` counts as m: `spans` records that nothing is moved unless n is positive.
        """
        condition, one, other = op.operands
        if (test := made_by(condition, "arith.cmpi")) is None:
            return None
        left, right = map(self._size, test.operands)
        kind = int(test.attributes["predicate"].value)
        is_so = _compare(kind, left, right)
        if is_so is not None:
            return self._size(one if is_so else other)
        if kind != _AT_MOST or right != 0 or self._size(one) != 0 or _is_open(left):
            return None
        self.spans.append(left)
        return self._size(other)

    # ---- memrefs ----

    def _dense(self, memref: Value, info: TensorInfo) -> _Layout:
        known: Sequence[object] = info.shape if info.shape is not None else ()
        sizes: list[Size] = []
        for axis, size in enumerate(memref.type.shape):
            dim = known[axis] if axis < len(known) and size == DYNAMIC else size
            sizes.append(dim if isinstance(dim, (int, SymExpr)) else self._open())
        strides = tuple(math.prod(sizes[axis + 1 :]) for axis in range(len(sizes)))
        return _Layout(tuple(sizes), strides, 0)

    def _layout(self, memref: Value) -> _Layout | None:
        if memref not in self._layouts:
            op = None if isinstance(memref.owner, Block) else memref.owner.operation
            rule = None if op is None else _LAYOUTS.get(op.name)
            source = None if op is None or rule is None else self._layout(op.operands[0])
            if op is None or rule is None or source is None or (layout := rule(self, op, source)) is None:
                return None
            self._layouts[memref] = layout
        return self._layouts[memref]

    def same(self, op: Operation, source: _Layout) -> _Layout:
        return source

    def part(self, op: Operation, source: _Layout) -> _Layout | None:
        given = iter(list(op.operands)[1:])
        offsets, sizes, steps = (self._mix(op.attributes[f"static_{name}"], given) for name in _OF_PARTS)
        if (kept := kept_axes(op)) is None:
            return None
        offset = source.offset
        for stride, index in zip(source.strides, offsets, strict=True):
            offset = offset + stride * index
        strides = tuple(source.strides[axis] * steps[axis] for axis in kept)
        return _Layout(tuple(sizes[axis] for axis in kept), strides, offset)

    def joined(self, op: Operation, source: _Layout) -> _Layout:
        sizes, strides = [], []
        for group in _groups(op):
            sizes.append(math.prod(source.sizes[axis] for axis in group))
            # The stride is that of the innermost dimension with more than one element.
            wide = [axis for axis in group if source.sizes[axis] != 1]
            strides.append(source.strides[(wide or group)[-1]])
        return _Layout(tuple(sizes), tuple(strides), source.offset)

    def divided(self, op: Operation, source: _Layout) -> _Layout:
        sizes = self._mix(op.attributes["static_output_shape"], iter(list(op.operands)[1:]))
        strides: list[Size] = []
        for stride, group in zip(source.strides, _groups(op), strict=True):
            strides += [stride * math.prod(sizes[inner] for inner in group if inner > axis) for axis in group]
        return _Layout(tuple(sizes), tuple(strides), source.offset)

    def _mix(self, static: Sequence[int], values: Iterator[Value]) -> list[Size]:
        return [self._size(next(values)) if number == DYNAMIC else number for number in static]


def _only(term: Hashable, access: BoxAccess) -> Linear | None:
    """Return the value of a counter if its loop runs only once."""
    loops = [level for level in access.levels if level.counter is not None and level.counter == term]
    return loops[0].firsts[0] if loops and loops[0].runs_once else None


_OF_PARTS = ("offsets", "sizes", "strides")
_LAYOUTS: dict[str, Callable[[Addresses, Operation, _Layout], _Layout | None]] = {
    "memref.cast": Addresses.same,
    "memref.subview": Addresses.part,
    "memref.collapse_shape": Addresses.joined,
    "memref.expand_shape": Addresses.divided,
}


def _groups(op: Operation) -> list[list[int]]:
    return [[axis.value for axis in group] for group in op.attributes["reassociation"]]


def _is_open(*sizes: Size) -> bool:
    """Check whether sizes contain unknown numbers."""
    return any(name.startswith(_OPEN) for size in sizes if isinstance(size, SymExpr) for name in size.variables)


def is_known(size: Size) -> bool:
    """Check whether a size is known at a call."""
    return not _is_open(size)


def _if_known(compute: Callable[..., Size | None], least: int | None = None) -> Callable[..., Size | None]:
    """Return a function that computes only on known sizes, or returns None.

    With `least`, the left operand must be at least 0, and the right one at least `least`.

    The bounds make unsigned and rounding operations agree with the symbolic arithmetic.
    """

    def computed(left: Size, right: Size) -> Size | None:
        if _is_open(left, right) or least is not None and not (at_most(0, left) and at_most(least, right)):
            return None
        return compute(left, right)

    return computed


_ARITHMETIC: dict[str, Callable[..., Size | None]] = {
    "arith.addi": lambda left, right: left + right,
    "arith.subi": lambda left, right: left - right,
    "arith.muli": lambda left, right: left * right,
    "arith.index_cast": lambda size: size,
    "arith.minsi": _if_known(dim_min),
    "arith.minui": _if_known(dim_min, 0),
    "arith.maxsi": _if_known(dim_max),
    "arith.maxui": _if_known(dim_max, 0),
    **dict.fromkeys(("arith.divsi", "arith.divui"), _if_known(dim_floordiv, 1)),
    **dict.fromkeys(("arith.remsi", "arith.remui"), _if_known(dim_mod, 1)),
}

#: Signed comparison predicates.
_EQUAL, _UNEQUAL, _LESS, _AT_MOST, _MORE, _AT_LEAST = range(6)


def _compare(kind: int, left: Size, right: Size) -> bool | None:
    """Return the result of a comparison, or None if it depends on sizes or is unsigned."""
    if _is_open(left, right) or kind > _AT_LEAST:
        return None
    if kind in (_MORE, _AT_LEAST):
        return _compare(_LESS if kind == _MORE else _AT_MOST, right, left)
    is_less, is_at_most = at_most(left + 1, right), at_most(left, right)
    is_more, is_at_least = at_most(right + 1, left), at_most(right, left)
    if kind in (_EQUAL, _UNEQUAL):
        is_equal = True if is_at_most and is_at_least else False if is_less or is_more else None
        return None if is_equal is None else is_equal == (kind == _EQUAL)
    if kind == _LESS:
        return True if is_less else False if is_at_least else None
    return True if is_at_most else False if is_more else None
