# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Access analysis: the elements of its parameters that a PrimFunc on memrefs reads and writes, and their order."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ....bindings.affine import plain_dim
from ....bindings.ir import Block, Operation, Value
from ....bindings.mlir import DYNAMIC, ir
from ....bindings.navigation import blocks_of, body_of, last_of, made_by, operations_of
from ....dialects.core.ir_attributes import PARALLEL
from ....emit.generic import GenericOp
from ....emit.memrefs import is_dense
from .linear import NONE, ONE, Linear, Linears, Term


@dataclass(frozen=True, eq=False)
class Level:
    """Block around accesses, with the counter and its bounds if the block is a loop body."""

    #: Equal for everything in one block, or in one iteration of a linalg operation.
    place: tuple[int, ...]
    kind: str
    block: Block | None = None
    counter: Term = None
    #: Lower and upper bounds of the counter, the most exact first; empty if unknown.
    firsts: tuple[Linear, ...] = ()
    lasts: tuple[Linear, ...] = ()
    #: Lower bounds of the distance between consecutive iterations.
    steps: tuple[Linear, ...] = (ONE,)
    #: True if threads share the loop, so that iterations have no order.
    is_shared: bool = False

    @property
    def runs_once(self) -> bool:
        return len(self.firsts) > 0 and self.firsts[:1] == self.lasts[:1]


class AxisRange(NamedTuple):
    """Range of indices along a dimension: `length` indices from the first, limited by the upper `bounds`."""

    first: Linear
    length: int
    bounds: tuple[Linear, ...] = ()

    @property
    def lasts(self) -> tuple[Linear, ...]:
        """Return upper bounds of the last index."""
        return self.first.plus(Linear(self.length - 1, {})), *self.bounds

    def moved(self, way: Linear) -> AxisRange:
        if way == NONE:
            return self
        return AxisRange(self.first.plus(way), self.length, tuple(bound.plus(way) for bound in self.bounds))


@dataclass(frozen=True)
class FrameView:
    """View of a parameter's memory by a memref: its coordinates are those of `frame`, shifted."""

    parameter: int
    frame: Hashable
    #: Frame dimension for each dimension of the memref.
    axes: tuple[int, ...]
    moved: tuple[Linear, ...]
    #: Values that the frame depends on. The frame differs between iterations if they do.
    depends: frozenset[Term] = frozenset()


@dataclass(frozen=True, eq=False)
class BoxAccess:
    """Read or write of a box of elements by one operation, or of unknown elements if `axes` is None."""

    view: FrameView
    is_write: bool
    axes: tuple[AxisRange, ...] | None
    levels: tuple[Level, ...]
    #: Positions of the enclosing operations in those levels. The last position is the operation's own.
    trail: tuple[int, ...]
    #: The moved value, and the mask of the access.
    value: Value | None = None
    mask: Value | None = None
    #: The accessed memref, and the indices in it.
    memref: Value | None = None
    indices: tuple[AxisRange, ...] = ()

    @functools.cached_property
    def address(self) -> AxisRange | None:
        """Return the range in elements from the parameter's start, or None if the strides are unknown."""
        if self.memref is None:
            return None
        strides, offset = self.memref.type.get_strides_and_offset()
        if offset == DYNAMIC or DYNAMIC in strides:
            return None
        first, reach = Linear(offset, {}), 1
        for stride, index in zip(strides, self.indices, strict=True):
            first = first.plus(index.first, stride)
            reach += stride * (index.length - 1)
        return AxisRange(first, reach)


class _Unknown(Exception):
    """Unsupported use of a parameter."""

    def __init__(self, parameter: int):
        self.parameter = parameter


#: The only supported loop operation.
_LOOP = "scf.for"
_TRANSFERS = {"vector.transfer_read": 0, "vector.transfer_write": 1}
_ELEMENTS = {"memref.load": 0, "memref.store": 1, "vector.load": 0, "vector.store": 1}
#: Position after all others.
_LAST = 1 << 62
#: Dialects whose operations take no memrefs, except a selection.
_SCALAR = ("arith.", "math.")
#: Operations that read only a memref's sizes, or nothing.
_HARMLESS = frozenset(("memref.dim", "memref.assume_alignment"))


