# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Data form of a PrimFunc's body: steps, numbered values, and classes of axes of equal size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ....bindings.affine import plain_dim
from ....bindings.ir import AffineMap, Block, Operation, Type, Value
from ....bindings.mlir import DYNAMIC, ir, string_value
from ....bindings.navigation import function_type_of, operations_of
from ....dialects.core.dialect import row_of
from ....dialects.tir.prim_func import is_prim_func
from ....emit.generic import GenericOp
from ....emit.linalg import REDUCTION

#: Attribute of a structure's parameter that represents a literal. The text is its name.
LITERAL = "relax.literal"
# Evaluation recurses from producer to producer. People do not write longer bodies.
_MOST_STEPS, _MOST_TENSORS = 500, 48
_PURE_DIALECTS = frozenset({"affine", "arith", "index", "linalg", "math", "scf", "tensor"})
_COMMUTATIVE = frozenset(
    f"arith.{name}"
    for name in "addf mulf addi muli andi ori xori maximumf minimumf maxnumf minnumf maxsi minsi maxui minui".split()
)
#: Attributes that say how freely an operation may be computed, but not its result.
_IGNORED = frozenset({"fastmath", "overflowFlags", "operandSegmentSizes", "indexing_maps", "iterator_types"})
_ENDS = frozenset({"func.return", "linalg.yield", "scf.yield", "tensor.yield", "scf.condition", "affine.yield"})

Axis = tuple[int, int]


class Unreadable(Exception):
    """Raised for bodies that cannot be analysed, with the reason."""


class TypeOf(NamedTuple):
    """Relevant parts of a value's type. `sizes` is None for anything but tensors."""

    element: str
    sizes: tuple[int | None, ...] | None

    @property
    def text(self) -> str:
        return self.element if self.sizes is None else f"{self.element}x{len(self.sizes)}"


class Generic(NamedTuple):
    """Loops of a linalg.generic."""

    maps: tuple[AffineMap, ...]
    is_reduction: tuple[bool, ...]
    input_count: int


class Region(NamedTuple):
    """A block of steps and its terminator."""

    arguments: tuple[int, ...]
    steps: tuple[BodyStep, ...]
    end: str
    results: tuple[int, ...]


_EMPTY = Region((), (), "", ())


class BodyStep(NamedTuple):
    """One operation of a body."""

    name: str
    attributes: str
    operands: tuple[int, ...]
    results: tuple[int, ...]
    regions: tuple[Region, ...]
    is_commutative: bool
    generic: Generic | None
    #: Value of a constant, or dimension that linalg.index or tensor.dim names.
    number: float | None


@dataclass
class ReadBody:
    """A function that computes tensors from tensors."""

    types: list[TypeOf] = field(default_factory=list)
    #: Defining step of a value and the result's index. Arguments have none.
    makers: dict[int, tuple[BodyStep, int]] = field(default_factory=dict)
    #: Input tensors, output tensors if the function has parameters for them, and literals by name.
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    literals: dict[int, str] = field(default_factory=dict)
    region: Region = _EMPTY
    #: Axes of equal size because loops iterate over both. `axis_of` finds the representative.
    _same: dict[Axis, Axis] = field(default_factory=dict)

    def axis_of(self, axis: Axis) -> Axis:
        """Return the representative of all axes of the same size."""
        while (other := self._same.get(axis, axis)) != axis:
            axis = other
        return axis

    def unify(self, one: Axis, other: Axis) -> None:
        one, other = self.axis_of(one), self.axis_of(other)
        if one != other:
            self._same[max(one, other)] = min(one, other)


def read_body(function: Operation) -> ReadBody:
    """Read a function with generic linalg operations. Raise Unreadable if that is impossible."""
    blocks = list(function.regions[0].blocks)
    if len(blocks) != 1:
        raise Unreadable("has several blocks" if blocks else "has no body")
    results = function_type_of(function).results
    if not len(results) or not all(isinstance(type_, ir.RankedTensorType) for type_ in results):
        raise Unreadable("works on memory, not on tensors")
    reader = _StructureReader()
    body = reader.body
    body.region = reader.region(blocks[0], is_outermost=True)
    arguments = list(body.region.arguments)
    count = len(arguments) - (len(results) if is_prim_func(function) else 0)
    body.literals = {arguments[place]: name for place, name in literal_places(function).items()}
    body.inputs = tuple(value for value in arguments[:count] if value not in body.literals)
    body.outputs = tuple(arguments[count:])
    for output, result in zip(body.outputs, body.region.results, strict=False):
        _unify_whole(body, output, result)
    return body


def literal_places(function: Operation) -> dict[int, str]:
    """Return the positions and names of the parameters that stand for literals."""
    if "arg_attrs" not in function.attributes:
        return {}
    attributes = enumerate(function.attributes["arg_attrs"])
    return {place: string_value(each[LITERAL]) for place, each in attributes if LITERAL in each}


