# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Analysis of a linalg.generic: extents of its loops, reduction loops, and the indexing map of each operand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from ..bindings.affine import Linear, linear_form
from ..bindings.ir import AffineExpr, Block, Operation, Type, Value
from ..bindings.mlir import DYNAMIC, ir
from ..bindings.navigation import body_of, operations_in, operations_of
from ..bindings.rewriting import Decline
from ..dialects.core.cache import cache_of
from . import linalg
from .collapse import AxisStep
from .generic import GenericOp
from .numbers import Size

_WIDTHS = (1, 8, 16, 32, 64)
_FLOATS = ("f16", "bf16", "f32", "f64")


@dataclass(frozen=True)
class StructuredOp:
    """Structured operation: an analyzed linalg.generic.

    Operands are the inputs, the epilogue's other inputs, and the outputs.

    Each operand has one access, by axis.
    """

    operation: Operation
    operands: tuple[Value, ...]
    input_count: int
    accesses: tuple[tuple[Linear, ...], ...]
    #: Sizes of the operands, with MLIR's marker for a dynamic size; empty for a scalar.
    shapes: tuple[tuple[int, ...], ...]
    #: Sizes of the loops, None where dynamic.
    sizes: tuple[int | None, ...]
    reductions: frozenset[int]
    #: The operation's loops in each loop, after some are joined. Empty if none are.
    chains: tuple[tuple[int, ...], ...] = ()

    @cached_property
    def walks(self) -> list[list[AxisStep]]:
        """Return the steps of each operand, without axes of which only the first element is read."""
        return [
            [
                AxisStep(axis, None if index.is_partial else index.dim, frozenset(dim for dim, _ in index.factors))
                for axis, (index, size) in enumerate(zip(access, shape, strict=True))
                if index.factors or size != 1
            ]
            for access, shape in zip(self.accesses, self.shapes, strict=True)
        ]

    @cached_property
    def block(self) -> Block:
        return body_of(self.operation)

    @cached_property
    def dims_used(self) -> tuple[frozenset[int], ...]:
        """Loops that move each operand's index."""
        return tuple(frozenset(dim for axis in access for dim, _ in axis.factors) for access in self.accesses)

    @cached_property
    def inner_names(self) -> frozenset[str]:
        """Names of the operations in the body."""
        return frozenset(inner.name for inner in operations_of(self.block))

    @cached_property
    def output_start(self) -> int:
        """Number of the first output among the operands."""
        return len(self.operands) - (len(self.block.arguments) - self.input_count)

    @cached_property
    def outputs(self) -> tuple[Value, ...]:
        return self.operands[self.output_start :]

    @cached_property
    def output_accesses(self) -> tuple[tuple[Linear, ...], ...]:
        return self.accesses[self.output_start :]

    @cached_property
    def dims(self) -> range:
        return range(len(self.sizes))

    @property
    def parallels(self) -> list[int]:
        return [dim for dim in self.dims if dim not in self.reductions]

    def chain(self, dim: int) -> tuple[int, ...]:
        """Return the operation's loops that form a loop."""
        return self.chains[dim] if self.chains else (dim,)

    def last_dim(self, operand: int) -> int | None:
        """Return the loop along which an operand's elements are contiguous, or None. Axes of size 1 do not count."""
        for axis, size in reversed(list(zip(self.accesses[operand], self.shapes[operand], strict=True))):
            if size != 1:
                return axis.dim
        return None

    def element(self, operand: int) -> Type:
        """Return the type of an operand's elements, or of a scalar."""
        type_ = self.operands[operand].type
        return type_ if is_scalar(type_) else type_.element_type

    def uses(self, operand: int, dim: int) -> bool:
        return dim in self.dims_used[operand]

    def is_contiguous(self, operand: int, dim: int, factor: int = 1) -> bool:
        """Check whether steps of a loop move only through an operand's last axis, by `factor` elements."""
        *outer, last = self.accesses[operand] or (Linear(()),)
        return last.factor(dim) == factor and not any(dim == each for axis in outer for each, _ in axis.factors)

    def size(self, dim: int) -> Size:
        """Return a loop's size: a number, or an index computed here."""
        if (known := self.sizes[dim]) is not None:
            return known
        operand, axis = self.places_of(dim)[0]
        return linalg.size(self.operands[operand], axis)

    def places_of(self, dim: int) -> list[tuple[int, int]]:
        """Return operands and their axes that span a loop. linalg's verifier guarantees at least one."""
        places = [(operand, axis) for operand, access in enumerate(self.accesses) for axis in range(len(access))]
        return [(operand, axis) for operand, axis in places if self.accesses[operand][axis].is_all_of(dim)]

    def reads_output(self, output: int) -> bool:
        """Check whether the body uses the previous contents of an output."""
        argument = self.block.arguments[self.input_count + output]
        return next(iter(argument.uses), None) is not None