class Accesses:
    """Accesses of a PrimFunc to its parameters."""

    def __init__(self, function: Operation):
        self._views: dict[Value, FrameView] = {}
        self._linears = Linears()
        self._ways: dict[tuple[ir.Attribute, ir.Attribute], tuple[list[int | None], bool]] = {}
        self._position = 0
        self.reads: dict[int, list[BoxAccess]] = {}
        self.writes: dict[int, list[BoxAccess]] = {}
        #: The function's top-level operations by position.
        self.steps: dict[int, Operation] = {}
        #: Parameters with additional, unsupported uses.
        self.unknown: set[int] = set()
        #: True if the function has other visible effects: assertions or calls.
        self.has_effects = False
        block = body_of(function)
        for index, argument in enumerate(block.arguments):
            if isinstance(argument.type, ir.MemRefType):
                rank = argument.type.rank
                frame = (tuple(argument.type.shape),)
                self._views[argument] = FrameView(index, frame, tuple(range(rank)), (NONE,) * rank)
        if len(function.regions[0].blocks) > 1:
            self.unknown.update(view.parameter for view in self._views.values())
            self.has_effects = True
        else:
            self._visit(block, (Level((0,), "func.func", block),), ())
        self.unknown |= {view.parameter for value, view in self._views.items() if self._is_odd(value)}

    def _is_odd(self, memref: Value) -> bool:
        return isinstance(memref.owner, ir.Block) and not is_dense(memref.type)

    # ---- operations ----

    def _visit(self, block: Block, levels: tuple[Level, ...], trail: tuple[int, ...]) -> None:
        for op in operations_of(block):
            self._position += 1
            if not trail:
                self.steps[self._position] = op
            name = op.name
            if name.startswith(_SCALAR) and name != "arith.select":
                continue
            here = (*trail, self._position)
            if name in _TRANSFERS:
                self._transfer(op, _TRANSFERS[name], levels, here)
                continue
            try:
                self._look(op, name, levels, here)
            except _Unknown as problem:
                self.unknown.add(problem.parameter)
            if name == "linalg.generic":
                nest = _nest(op, self._position)
                self._visit(op.regions[0].blocks[0], (*levels, *nest), (*here, *(0 for _ in nest[1:])))
            elif op.regions:
                number = self._position
                for index, inside in enumerate(blocks_of(op)):
                    place = number, index
                    level = self._loop(op, place, inside) if name == _LOOP else Level(place, name, inside)
                    self._visit(inside, (*levels, level), here)

    def _look(self, op: Operation, name: str, levels: tuple[Level, ...], trail: tuple[int, ...]) -> None:
        dialect = name.partition(".")[0]
        self.has_effects |= name in ("func.call", "llvm.call") or dialect in ("tir", "cf")
        if not (touched := [value for value in op.operands if value in self._views]) or name in _HARMLESS:
            return
        if name in _VIEWS:
            self._views[op.results[0]] = _VIEWS[name](self, op, self._views[touched[0]])
        elif name in _ELEMENTS and op.operands[_ELEMENTS[name]] in self._views and len(touched) == 1:
            at = _ELEMENTS[name]
            length = _lengths(op.results[0].type if at == 0 else op.operands[0].type)
            memref, *indices = list(op.operands)[at:]
            counts = [1] * (len(indices) - len(length)) + length
            value = op.results[0] if at == 0 else op.operands[0]
            axes = list(map(AxisRange, map(self._linears.of, indices), counts))
            self._add(memref, axes, bool(at), levels, trail, value)
        elif name.startswith("linalg."):
            self._record_structured(op, levels, trail)
        elif name == "memref.copy":
            self._copy(op, levels, trail)
        else:
            raise _Unknown(self._views[touched[0]].parameter)

    def _transfer(self, op: Operation, at: int, levels: tuple[Level, ...], trail: tuple[int, ...]) -> None:
        operands = list(op.operands)
        if (memref := operands[at]) not in self._views:
            return
        value = operands[0] if at else op.results[0]
        last = at + 1 + memref.type.rank
        axes = [AxisRange(self._linears.of(index), 1) for index in operands[at + 1 : last]]
        # The padding value and an optional mask follow the indices.
        mask = operands[-1] if len(operands) > last + 1 - at else None
        lengths = _lengths(value.type)
        counts = self._counts(mask) if len(lengths) == 1 else []
        places, is_as_it_lies = self._way_of(op)
        for place, length in zip(places, lengths, strict=True):
            if place is not None:
                first = axes[place].first
                axes[place] = AxisRange(first, length, tuple(first.plus(count) for count in counts))
        self._add(memref, axes, bool(at), levels, trail, value if is_as_it_lies else None, mask)

    def _way_of(self, transfer: Operation) -> tuple[list[int | None], bool]:
        """Return the memref axis of each vector dimension, and True if the vector is a plain box of the memref.

        A plain box has no reversed, broadcast or out-of-bounds dimension.
        """
        key = transfer.attributes["permutation_map"], transfer.attributes["in_bounds"]
        if key not in self._ways:
            map_, is_inside = key[0].value, all(each.value for each in key[1])
            in_order = ir.AffineMap.get_minor_identity(map_.n_dims, len(map_.results), transfer.context)
            self._ways[key] = list(map(plain_dim, map_.results)), is_inside and map_ == in_order
        return self._ways[key]

    def _counts(self, mask: Value | None) -> list[Linear]:
        """Return upper bounds of the distance between the first and the last lane under a mask."""
        made = None if mask is None else made_by(mask, "vector.create_mask")
        counts = [] if made is None else self._linears.bounds_of(made.operands[0])
        return [count.plus(ONE, -1) for count in counts]

    def _record_structured(self, op: Operation, levels: tuple[Level, ...], trail: tuple[int, ...]) -> None:
        """Record the accesses of a linalg operation.

        A generic is a loop nest around the mapped elements; others are unknown.
        """
        inputs, outputs = (int(each) for each in op.attributes["operandSegmentSizes"])
        is_generic = op.name == "linalg.generic"
        nest = _nest(op, self._position) if is_generic else ()
        for index in range(inputs + outputs):
            memref, is_write = op.operands[index], index >= inputs
            if memref not in self._views:
                continue
            axes = (
                [_axis_of(op, index, dim, self._position) for dim in range(memref.type.rank)] if is_generic else [None]
            )
            firsts = [AxisRange(axis, 1) for axis in axes if axis is not None]
            if len(firsts) < len(axes):
                self._record(BoxAccess(self._views[memref], is_write, None, levels, trail))
                continue
            # Each iteration reads its inputs, runs its body, and then writes.
            inner = (*trail, *(0 for _ in nest[1:]), _LAST if is_write else 0)
            value = _body_value(op, index, inputs)
            self._add(memref, firsts, is_write, (*levels, *nest), inner, value)

    def _copy(self, op: Operation, levels: tuple[Level, ...], trail: tuple[int, ...]) -> None:
        """Record a copy as a loop nest that reads each element before writing it.

        The source's memref stands for the read values.
        """
        source, target = op.operands
        ends = [None if size == DYNAMIC else Linear(max(size - 1, 0), {}) for size in source.type.shape]
        nest = _loops(ends, self._position)
        for memref, is_write in ((source, False), (target, True)):
            axes = [AxisRange(Linear(0, {level.counter: 1}), 1) for level in nest[:-1]]
            inner = (*trail, *(0 for _ in nest[1:]), _LAST if is_write else 0)
            self._add(memref, axes, is_write, (*levels, *nest), inner, source)

    def _add(
        self,
        memref: Value,
        indices: list[AxisRange],
        is_write: bool,
        levels: tuple[Level, ...],
        trail: tuple[int, ...],
        value: Value | None,
        mask: Value | None = None,
    ) -> None:
        if (view := self._views.get(memref)) is None:
            return
        axes = [AxisRange(first, 1) for first in view.moved]
        for axis, index in zip(view.axes, indices, strict=True):
            axes[axis] = index.moved(view.moved[axis])
        self._record(BoxAccess(view, is_write, tuple(axes), levels, trail, value, mask, memref, tuple(indices)))

    def _record(self, access: BoxAccess) -> None:
        writes = self.writes if access.is_write else self.reads
        writes.setdefault(access.view.parameter, []).append(access)

    def _loop(self, op: Operation, place: tuple[int, ...], block: Block) -> Level:
        known = self._linears
        counted = known.firsts_of(op), known.lasts_of(op), known.steps_of(op)
        return Level(place, op.name, block, block.arguments[0], *counted, PARALLEL in op.attributes)

    # ---- views ----

    def same(self, op: Operation, view: FrameView) -> FrameView:
        return view

    def reshaped(self, op: Operation, view: FrameView) -> FrameView:
        """Return the view after a reshape, with new coordinates shared by all equal reshapes."""
        sizes = list(op.operands)[1:]
        reshape = (op.name, str(op.attributes["reassociation"]), tuple(op.results[0].type.shape), tuple(sizes))
        rank = op.results[0].type.rank
        frame = (view.frame, view.axes, tuple(_hashable(form) for form in view.moved), *reshape)
        depends = view.depends.union(sizes, *(form.terms for form in view.moved))
        return FrameView(view.parameter, frame, tuple(range(rank)), (NONE,) * rank, depends)

    def part(self, op: Operation, view: FrameView) -> FrameView:
        """Return the view of a subview. Only unit strides are supported: offsets then just shift coordinates."""
        static = list(op.attributes["static_offsets"])
        if any(step != 1 for step in list(op.attributes["static_strides"])):
            raise _Unknown(view.parameter)
        given = iter(list(op.operands)[1:])
        offsets = [self._linears.of(next(given)) if each == DYNAMIC else Linear(each, {}) for each in static]
        moved = list(view.moved)
        for axis, offset in zip(view.axes, offsets, strict=True):
            moved[axis] = moved[axis].plus(offset)
        if (kept := kept_axes(op)) is None:
            raise _Unknown(view.parameter)
        axes = tuple(view.axes[axis] for axis in kept)
        return FrameView(view.parameter, view.frame, axes, tuple(moved), view.depends)