class _StructureReader:
    def __init__(self) -> None:
        self.body = ReadBody()
        self._numbers: dict[Value, int] = {}
        self._steps = self._tensors = 0

    def _number(self, value: Value) -> int:
        if value not in self._numbers:
            self._numbers[value] = len(self._numbers)
            self.body.types.append(_type_of(value.type))
        return self._numbers[value]

    def region(self, block: Block, *, is_outermost: bool = False) -> Region:
        arguments = tuple(self._number(value) for value in block.arguments)
        *operations, end = operations_of(block)
        if end.name not in _ENDS:
            raise Unreadable(f"contains {end.name}")
        steps = tuple(self._step(op, is_outermost) for op in operations)
        return Region(arguments, steps, end.name, tuple(self._number(value) for value in end.operands))

    def _step(self, op: Operation, is_outermost: bool) -> BodyStep:
        if not _is_pure(op) and not (is_outermost and op.name == "tir.assert"):
            raise Unreadable(f"contains {op.name}, which has side effects")
        self._steps += 1
        self._tensors += any(isinstance(value.type, ir.ShapedType) for value in op.results)
        if self._steps > _MOST_STEPS or self._tensors > _MOST_TENSORS:
            raise Unreadable("is too long")
        operands = tuple(self._number(value) for value in op.operands)
        regions = tuple(self.region(each.blocks[0]) for each in op.regions if len(each.blocks) == 1)
        if len(regions) < len(op.regions):
            raise Unreadable(f"contains {op.name}, which has several blocks")
        results = tuple(self._number(value) for value in op.results)
        row = row_of(op)
        step = BodyStep(
            op.name,
            _attributes(op),
            operands,
            results,
            regions,
            op.name in _COMMUTATIVE or (row is not None and row.commutative and len(operands) == 2),
            _generic(op) if op.name == "linalg.generic" else None,
            _number_of(op),
        )
        self.body.makers.update({result: (step, index) for index, result in enumerate(results)})
        if step.generic is not None:
            _unify_loops(self.body, step.generic, operands, results)
        elif op.name == "tensor.cast":
            _unify_whole(self.body, operands[0], results[0])
        return step


def _is_pure(op: Operation) -> bool:
    row = row_of(op)
    return row.pure and not row.writes if row is not None else op.name.partition(".")[0] in _PURE_DIALECTS


def _type_of(type_: Type) -> TypeOf:
    if isinstance(type_, ir.RankedTensorType):
        return TypeOf(str(type_.element_type), tuple(None if size == DYNAMIC else size for size in type_.shape))
    if isinstance(type_, (ir.MemRefType, ir.UnrankedMemRefType, ir.UnrankedTensorType)):
        raise Unreadable("works on memory, not on tensors" if "memref" in str(type_) else "has an unranked tensor")
    return TypeOf(str(type_), None)


def _attributes(op: Operation) -> str:
    if op.name in ("arith.constant", "linalg.index"):
        return ""
    return ", ".join(
        sorted(f"{name} = {attribute}" for name, attribute in op.attributes.items() if name not in _IGNORED)
    )


def _generic(op: Operation) -> Generic:
    generic = GenericOp(op)
    if any(map_.n_symbols for map_ in generic.maps):
        raise Unreadable("has symbols in an indexing map")
    kinds = tuple(kind == REDUCTION for kind in generic.kinds)
    return Generic(generic.maps, kinds, generic.input_count)


def _number_of(op: Operation) -> float | None:
    if op.name == "linalg.index":
        return int(op.attributes["dim"].value)
    if op.name != "arith.constant":
        return None
    if isinstance(value := op.attributes["value"], ir.DenseElementsAttr):
        if not value.is_splat:
            raise Unreadable("contains a constant tensor")
        value = value.get_splat_value()
    if not isinstance(value, (ir.FloatAttr, ir.IntegerAttr, ir.BoolAttr)):
        raise Unreadable("contains a constant that is no number")
    return value.value


def _unify_whole(body: ReadBody, one: int, other: int) -> None:
    for axis in range(len(body.types[one].sizes or ())):
        body.unify((one, axis), (other, axis))


def _unify_loops(body: ReadBody, generic: Generic, operands: Sequence[int], results: Sequence[int]) -> None:
    seen: dict[int, Axis] = {}
    written = (*zip(results, generic.maps[generic.input_count :], strict=True),) if results else ()
    for value, map_ in (*zip(operands, generic.maps, strict=True), *written):
        for axis, expression in enumerate(map_.results):
            if (dim := plain_dim(expression)) is not None:
                body.unify(seen.setdefault(dim, (value, axis)), (value, axis))