def structured_ops(function: Operation, *, named: bool = False) -> list[Operation]:
    """Return the linalg.generic operations of a function, or all linalg operations, without nested ones, in order."""
    is_wanted = lambda op: op.name == "linalg.generic" or (named and op.name.startswith("linalg."))  # noqa: E731
    return [op for op in operations_in(function.operation, is_wanted) if is_wanted(op)]


class _Form(NamedTuple):
    """Facts that operations with the same loops, maps and types share."""

    input_count: int
    accesses: tuple[tuple[Linear, ...], ...]
    shapes: tuple[tuple[int, ...], ...]
    sizes: tuple[int | None, ...]
    reductions: frozenset[int]


def analyze(operation: Operation, *, on_memrefs: bool = False) -> StructuredOp:
    """Analyze an operation. Raise Decline if the schedules do not support its form."""
    attributes, operands = operation.attributes, tuple(operation.operands)
    stated = [attributes[name] for name in ("operandSegmentSizes", "indexing_maps", "iterator_types")]
    key = (on_memrefs, len(operation.results), *stated, *[value.type for value in operands])
    # Each pass asks again.
    known = cache_of(operation.context).structured
    form: _Form = known[key] if key in known else known.remember(key, _form_of(operation, on_memrefs))
    return StructuredOp(operation, operands, *form)


def _form_of(operation: Operation, on_memrefs: bool) -> _Form:
    generic = GenericOp(operation)
    input_count, operands = generic.input_count, generic.operands
    for value in operands:
        _check_operand(value.type, ir.MemRefType if on_memrefs else ir.RankedTensorType)
    if not on_memrefs and len(operation.results) != len(operands) - input_count:
        raise Decline("it is on memrefs")
    if "window" in generic.kinds:
        raise Decline("it has a window iterator")
    accesses = [tuple(_linear(result) for result in map_.results) for map_ in generic.maps]
    shapes = tuple(tuple(shape_of(value)) for value in operands)
    sizes = generic.known_sizes
    units = {dim for dim, size in enumerate(sizes) if size == 1}
    simple = tuple(
        tuple(_without(index, units, sizes, length) for index, length in zip(access, shape, strict=True))
        for access, shape in zip(accesses, shapes, strict=True)
    )
    if not all(map(generic.writes_once, generic.output_numbers)):
        raise Decline("an output's elements are no permutation of the parallel loops")
    return _Form(input_count, simple, shapes, sizes, frozenset(generic.reductions))


def with_open_units(op: StructuredOp) -> StructuredOp:
    """Return the operation as if its parallel loops of one step had dynamic sizes."""
    if not (units := {dim for dim in op.parallels if op.sizes[dim] == 1}):
        return op
    others = {dim for dim in op.reductions if op.sizes[dim] == 1}
    sizes = tuple(None if dim in units else size for dim, size in enumerate(op.sizes))
    accesses, shapes = [], []
    for map_, shape in zip(GenericOp(op.operation).maps, op.shapes, strict=True):
        indices = [
            _without(_linear(result), others, op.sizes, length)
            for result, length in zip(map_.results, shape, strict=True)
        ]
        accesses.append(tuple(indices))
        shapes.append(tuple(DYNAMIC if at.dim in units else size for at, size in zip(indices, shape, strict=True)))
    return replace(op, accesses=tuple(accesses), shapes=tuple(shapes), sizes=sizes)


def _check_operand(type_: Type, expected: type[Type]) -> None:
    if is_scalar(type_):
        return
    if not isinstance(type_, expected):
        raise Decline(f"an operand is a {type_}")
    if isinstance(type_, ir.RankedTensorType) and type_.encoding is not None:
        raise Decline(f"an operand has an encoding ({type_})")


def is_scalar(type_: Type) -> bool:
    return isinstance(type_, (ir.IntegerType, ir.FloatType, ir.IndexType))


def shape_of(value: Value) -> list[int]:
    """Return the sizes in the type of a tensor or memref; an empty list for a scalar."""
    return [] if is_scalar(value.type) else list(value.type.shape)


def is_storable(element: Type) -> bool:
    """Check whether vectors of such elements can be loaded and stored: elements of whole bytes, and truth values."""
    return element.width in _WIDTHS if isinstance(element, ir.IntegerType) else str(element) in _FLOATS


def _linear(expr: AffineExpr) -> Linear:
    if (form := linear_form(expr)) is None:
        raise Decline(f"the index {expr} is no sum of loop dimensions")
    return form


def _without(index: Linear, units: set[int], sizes: Sequence[int | None], length: int) -> Linear:
    """Remove loops of one step, which stay at 0."""
    simple = Linear(tuple(pair for pair in index.factors if pair[0] not in units), index.constant)
    is_exact = simple == index or simple.dim is None or sizes[simple.dim] == length
    return simple._replace(is_partial=not is_exact)