_VIEWS = {
    "memref.cast": Accesses.same,
    "memref.collapse_shape": Accesses.reshaped,
    "memref.expand_shape": Accesses.reshaped,
    "memref.subview": Accesses.part,
}


def _hashable(linear: Linear) -> Hashable:
    return (linear.number, frozenset(linear.terms.items()))


def kept_axes(op: Operation) -> list[int] | None:
    """Return the source dimensions that a rank-reducing subview keeps, or None if dropped sizes of 1 are ambiguous."""
    sizes, shape = list(op.attributes["static_sizes"]), list(op.results[0].type.shape)
    if len(sizes) == len(shape):
        return list(range(len(shape)))
    kept = [axis for axis, size in enumerate(sizes) if size != 1]
    return kept if [sizes[axis] for axis in kept] == shape else None


def _lengths(type_: ir.Type) -> list[int]:
    return list(type_.shape) if isinstance(type_, ir.VectorType) else []


def _nest(op: Operation, position: int) -> tuple[Level, ...]:
    """Return the loops of a linalg.generic, outermost first."""
    sizes = GenericOp(op).known_sizes
    return _loops([None if size is None else Linear(max(size - 1, 0), {}) for size in sizes], position)


def _loops(ends: Sequence[Linear | None], position: int) -> tuple[Level, ...]:
    """Return loops from 0 to the given last indices, outermost first, and the innermost body."""
    lasts = [() if end is None else (end,) for end in ends]
    loops = (Level((position, dim), _LOOP, None, (position, dim), (NONE,), last) for dim, last in enumerate(lasts))
    return (*loops, Level((position, len(ends)), "body"))


def _axis_of(op: Operation, index: int, dim: int, position: int) -> Linear | None:
    """Return the index that a linalg.generic uses along an operand's dimension, or None if not supported."""
    expression = op.attributes["indexing_maps"][index].value.results[dim]
    if isinstance(expression, ir.AffineDimExpr):
        return Linear(0, {(position, expression.position): 1})
    return Linear(expression.value, {}) if isinstance(expression, ir.AffineConstantExpr) else None


def _body_value(op: Operation, index: int, inputs: int) -> Value:
    """Return the body's argument for an input, or the yielded value for an output."""
    block = op.regions[0].blocks[0]
    return block.arguments[index] if index < inputs else last_of(block).operands[index - inputs]
